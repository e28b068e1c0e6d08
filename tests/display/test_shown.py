"""Whatever the API returns shows itself: HTML that is well formed and escaped, text that is text and fits."""

import pickle
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO, TextIOWrapper
from types import ModuleType, SimpleNamespace

import pytest

import polyvolta as pv
from polyvolta import sched, sets
from polyvolta.cuda.ir.operations import GlobalLoad
from polyvolta.cuda.ir.walk import replaced, walk
from polyvolta.cuda.shown.trace import NoWidgets
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.display import page, widgets
from polyvolta.display.code import Code, Cuda, Markdown, Python, marked
from polyvolta.display.drawing import Box, drawn, scaled
from polyvolta.display.fragment import Html
from polyvolta.display.shown import Record, Shown
from polyvolta.display.tables import tabulated
from polyvolta.display.text import called, columns, filled, folded, hanging, listed, plain, printable
from tests.display.objects import arrays, everything, kernel

VOID = {"br", "input", "mspace"}


class Page(HTMLParser):
    """Reads HTML, checks that every element is closed in order; `text` is what a reader sees."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.tags, self.ids = [], "", [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)
        elif tag == "br":
            self.text += "\n"

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += "\n" if tag in ("div", "p", "tr", "summary", "pre") else " " if tag == "td" else ""

    def handle_data(self, data):
        self.text += "" if "style" in self.open else data.replace("\N{NO-BREAK SPACE}", " ")


class Printer:
    """What IPython gives to `_repr_pretty_`."""

    def text(self, text):
        self.said = text


@pytest.fixture(scope="module")
def shown():
    return {name: (thing, thing._repr_html_()) for name, thing in everything().items()}


def test_everything_has_an_html_form_that_is_well_formed_and_has_no_scripts(shown):
    for name, (_, html) in shown.items():
        tags = Page(html).tags
        assert tags and "script" not in tags and "link" not in tags, name


def test_ids_on_a_page_are_different_also_of_what_is_shown_twice(shown):
    twice = [page.steps([("one", "x"), ("two", "y")]) for _ in range(2)]
    ids = Page("".join([*(html for _, html in shown.values()), *twice])).ids
    assert len(ids) == len(set(ids)) > 4 + len(everything()["stages"])


def test_text_stays_text_and_fits():
    for name, thing in everything().items():
        assert isinstance(str(thing), str) and isinstance(repr(thing), str), name
        if not isinstance(thing, Shown) or isinstance(thing, Code | pv.PolyvoltaError):
            continue
        thing._repr_pretty_(printer := Printer(), False)
        assert max(map(len, printer.said.split("\n"))) <= columns(), name
        assert "object at 0x" not in printer.said, name


def test_what_is_long_says_in_one_line_what_it_is():
    long = ("graph", "kernel", "stages", "schedule", "node", "ir", "scan", "report", "proof", "observed", "trace",
            "target", "macro-MMA", "instruction", "composition", "mutant", "dependences", "tuned",
            "source")  # fmt: skip
    for name in long:
        text = repr(everything()[name])
        assert text.startswith("<") and len(text) < 500 and max(map(len, text.split("\n"))) <= columns(), name


@pytest.mark.parametrize("width", [60, 80])
def test_texts_fit_the_terminal(monkeypatch, width):
    """What constructs, code and the notations of sets stay as they are, to be copied; a word may be longer."""
    monkeypatch.setenv("COLUMNS", str(width))
    for name, thing in everything().items():
        texts = [repr(thing)] * repr(thing).startswith("<")
        texts += [str(thing)] * (not isinstance(thing, Code | str | IndexMap | sets.Aff | sets.Set | sets.Layout))
        if hasattr(thing, "_repr_pretty_") and not isinstance(thing, Code):
            thing._repr_pretty_(printer := Printer(), False)
            texts.append(printer.said)
        for line in "\n".join(texts).split("\n"):
            assert len(line) <= width or " " not in line.strip(), (name, line)


def test_texts_are_whole_where_no_terminal_is_printed_to(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    tree, error = everything()["schedule"], pv.PolyvoltaError("word " * 40, where="place " * 40, hint="a hint " * 20)
    assert str(tree) == tree.show() and max(map(len, str(tree).split("\n"))) > 80
    assert len(str(error).split("\n")) == 3
    monkeypatch.setenv("COLUMNS", "60")
    assert str(tree) != tree.show() and "".join(str(tree).split()) == "".join(tree.show().split())
    assert str(error).split() == ["[PV000]", *["word"] * 40, *["place"] * 40, "hint:", *["a", "hint"] * 20]


@pytest.mark.parametrize(("text", "width", "shown"), [
    ("{ [row] : 0 <= rwo < 4 }\n               ^", 60, ["{ [row] : 0 <= rwo < 4 }", " " * 15 + "^"]),
    ("a" * 30 + " wrong " + "b" * 50 + "\n" + " " * 31 + "^^^^^", 40,
     ["... " + "a" * 13 + " wrong " + "b" * 12 + " ...", " " * 18 + "^^^^^"]),
    ("wrong " + "b" * 50 + "\n^^^^^", 40, ["wrong " + "b" * 30 + " ...", "^^^^^"]),
    ("b" * 50 + " wrong\n" + " " * 51 + "^^^^^", 40, ["... " + "b" * 30 + " wrong", " " * 35 + "^^^^^"]),
    ("one " + "b" * 50 + " two\n^^^" + " " * 52 + "^^^", 40, ["one " + "b" * 50 + " two", "^^^" + " " * 52 + "^^^"]),
])  # fmt: skip
def test_carets_stay_below_what_they_mark(text, width, shown):
    assert folded(text, width).split("\n") == shown


def test_tables_go_on_below_themselves(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    rows = [(f"row {k}", *[str(10**6 + k)] * 5, "a note in several words") for k in range(2)]
    lines = tabulated(("which", *(f">number{n}" for n in range(5)), "note"), rows, "  ")
    assert max(map(len, lines)) <= 40 and sum(line.startswith("  row 1") for line in lines) == 3
    monkeypatch.delenv("COLUMNS")
    assert len(tabulated(("which", "note"), [("a", "b " * 200)])) == 2


# ---- escaping


def test_names_are_escaped():
    nasty = "a < b & \"c\" <script>alert('x')</script>"
    for html in (page.heading(nasty, nasty), page.said(nasty), page.block(nasty), page.code(nasty), page.cell(nasty),
                 page.fold(nasty, ""), page.table((nasty,), [(nasty,)], nasty, nasty), page.facts([(nasty, nasty)]),
                 page.steps([(nasty, ""), (nasty, "")]), Code(nasty)._html(), marked(nasty, "python"),
                 drawn({0: Box((nasty,)), 1: Box(("x",))}, [(0, 1, nasty)], nasty),
                 pv.PolyvoltaError(nasty, where=nasty, hint=nasty)._repr_html_(),
                 sched.Mark(nasty, sched.Leaf())._repr_html_()):  # fmt: skip
        read = Page(html)
        assert "script" not in read.tags and "<script>" in read.text


# ---- mathematics


M, N, K = pv.sizes("M N K")
A, B, bias = pv.tensor("A", (M, K)), pv.tensor("B", (K, N)), pv.tensor("bias_1", (N,))


@pytest.mark.parametrize(("expression", "latex"), [
    (pv.relu(A @ B + bias), r"\operatorname{relu}(A\,B+\mathit{bias\_1})"),
    ((A + 1) @ B, r"(A+1)\,B"),
    ((A @ B) * (A @ B), r"(A\,B)\odot (A\,B)"),
    (pv.scalar("alpha") * (A @ B) / 3, r"\frac{\alpha \cdot (A\,B)}{3}"),
    (bias - (1 - bias), r"\mathit{bias\_1}-(1-\mathit{bias\_1})"),
    (-(bias + 1) * 2, r"(-(\mathit{bias\_1}+1))\cdot 2"),
    (pv.exp(-bias), r"{\operatorname{e}}^{-\mathit{bias\_1}}"),
    (pv.square(bias + 1), r"{(\mathit{bias\_1}+1)}^{2}"),
    (pv.maximum(bias, 1e-7), r"\operatorname{max}(\mathit{bias\_1},{10}^{-7})"),
    (pv.where(bias > 0, bias, 0),
     r"\begin{cases}\mathit{bias\_1} & \operatorname{if}\,\mathit{bias\_1}>0 \\ 0 & \operatorname{else}\end{cases}"),
])  # fmt: skip
def test_expressions_are_mathematics(expression, latex):
    written = expression._repr_latex_()
    assert written.replace("−", "-") == f"$$ {latex} $$" or written == f"$$ {latex} $$"
    assert "<math" in expression._repr_html_()


def test_what_is_shared_and_large_is_named_and_what_is_huge_stays_short():
    deep = A @ B
    for _ in range(200):
        deep = pv.tanh(deep) * deep + 1
    assert len(deep._repr_latex_()) < 5000 and "{t}_{1}" in deep._repr_latex_()
    wide = A @ B
    for k in range(600):
        wide = wide + pv.tensor(f"v{k}", (N,))
    assert len(wide._repr_latex_()) < 20_000 and r"\cdots" in wide._repr_latex_()


# ---- trees, stages, options


def test_trees_keep_their_indentation_where_styles_are_taken_away():
    tree = kernel().stages["strip_mined"]
    said = [line.rstrip() for line in Page(tree._repr_html_()).text.split("\n") if line.strip()]
    wanted = str(tree).split("\n")
    assert [re.sub(" {3}(permutable|coincident|level|unroll).*", "", line) for line in said] == wanted


def test_stages_say_what_each_changed(shown):
    stages, html = shown["stages"]
    assert html.count('type="radio"') == len(stages) and html.count(" checked") == 1
    assert 'class="pv-new"' in html and 'class="pv-gone"' in html
    assert set(stages.notes) == set(stages)
    assert all(note in Page(html).text for note in stages.notes.values())
    assert "for each warp." in stages.notes["warp_tiled"]


def test_options_say_why():
    chosen = kernel().options
    assert chosen.origin.asked == {"block_tile", "warp_tile"} and chosen.origin.how == "rule"
    lines = dict(re.findall(r"^(\w+) +\S+ +(.*)$", str(chosen), re.MULTILINE))
    assert lines["block_tile"] == "given" and "row by col" in lines["macro_mma"]
    assert eval(repr(chosen), {"Options": pv.Options}) == chosen  # noqa: S307
    known = pv.compile(pv.tensor("A", (512, 256)) @ pv.tensor("B", (256, 512)), sizes={}, target="sm_70").options
    assert known.origin.how == "model" and "cost model" in str(known)
    assert pickle.loads(pickle.dumps(chosen)) == chosen


def test_broken_kernels_show_themselves_too():
    from polyvolta.cuda.mutants import MUTANTS, broken

    name = next(m.name for m in MUTANTS.values() if m.trees is not None)
    Page(broken(kernel(), name)._repr_html_())


# ---- texts that are programs


def test_texts_of_programs_are_strings_with_a_face():
    source = kernel().source
    assert isinstance(source, str) and type(source) is Cuda and type(source + "") is str
    assert source == str(source) and type(str(source)) is str and hash(source) == hash(str(source))
    assert pickle.loads(pickle.dumps(source)) == source and source.encode().decode() == source
    assert Page(source._repr_html_()).text.strip() == source.strip()
    assert type(everything()["to_c"]) is Code and type(everything()["to_python"]) is Python
    assert source.title().startswith("// Kern0")  # no method of texts is hidden
    made = Markdown("| a |\n|---|")
    assert made._repr_markdown_() == made and repr(made) == "<Markdown, 2 lines; print it>"


def test_marked_words():
    text = marked('  #pragma unroll\nfor (int i = 0x10; i < "a//b"; f(i)) // if', "c")
    spans = re.findall(r'<span class="pv-(\w+)">(.*?)</span>', text)
    assert spans == [("command", "  #pragma unroll"), ("keyword", "for"), ("type", "int"), ("number", "0x10"),
                     ("string", "&quot;a//b&quot;"), ("call", "f"), ("comment", "// if")]  # fmt: skip


# ---- traces


def test_a_trace_is_a_sequence():
    trace = kernel().trace(*arrays())
    assert repr(trace).endswith("0 steps so far; print it>")
    first, second = next(trace), next(trace)
    assert trace[0] is first and trace[1] is second and [s.number for s in trace[:3]] == [0, 1, 2]
    assert next(iter(trace)) is first
    count = len(trace)
    assert [s.number for s in trace] == list(range(count)) and trace[-1].number == count - 1
    assert [s.number for s in trace[-2:]] == [count - 2, count - 1] and next(trace).number == 2
    assert repr(trace).endswith(f"{count} steps; print it>") and trace[2] in trace
    with pytest.raises(IndexError, match=f"{count} steps"):
        trace[count]
    other = [str(s) for s in kernel().trace(*arrays())]
    assert other == [str(s) for s in trace]  # what a step did is the same when it is asked later
    assert len(list(trace)) == count == len(list(reversed(trace)))


def test_a_trace_that_goes_wrong_shows_what_went_before():
    small = kernel()
    path, load = next((p, x) for p, x in walk(small.ir.body) if isinstance(x, GlobalLoad) and x.guarded)
    body = replaced(small.ir.body, path, (load.unguarded(),))
    a, b, bias = arrays()
    trace = replace(small, ir=replace(small.ir, body=body)).trace(a[:24], b[:, :24], bias[:24])
    assert len(trace) > 4  # counted, as if nothing were wrong
    with pytest.raises(pv.PolyvoltaError) as first:
        list(trace)
    with pytest.raises(pv.PolyvoltaError) as again:
        len(trace)
    assert first.value is again.value
    assert trace[3].statement == "zero_C" and "step 3 " in Page(trace._repr_html_()).text
    assert first.value.id in trace._repr_html_() and first.value.id in str(trace)


def test_a_slider_is_for_notebooks_that_are_looked_at(monkeypatch):
    trace = everything()["trace"]
    assert set(trace._repr_mimebundle_()) == {"text/plain", "text/html"}

    class Made:
        def __init__(self, *args, **kwargs):
            self.args, self.heard = args, []

        def observe(self, hear, name):
            self.heard.append(hear)

        def _repr_mimebundle_(self):
            return {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "VBox()"}

    module = ModuleType("ipywidgets")
    module.__spec__ = SimpleNamespace(name="ipywidgets")
    for name in ("IntSlider", "Play", "HTML", "VBox", "HBox", "Label"):
        setattr(module, name, type(name, (Made,), {}))
    module.jslink = lambda *ends: None
    monkeypatch.setitem(sys.modules, "ipywidgets", module)
    _, row, shown = trace.slider().args[0]
    (hear,) = row.args[0][1].heard
    hear({"new": 5})
    assert "step 5 " in Page(shown.value).text and "step 0 " in Page(shown.args[0]).text
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    for name in widgets.LIVE:
        monkeypatch.delenv(name, raising=False)
    assert not widgets.are_shown()
    monkeypatch.setenv(widgets.LIVE[0], "a.ipynb")
    assert widgets.are_shown()
    bundle = trace._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle and "step by step" in bundle["text/plain"]
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(NoWidgets, match="polyvolta\\[notebook\\]"):
        trace.slider()


# ---- pictures


def test_graphs_are_drawn_below_one_another():
    boxes = {name: Box((name, "text")) for name in "abcd"}
    svg = drawn(boxes, [("a", "b", ""), ("b", "c", "B"), ("a", "c", "long"), ("c", "d", "")])
    tops = {name: float(re.search(rf'y="([\d.]+)"[^>]*>{name}<', svg)[1]) for name in "abcd"}
    assert tops["a"] < tops["b"] < tops["c"] < tops["d"] and svg.count("<rect") == 4
    assert "currentColor" in svg and ">B<" in svg


def test_pictures_get_no_wider_than_their_page():
    for name in ("picture", "drawing"):
        assert 'svg style="max-width:100%;height:auto"' in everything()[name]._repr_html_()
    assert scaled("<svg a='<svg'>").count("max-width") == 1


# ---- the parts


class Fact(Record):
    def _facts(self):
        written = Html("<code>x &lt; y</code>")
        return [("name", "a<b"), ("tile", (4, 2)), ("none", None), ("on", True), ("code", written)]

    def _title(self):
        return "a fact"


def test_records_are_tables_and_lines():
    text = Page(Fact()._repr_html_()).text
    assert "a<b" in text and "4 × 2" in text and "x < y" in text and "none" not in text
    assert listed("", Fact()._facts()) == "  name  a<b\n  tile  4 x 2\n  on    yes\n  code  x < y"


def test_tables_are_cut_in_the_middle():
    html = page.table(("n",), [(k,) for k in range(100)], most=10)
    assert html.count("<tr>") == 1 + 1 + 10 and "... 90 more ..." not in html and "... 91 more ..." in html


def test_lines_fit():
    line = "BAND: " + ", ".join(f"name{k}[i, j]" for k in range(40))
    parts = hanging(line, 50, 8)
    assert all(len(p) <= 50 for p in parts) and " ".join(p.strip() for p in parts) == line
    assert hanging("x" * 200, 50, 8) == ["x" * 200] and folded(line, 50).split("\n")[1].startswith("    ")
    assert called("F", []) == "F()" and filled("a b", width=1) == "a\n  b"


# ---- pages in a moment


def test_pages_of_kernels_compile_and_compare_nothing(monkeypatch, tmp_path):
    """Resources are those of machine code that's there; stages are compared on a page of their own."""
    from polyvolta.cuda.run import nvrtc

    def asked(*_):
        raise AssertionError("it was compiled, or compared")

    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    M, N, K = pv.sizes("M N K")
    product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
    one = pv.compile(product, name="moment")
    with monkeypatch.context() as refused:
        refused.setattr(nvrtc, "_compile", asked)
        refused.setattr(sys.modules["polyvolta.sched.views.diff"], "diff", asked)
        shown = Page(one._repr_html_()).text
        assert "kernel.resources() compiles it" in shown and one.stages.notes["mapped"] in shown
    monkeypatch.setattr(nvrtc, "_compile", lambda nvrtc, source, *_: (b"\x7fELF", "sm_70", "made"))
    monkeypatch.setattr(nvrtc, "resources", lambda *_, **__: nvrtc.Resources(99, 0, 0, 0, 0))
    made = one.compiled()  # kept, for as long as somebody has it
    assert "99 a thread, of 255" in Page(one._repr_html_()).text and made.arch == "sm_70"


# ---- an encoding that lacks the signs


def test_what_stdout_cannot_encode_is_printed_in_ascii(monkeypatch):
    things = everything()
    trees = [x for x in things.values() if isinstance(x, sched.Schedule)]
    signed = [*trees, kernel().verify("bounds"), kernel().verify("bounds")["bounds"], sched.diff(*trees[:1] * 2)]
    assert trees and all("≤" in str(x) or "✓" in str(x) for x in signed)
    meant = [(str(x), x.show(ascii=True)) for x in trees]
    monkeypatch.setattr("sys.stdout", TextIOWrapper(BytesIO(), encoding="ascii"))
    for x in signed:
        print(x, flush=True)
        assert str(x).isascii() and "?" not in str(x)
    for x, (signs, text) in zip(trees, meant, strict=True):
        assert spelled(str(x)) == spelled(text), text
        assert plain(signs) == str(x)
    monkeypatch.setattr("sys.stdout", TextIOWrapper(BytesIO(), encoding="utf-8"))
    assert [str(x) for x in trees] == [signs for signs, _ in meant]


@pytest.mark.parametrize("stdout", [
    None, object(), SimpleNamespace(encoding=None), SimpleNamespace(encoding="nobody's"), SimpleNamespace(encoding=1),
])  # fmt: skip
def test_a_stdout_without_an_encoding_gets_the_signs(monkeypatch, stdout):
    monkeypatch.setattr("sys.stdout", stdout)
    assert printable("0 ≤ i") == "0 ≤ i"


def spelled(text):
    """A tree's text without signs of products, which `show(ascii=True)` writes everywhere."""
    return text.replace("*", "")


def test_a_caret_stays_below_what_it_points_at(monkeypatch):
    with pytest.raises(sets.SetSyntaxError) as found:
        sets.Set("{ [i] : 0 ≤ i ≤ 4 ∧ j ≥ 0 }")
    lines = str(found.value).splitlines()
    monkeypatch.setattr("sys.stdout", TextIOWrapper(BytesIO(), encoding="ascii"))
    assert str(found.value).splitlines() == [line.translate(dict.fromkeys(map(ord, "≤≥∧"), "?")) for line in lines]
    assert "^" in lines[2] and str(found.value).isascii()


# ---- lengths


def test_a_repr_has_a_bound_however_deep_the_expression_is():
    m, n, k = pv.sizes("M N K")
    deep = pv.tensor("A", (m, k)) @ pv.tensor("B", (k, n), layout="col")
    for _ in range(60):
        deep = pv.relu(deep + 1)
    made = pv.compile(deep)
    varied = pv.compile(deep, variants=1, over={"M": (1, 64), "N": (1, 64), "K": (1, 64)})
    assert len(str(made.graph)) > 900
    for thing in (made, varied, made.graph.statements[-1], deep):
        assert len(repr(thing)) < 500 and "..." in repr(thing)
