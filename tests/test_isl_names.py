"""The table of isl's methods says of every method of islpy where it is here, and names nothing that is not there."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from polyvolta import isl as by_isl
from polyvolta import sched, sets
from polyvolta.sched.of_isl import CLASSES, of_module
from polyvolta.sets.text import of_isl
from polyvolta.sets.text.isl_rows import ROWS

TEXT = Path(__file__).parent.parent.joinpath("docs", "isl.md").read_text()
PLAIN = {"len", "for", "int", "str", "name", "children", "f", "s", "m"}  # words in code that are none of ours
OWN = {n: getattr(module, n) for module in (by_isl, sched, sets) for n in module.__all__}
OWN["QPolynomial"] = by_isl.QPolynomial  # isl's lies in a space
SECTIONS = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
EVERY = SECTIONS[0]


def spans(text):
    return re.findall(r"`([^`]+)`", text)


def rows(section):
    """(isl's names, what is here) of a section's table."""
    cells = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [(spans(names), here) for names, here in cells]


def same(section):
    """The methods that a section says are the same, and the class here."""
    found = re.search(r"^Here `(\w+)`(.*?)$\n^$", section, flags=re.MULTILINE | re.DOTALL)
    return (found[1], spans(found[2])) if found else (None, [])


def has(here, name):
    """Whether a class here, or a value of it, has a method by isl's name."""
    return hasattr(OWN[here], name) or of_isl.method(OWN[here], name) is not None


def methods(section):
    """All methods that isl's classes of a section have."""
    isl = pytest.importorskip("islpy")
    return {m for c in spans(section.splitlines()[0]) for m in dir(getattr(isl, c)) if not m.startswith("_")}


@pytest.mark.parametrize("section", SECTIONS[1:], ids=[s.splitlines()[0] for s in SECTIONS[1:]])
def test_every_method_of_isl_is_said(section):
    wanted = methods(section)
    here, shared = same(section)
    assert shared == sorted(m for m in wanted if here and has(here, m))
    patterns = [p for names, _ in [*rows(section), *rows(EVERY)] for p in names]
    assert not [m for m in sorted(wanted - set(shared)) if not any(fnmatchcase(m, p) for p in patterns)]


@pytest.mark.parametrize("section", SECTIONS[1:], ids=[s.splitlines()[0] for s in SECTIONS[1:]])
def test_no_row_is_of_nothing(section):
    left = methods(section) - set(same(section)[1])
    assert not [p for names, _ in rows(section) for p in names if not any(fnmatchcase(m, p) for m in left)]


def test_what_is_named_is_there():
    named = 0
    for section in SECTIONS:
        for _, here in rows(section):
            for span in spans(here):
                owner, _, attribute = re.match(r"(\w*)(\.?)(\w*)", span).groups()
                if owner in OWN and attribute:
                    named += 1
                    value = getattr(OWN[owner], attribute, None)
                    assert value is not None or attribute in getattr(OWN[owner], "__slots__", ()), span
                elif re.match(r"[A-Za-z]\w*", span) and owner not in PLAIN:
                    named += 1
                    assert owner in OWN or hasattr(sets.Set, owner), span
    assert named >= 80  # the tables are there; what is the same by now is in none


SPACE = next(k for k, s in enumerate(SECTIONS) if s.startswith("`Space`"))


@pytest.mark.parametrize(
    ("kind", "section"), [("", 0), ("Set", 1), ("Map", 2), ("PwAff", 4), ("MultiPwAff", 5), ("Space", SPACE)]
)
def test_errors_say_what_the_tables_say(kind, section):
    said = [(names.split(), here) for names, here in ROWS[kind]]
    assert said == [(names, here.strip().replace("`", "")) for names, here in rows(SECTIONS[section])]


@pytest.mark.parametrize(
    ("text", "name", "here"),
    [
        ("{ S[i] }", "solutions", "for isl's solutions there is: RationalSet.solutions"),
        ("{ S[i] }", "get_lattice_tile", "Set.box_hull, with strides"),
        ("{ S[i] }", "foreach_bound_pair", "s & Set(text): Set.intersect"),
        ("{ S[i] -> [j] }", "get_range_lattice_tile", "Map.box_hull, with strides"),
        ("{ S[i] }", "reduced_basis", "isl's reduced_basis is not here: a set is its constraints"),
        ("{ S[i] }", "fixx", "a Set has no attribute 'fixx'"),
    ],
)
def test_a_missing_attribute_of_isl_says_what_is_here(text, name, here):
    value = (sets.Map if "->" in text else sets.Set)(text)
    with pytest.raises(AttributeError) as missing:
        getattr(value, name)
    assert here in str(missing.value) and missing.value.name == name
    assert ("isl" in str(missing.value)) == (name != "fixx")


@pytest.mark.parametrize(
    ("owner", "name", "here"),
    [
        (sets.PwAff("{ [i] -> [i] }"), "aff_on_domain", "PwAff.on"),
        (sets.MultiPwAff("{ [i] -> [i] }"), "lift", "of the graph, MultiPwAff.as_map"),
        (sets.MultiPwAff("{ [i] -> [i] }"), "_values", "a MultiPwAff has no attribute"),
        (sets.Set, "foreach_bound_pair", "Set.intersect"),
        (sets.Map, "get_range_lattice_tile", "Map.box_hull"),
        (sets, "PwQPolynomialFold", "which PwQPolynomial.bound gives"),
        (sets, "StrideInfo", "box_hull().stride"),
        (sets, "FixedBox", "what Set.box_hull and Map.box_hull give"),
        (sets, "BasicSetList", "a list of Python's"),
        (sets, "Sett", "has no attribute 'Sett'"),
        (sets, "union_map", "did you mean UnionMap?"),
        (by_isl, "union_set", "module 'polyvolta.isl' has no attribute 'union_set'; did you mean UnionSet?"),
        (by_isl, "ast_build", "did you mean AstBuild?"),
        (by_isl, "Vec", "a tuple of numbers"),
    ],
)
def test_so_do_functions_classes_and_the_module(owner, name, here):
    with pytest.raises(AttributeError) as missing:
        getattr(owner, name)
    assert here in str(missing.value)


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("ScheduleNode", "tree.node(path)"),
        ("ScheduleNodeBand", "tree.node(path)"),
        ("AstBuild", "scan(tree)"),
        ("ScheduleConstraints", "schedule(instances, validity=..."),
        ("UnionAccessInfo", "dependences(program)"),
        ("UnionFlow", "Flow, which dataflow gives"),
        ("AstExpr", "polyvolta.sets.Aff"),
        ("ast_loop_type", "set_loop_type"),
        ("Set", "it is polyvolta.sets.Set"),
        ("UnionMap", "it is polyvolta.sets.UnionMap"),
        ("Val", "polyvolta.sets.Val"),
        ("schedul", "did you mean schedule?"),
        ("AstNode2", "has no attribute"),
        ("Qwerty", "has no attribute"),
        ("_Band", "has no attribute '_Band'"),
    ],
)
def test_of_classes_for_schedules_the_package_says_what_is_here(name, here):
    with pytest.raises(AttributeError) as missing:
        getattr(sched, name)
    assert str(missing.value).startswith(f"module 'polyvolta.sched' has no attribute {name!r}")
    assert here in str(missing.value) and missing.value.name == name
    assert (";" in str(missing.value)) == (name not in ("Qwerty", "_Band")) and not hasattr(sched, name)


def test_a_star_brings_every_name_of_islpy_that_is_here():
    """A program may say `from islpy import *`, and who types looks at `dir`."""
    isl = pytest.importorskip("islpy")
    here = {n for n in isl.__all__ if hasattr(by_isl, n)}
    assert here >= {"BasicSet", "UnionMap", "IdList"} and here <= {*by_isl.__all__} <= {*dir(by_isl)}


def test_every_class_of_isl_for_schedules_is_said():
    isl = pytest.importorskip("islpy")
    heads = [c for section in SECTIONS for c in spans(section.splitlines()[0])]
    headed = [c for c in heads if c.startswith(("Sch", "Ast", "UnionA"))]
    assert len(headed) > 6 and {*headed} <= {*dir(isl)}
    for name in dir(isl):
        if re.match("Schedule|Ast|schedule_|ast_|.*Flow|.*AccessInfo", name) or name in headed:
            assert hasattr(sched, name) or "; isl's " in of_module(name), name
    for patterns, here in CLASSES:
        for word in re.findall(r"[A-Za-z_]+(?=\(|\.)", here):
            assert word in {*sched.__all__, "tree", "walk", "node", "polyvolta", "sets"}, (patterns, word)


def test_every_class_of_isl_is_said_by_the_sets():
    isl = pytest.importorskip("islpy")
    own = [n for n, v in vars(isl).items() if isinstance(v, type) and v.__module__.startswith("islpy")]
    classes = [n for n in own if n[0].isupper()]  # others are numbers that have names
    assert len(classes) > 60
    for name in classes:
        found = hasattr(sets, name) or "; isl's " in of_isl.of_module(name)
        assert found or name in ("Error", "Alignable"), name  # an exception, and islpy's own
    for patterns, here in of_isl.CLASSES:
        for owner, attribute in re.findall(r"\b([A-Z]\w+)\.(\w+)", here):
            assert hasattr(getattr(sets, owner), attribute), (patterns, owner, attribute)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from polyvolta.sched import AstBuild", "'AstBuild' from 'polyvolta.sched'; isl's AstBuild is polyvolta.isl"),
        ("from polyvolta.sched import Band, schedul", "'schedul' from 'polyvolta.sched'; did you mean schedule?"),
        ("from polyvolta.sets import Set, StrideInfo", "'StrideInfo' from 'polyvolta.sets'; isl's StrideInfo is not"),
        ("from polyvolta import einsum", "'einsum' from 'polyvolta'; A @ B is the product"),
        ("from polyvolta.sched import Qwerty", r"'Qwerty' from 'polyvolta.sched' \("),
    ],
)
def test_imports_of_missing_names_say_so_too(line, said):
    with pytest.raises(ImportError, match=f"^cannot import name {said}"):
        exec(line, {})  # noqa: S102


def test_imports_of_modules_and_of_all_are_what_they_were():
    found = {}
    code = "from polyvolta.sched import *\nfrom polyvolta.sched import emit, views\nfrom polyvolta.sets import hulls\n"
    code += "import polyvolta.compiler\nfrom polyvolta import evaluation"
    exec(code, found)  # noqa: S102
    assert {"tile", "scan", "emit", "views", "hulls", "evaluation"} <= {*found}
    with pytest.raises(ModuleNotFoundError, match="No module named 'polyvolta.sched.AstBuild'"):
        exec("import polyvolta.sched.AstBuild", {})  # noqa: S102


def test_classes_of_isl_that_are_one_class_here():
    assert sets.BasicSet is sets.UnionSet is sets.Set and sets.BasicMap is sets.UnionMap is sets.Map
    assert sets.UnionPwAff is sets.UnionPwMultiAff is sets.MultiUnionPwAff is sets.Map  # functions of several tuples
    text = "[N] -> { S[i] : 0 <= i < N }"
    s = sets.BasicSet.read_from_str(None, text)
    assert s == sets.Set(text) == sets.Set.read_from_str(text) and sets.UnionSet.from_basic_set(s) is s
    assert sets.Map.from_domain(s) == sets.Map("[N] -> { S[i] -> [] : 0 <= i < N }")
    assert sets.Map.from_range(s) == sets.Map("[N] -> { [] -> S[i] : 0 <= i < N }")
    f = sets.MultiAff("{ S[i] -> [i + 1, 2i] }")
    m = sets.BasicMap.from_multi_aff(f)
    assert m == sets.Map("{ S[i] -> [i + 1, 2i] }") and sets.PwMultiAff.from_map(m).is_equal(f)
    assert sets.MultiPwAff.from_pw_aff(f[1]).as_map() == sets.Map("{ S[i] -> [2i] }")


@pytest.mark.parametrize(("call", "said"), [
    (lambda: sets.Set.from_set(sets.Map("{ [i] -> [i] }")), r"from_set needs a Set, not a Map(.|\n)*m\.wrap\(\)"),
    (lambda: sets.Set.from_set("{ [i] }"), r"from_set needs a Set, not a str(.|\n)*Set\(text\) reads one"),
    (lambda: sets.Map.from_map("{ [i] -> [i] }"), "Map.from_map needs a Map, not a str"),
    (lambda: sets.Map.from_pw_aff("{ [i] -> [i] }"), "Map.from_pw_aff needs a PwAff or MultiPwAff, not a str"),
    (lambda: sets.Map.from_domain(5), "Map.from_domain needs a Set, not an int"),
    (lambda: sets.Map.from_range(None), "Map.from_range needs a Set, not None"),
    (lambda: sets.MultiPwAff.from_map(sets.Set("{ [i] }")), "MultiPwAff.from_map needs a Map, not a Set"),
    (lambda: sets.MultiPwAff.from_pw_aff(3), "MultiPwAff.from_pw_aff needs a PwAff"),
    (lambda: sets.MultiPwAff.from_multi_aff(sets.PwAff("{ [i] -> [i] }")), r"from_pw_aff\(f\) has its value alone"),
    (lambda: sets.Map.from_pw_aff(), "Map.from_pw_aff takes one value, not nothing"),
    (lambda: sets.Map.from_pw_aff(f=3), "takes one value, not f="),
    (lambda: sets.Set.from_set(None, sets.Set("{ [i] }")), "takes one value, not None, a Set"),
    (lambda: sets.Set.read_from_str(), "Set.read_from_str takes one text in isl's notation, not nothing"),
    (lambda: sets.PwAff.read_from_str(None, "{ [i] -> [i] }", 3), "takes one text"),
    (lambda: sets.Set.from_params(sets.Set("[n] -> { [i] : n > 0 }")), r"parameters alone(.|\n)*s\.params\(\)"),
    (lambda: sets.Set.from_params(sets.Set("{ A[] }")), "parameters alone"),
])  # fmt: skip
def test_what_makes_no_value_is_refused(call, said):
    with pytest.raises(sets.PolyvoltaError, match=said) as refused:
        call()
    assert refused.value.id in ("PV101", "PV102")


class Mine(sets.Set):
    """A set of a user's."""


class MyMap(sets.Map):
    """A relation of a user's."""


def test_makers_of_classes_that_derive_from_these():
    s = sets.Set("[n] -> { S[i] : 0 <= i < n }")
    assert type(Mine.from_set(s)) is Mine and Mine.from_set(s) == Mine(str(s)) == Mine.read_from_str(str(s))
    assert sets.Set.from_set(Mine.from_set(s)) == s and Mine.from_params(s.params()) == Mine(str(s.params()))
    graph = MyMap.from_pw_aff(sets.PwAff("{ [i] -> [i // 2] }"))
    assert type(graph) is MyMap and graph.is_equal(MyMap("{ [i] -> [i // 2] }"))
    assert type(Mine("{ [i] : i > 0; [i] : i < -2 }").get_basic_sets()[0]) is Mine
    with pytest.raises(AttributeError, match=r"a Mine has no attribute 'get_lattice_tile'.*Set\.box_hull"):
        Mine("{ [i] }").get_lattice_tile  # noqa: B018
    with pytest.raises(AttributeError, match=r"a Mine has no attribute 'foreach_bound_pair'.*Set\.intersect"):
        Mine.foreach_bound_pair  # noqa: B018


def test_makers_have_names_and_say_what_they_do():
    assert (sets.Set.read_from_str.__name__, Mine.from_set.__qualname__) == ("read_from_str", "Mine.from_set")
    assert "text in isl's notation" in sets.Set.read_from_str.__doc__
    assert "of parameters alone" in sets.Set.from_params.__doc__
