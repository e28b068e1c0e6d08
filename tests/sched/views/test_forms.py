"""One tree with every kind of node, in each of its forms."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyvolta.sched.tree import (
    Band,
    Context,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Sequence,
    SetNode,
)
from polyvolta.sets import Map, Set, aff
from tests.sched.loops.draw import tree as drawn
from tests.sched.views.trees import FUSED, band, filters, tree

EVERYTHING = tree(
    "[n] -> { S1[i, j] : 0 <= i, j < n; T[i] : 0 <= i < n }",
    Context(
        Set("[n] -> { [] : n >= 4 }"),
        Band(
            (
                Member((("S1", aff("i//32")), ("T", aff("i//32"))), coincident=True, name="blockIdx.x"),
                Member((("S1", aff("j - 4")), ("T", aff("n"))), loop_type="separate"),
            ),
            SetNode(
                (
                    Filter(("S1",), Guard(Set("[n] -> { [a, b] : a < b or n = 7 }"), Mark('the "core"'))),
                    Filter(
                        ("T",),
                        Extension(
                            Map("[n] -> { [a, b] -> copy_A[x] : 0 <= x < b }"),
                            Sequence(
                                (
                                    Filter(("copy_A",), Leaf()),
                                    Filter(("T",), Leaf(), Set("[n] -> { T[k] : 0 < k < n - 1 }")),
                                    Filter(("T",), Leaf(), Set("[n] -> { T[k] : k <= 0 or k >= n - 1 }")),
                                )
                            ),
                        ),
                    ),
                )
            ),
            permutable=True,
            isolate=Set("[n] -> { [a, b] : b < n }"),
        ),
    ),
)

PAPER = """\
DOMAIN: S1[i, j] : 0 ≤ i < n ∧ 0 ≤ j < n;
        T[i] : 0 ≤ i < n
  CONTEXT: n ≥ 4
    BAND: S1[i, j] → [blockIdx.x, j - 4];
          T[i] → [blockIdx.x, n]
          (separate[1]; isolate [a, b] : b < n)
      SET
        FILTER: S1[i, j]
          GUARD: [a, b] : a < b; [a, b] : n = 7
            MARK: the "core"
        FILTER: T[i]
          EXTENSION: [a, b] → copy_A[x] : 0 ≤ x < b
            SEQUENCE
              FILTER: copy_A[x]
              FILTER: T[i] : 1 ≤ i ≤ n - 2
              FILTER: T[i] : i ≤ 0; T[i] : n - 1 ≤ i"""

LATEX = r"""DOMAIN: $S_1[i, j] : 0 \le i < n \land 0 \le j < n;$ \\
\phantom{DOMAIN: }$T[i] : 0 \le i < n$ \\
\hspace*{0.3cm}CONTEXT: $n \ge 4$ \\
\hspace*{0.6cm}BAND: $S_1[i, j] \rightarrow [\textit{blockIdx.x}, j - 4];$ \\
\hspace*{0.6cm}\phantom{BAND: }$T[i] \rightarrow [\textit{blockIdx.x}, n]$ \\
\hspace*{0.6cm}\phantom{BAND: }$(\mathrm{separate}[1]; \;\mathrm{isolate}\; [a, b] : b < n)$ \\
\hspace*{0.9cm}SET \\
\hspace*{1.2cm}FILTER: $S_1[i, j]$ \\
\hspace*{1.5cm}GUARD: $[a, b] : a < b; [a, b] : n = 7$ \\
\hspace*{1.8cm}MARK: \textit{the "core"} \\
\hspace*{1.2cm}FILTER: $T[i]$ \\
\hspace*{1.5cm}EXTENSION: $[a, b] \rightarrow \textit{copy\_A}[x] : 0 \le x < b$ \\
\hspace*{1.8cm}SEQUENCE \\
\hspace*{2.1cm}FILTER: $\textit{copy\_A}[x]$ \\
\hspace*{2.1cm}FILTER: $T[i] : 1 \le i \le n - 2$ \\
\hspace*{2.1cm}FILTER: $T[i] : i \le 0; T[i] : n - 1 \le i$
"""

DOT = r"""  n [label="DOMAIN: S1[i, j] : 0 ≤ i < n ∧ 0 ≤ j < n;\l        T[i] : 0 ≤ i < n\l", fillcolor="#eeeeee"]
  n0 [label="CONTEXT: n ≥ 4"]
  n -> n0
  n0_0 [label="BAND: S1[i, j] → [blockIdx.x, j - 4];\l      T[i] → [blockIdx.x, n]\l      (separate[1]; isolate [a, b] : b < n)\lpermutable, coincident 1 0\l", fillcolor="#dce9f7"]
  n0 -> n0_0
  n0_0_0 [label="SET", shape=ellipse, fillcolor="#f5ead0"]
  n0_0 -> n0_0_0
  n0_0_0_0 [label="FILTER: S1[i, j]", style="filled,rounded"]
  n0_0_0 -> n0_0_0_0
  n0_0_0_0_0 [label="GUARD: [a, b] : a < b; [a, b] : n = 7"]
  n0_0_0_0 -> n0_0_0_0_0
  n0_0_0_0_0_0 [label="MARK: the \"core\"", shape=note, fillcolor="#f7f0dc"]
  n0_0_0_0_0 -> n0_0_0_0_0_0
"""  # noqa: E501


def test_the_papers_notation():
    assert str(EVERYTHING) == PAPER
    ascii = EVERYTHING.show(ascii=True)
    assert ascii.isascii()
    assert ascii.replace("->", "→").replace("<=", "≤").replace(">=", "≥").replace(" and ", " ∧ ") == PAPER


def test_several_statements_stand_one_below_the_other_as_in_figure_sched3_initial():
    schedule = tree(FUSED, band(filters(S1=None, S2=None), S1="i, j, k", S2="i, j, K"))
    assert (
        str(schedule)
        == """\
DOMAIN: S1[i, j, k] : 0 ≤ i < M ∧ 0 ≤ j < N ∧ 0 ≤ k < K;
        S2[i, j] : 0 ≤ i < M ∧ 0 ≤ j < N
  BAND: S1[i, j, k] → [i, j, k];
        S2[i, j] → [i, j, K]
    SEQUENCE
      FILTER: S1[i, j, k]
      FILTER: S2[i, j]"""
    )


def test_dimensions_of_a_domain_keep_the_names_that_bands_use():
    schedule = tree("{ S[i, j] : 0 <= i < 4 and j = 2 }", band(None, S="j, i"))
    assert str(schedule).splitlines() == ["DOMAIN: S[i, j] : 0 ≤ i ≤ 3 ∧ j = 2", "  BAND: S[i, j] → [j, i]"]


def test_the_representation_is_one_line():
    assert repr(EVERYTHING) == "<Schedule of S1, T, 17 nodes; print it>"


def test_latex_is_the_papers():
    assert EVERYTHING.to_latex() == LATEX
    document = EVERYTHING.to_latex(document=True)
    assert LATEX.rstrip() in document
    assert document.startswith(r"\documentclass")
    assert document.endswith("\\end{document}\n")


def test_latex_of_a_figure_of_the_paper():
    schedule = tree(FUSED, band(None, S1="i//128, j - 128*floor(j/128)", S2="i//128, K"))
    assert schedule.to_latex().splitlines()[2] == (
        r"\hspace*{0.3cm}BAND: $S_1[i, j, k] \rightarrow "
        r"[\lfloor{i/128}\rfloor, j - 128\lfloor{j/128}\rfloor];$ \\"
    )


def test_graphviz_text():
    text = EVERYTHING.to_dot()
    assert text.startswith("digraph schedule {\n")
    assert DOT in text
    assert text.count(" -> n") == text.count("[label=") - 1


def in_terminal(value, width=100):
    from io import StringIO

    from rich.console import Console

    console = Console(width=width, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(value)
    return console.file.getvalue()


def test_in_a_terminal_the_tree_has_guide_lines_and_colours():
    text = in_terminal(EVERYTHING)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = [line.rstrip() for line in plain.splitlines()]
    assert lines[3] == "    └── BAND: S1[i, j] → [blockIdx.x, j - 4];"
    assert lines[5] == "              (separate[1]; isolate [a, b] : b < n)   permutable, coincident 1 0"
    assert "\x1b[1mBAND\x1b[0m" in text
    assert "\x1b[36mS1\x1b[0m" in text
    assert "\x1b[35mblockIdx.x\x1b[0m" in text


class Balanced(HTMLParser):
    """Reads HTML and checks that every element is closed; `text` is what a reader sees."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.tags = [], "", []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "br":
            self.text += "\n"
        else:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += "\n" if tag in ("div", "summary") else ""

    def handle_data(self, data):
        self.text += "" if self.open[-1] == "style" else data.replace("\N{NO-BREAK SPACE}", " ")


def test_in_a_notebook_the_nodes_fold_and_there_are_no_scripts():
    page = Balanced(EVERYTHING._repr_html_())
    assert page.tags.count("details") == page.tags.count("summary") == 9
    assert set(page.tags) <= {"div", "details", "summary", "span", "b", "i", "code", "br", "style"}
    said = [line for line in page.text.splitlines() if line.strip()]
    flags = "   permutable, coincident 1 0"
    assert [line.replace(flags, "") for line in said] == PAPER.splitlines()  # with the indentation


def test_in_a_notebook_long_lines_go_on_below_themselves_and_long_extensions_fold():
    conditions = " and ".join(f"0 <= i{n} < 1000" for n in range(9))
    dims = ", ".join(f"i{n}" for n in range(9))
    long = tree(f"{{ S[{dims}] : {conditions} }}", Mark("here"))
    first, second, mark = [line for line in Balanced(long._repr_html_()).text.splitlines() if line.strip()]
    assert first.startswith("DOMAIN: S[i0") and second.startswith(" " * 10 + "∧ 0") and mark == "  MARK: here"
    copies = "; ".join(f"[] -> copy{n}[i] : 0 <= i < 8" for n in range(9))
    page = Balanced(tree("{ S[] }", Extension(Map(f"{{ {copies} }}"), Leaf()))._repr_html_())
    assert "EXTENSION: copy0, copy1, copy2, copy3, copy4, ..., copy8\n" in page.text
    assert "all of it" in page.text and page.text.count("copy6[i]") == 1 and page.tags.count("details") == 3


@pytest.mark.parametrize("mark", ["<script>", "a & b", 'say "no"', "50% of $x_1^2~\\"])
def test_marks_are_escaped(mark):
    schedule = tree("{ S[] }", Mark(mark))
    assert f"MARK: {mark}" in Balanced(schedule._repr_html_()).text
    assert "<script>" not in schedule._repr_html_()
    assert not re.search(r"(?<!\\)[%&$_]", schedule.to_latex().split("MARK: ")[1])
    assert re.search(r'label="MARK: (\\.|[^"\\])*"', schedule.to_dot())


def test_signs_in_marks_are_formulas_in_latex():
    assert r"MARK: \textit{größe $\le$ $\lfloor$3$\rfloor$}" in tree("{ S[] }", Mark("größe ≤ ⌊3⌋")).to_latex()


@settings(max_examples=25)
@given(st.binary(min_size=40, max_size=160))
def test_every_form_has_every_node(data):
    schedule = drawn(data).schedule
    nodes = sum(not isinstance(node, Leaf) for _, node in schedule.walk())
    assert len(re.findall(r"^ *[A-Z]{3,}(:|$)", str(schedule), flags=re.M)) == nodes
    assert len(re.findall(r"[A-Z]{3,}(:| |$)", schedule.to_latex(), flags=re.M)) >= nodes
    assert schedule.to_dot().count("[label=") == nodes
    assert schedule._repr_html_().count("<b>") >= nodes
    assert in_terminal(schedule, 10000).count("\x1b[1m") == nodes
