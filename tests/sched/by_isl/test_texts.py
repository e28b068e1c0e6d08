"""Texts of trees and nodes: isl reads ours as the tree they are of, and we read isl's; islpy is the oracle."""

import re

import pytest

import polyvolta.isl as isl

other = pytest.importorskip("islpy")

S = "[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i; T[i] : 0 <= i < N }"
INNER = """{ schedule: "[{ S[i, j] -> [(32*floor((i)/32))] }, { S[i, j] -> [(i + j)] }]", permutable: 1,
    coincident: [1, 0], options: "{ separate[1] }", child: { mark: "m" , child: { leaf } } }"""
TREES = {
    "plain": f'{{ domain: "{S}" }}',
    "sequence": f"""{{ domain: "{S}", child: {{ context: "[N] -> {{ [] : N > 3 }}", child: {{ sequence: [
        {{ filter: "{{ S[i, j] }}", child: {INNER} }}, {{ filter: "{{ T[i] }}" }} ] }} }} }}""",
    "set": f"""{{ domain: "{S}", child: {{ schedule: "[{{ S[i, j] -> [(i)]; T[i] -> [(2i)] }}]",
        child: {{ set: [ {{ filter: "[N] -> {{ S[i, j] : 2j < N }}" }},
        {{ filter: "[N] -> {{ T[i]; S[i, j] : 2j >= N }}" }} ] }} }} }}""",
    "guard": """{ domain: "[N, M] -> { A[i] : 0 <= i < N }", child: { guard: "[N, M] -> { [] : M > N }", child: {
        schedule: "L[{ A[i] -> [(-i)] }]", options: "{ unroll[0] }" } } }""",
    "extension": """{ domain: "{ A[i] : 0 <= i < 10 }", child: { schedule: "[{ A[i] -> [(i)] }]", child: {
        extension: "{ [i] -> C[j] : i <= j < i + 3 }", child: { sequence: [ { filter: "{ C[j] }", child: {
        schedule: "[{ C[j] -> [(j)] }]" } }, { filter: "{ A[i] }" } ] } } } }""",
    "isolate": """{ domain: "{ A[i] : 0 <= i < 10 }", child: { schedule: "[{ A[i] -> [(i)] }]",
        options: "{ isolate[[] -> [x]] : 2 <= x <= 5; [isolate[] -> unroll[x]] : 0 <= x <= 0 }" } }""",
}


def paths(tree):
    found = [()]
    for at in found:  # which grows
        found += [(*at, k) for k in range(going(tree, at).n_children())]
    return found


def going(tree, at):
    node = tree.get_root()
    for k in at:
        node = node.child(k)
    return node


def said(text):
    """What isl reads of a text, without the parameters of bands, of which it keeps those that the text lists."""
    return re.sub(r'schedule: "\[[\w, ]*\] -> ', 'schedule: "', str(other.Schedule(text)))


@pytest.mark.parametrize("name", TREES)
def test_trees_of_a_text_are_one_in_both_libraries(name):
    text = TREES[name]
    ours, theirs = isl.Schedule(text), other.Schedule(text)
    assert said(str(ours)) == said(text)
    assert isl.Schedule(str(ours)) == isl.Schedule.read_from_str(ours.to_str()) == ours
    assert said(str(isl.Schedule(str(theirs)))) == said(text)
    assert eval(repr(ours).replace('("', "('''").replace('")', "''')"), {"Schedule": isl.Schedule}) == ours  # noqa: S307


@pytest.mark.parametrize("name", TREES)
def test_a_node_is_pointed_out_where_isl_does(name):
    ours, theirs = isl.Schedule(TREES[name]), other.Schedule(TREES[name])
    assert paths(ours) == paths(theirs)
    for at in paths(ours):
        text, wanted = going(ours, at).to_str(), going(theirs, at).to_str()
        assert isl.Schedule(str(going(ours, at))) == ours
        if at:
            assert isl.Schedule(text) == ours and said(text) == said(TREES[name])
        keys = [[line.split(":")[0] for line in t.splitlines()] for t in (text, wanted)]
        for lines in keys:
            lines[:] = [k for k, below in zip(lines, [*lines[1:], ""], strict=True) if not _leaf_of_mark(k, below)]
        if at and TREES[name].count("mark") == 0:
            assert keys[0] == keys[1]


def _leaf_of_mark(key, below):
    return key.strip() == "child" and "leaf" in below


def test_printers_write_trees_in_both_styles():
    tree = isl.Schedule(TREES["sequence"])
    for style, wanted in ((isl.yaml_style.FLOW, tree.to_isl()), (isl.yaml_style.BLOCK, tree.to_isl(block=True))):
        assert isl.Printer.to_str().set_yaml_style(style).print_schedule(tree).get_str() == wanted
        node = isl.Printer.to_str().set_yaml_style(style).print_schedule_node(tree.get_root().child(0)).get_str()
        assert node.replace("  # YOU ARE HERE\n", "") == wanted


TIMES = [
    "[N] -> { S[i] -> [0, i] : 0 <= i < N; T[i] -> [1, i] : 0 <= i < N }",
    "[N] -> { S[i] -> [i, 0] : 0 <= i < N; T[i] -> [i, 1] : 0 <= i < 4 }",
    "[N] -> { S[i] -> [i] : 2 <= i < N - 5; T[] -> [1] }",
    "[N] -> { S[i, j] -> [i, j] : 0 <= i < N and 0 <= j < N - i }",
    "{ S[i, j] -> [32*floor(i/32), i] : 0 <= i < 97 and 0 <= j < 1 }",
    "{ S[i] -> [i] : -2 <= i < 0 and i > 3 }",
    "[N] -> { S[i] -> [i] : 0 <= i <= N and i mod 3 = 1 }",
]
MARKED = """{ domain: "[N] -> { S[i] : 0 <= i < N; T[i] : 0 <= i < N }", child: { mark: "outer", child: { sequence: [
    { filter: "{ S[i] }", child: { schedule: "[{ S[i] -> [(i)] }]", child: { mark: "in", child: { leaf } } } },
    { filter: "{ T[i] }", child: { mark: "t", child: { leaf } } } ] } } }"""


@pytest.mark.parametrize("times", [*TIMES, MARKED])
def test_loops_are_written_as_isl_writes_them(times):
    texts = []
    for lib in (isl, other):
        build = lib.AstBuild.from_context(lib.Set("[N] -> { : N > 5 }"))
        if times is MARKED:
            node = build.node_from_schedule(lib.Schedule(times))
        else:
            node = build.node_from_schedule_map(lib.UnionMap(times))
        printer = lib.Printer.to_str(lib.DEFAULT_CONTEXT).set_output_format(lib.format.C)
        printed = node.print_(printer, lib.AstPrintOptions.alloc(lib.DEFAULT_CONTEXT)).get_str()
        plain = lib.Printer.to_str(lib.DEFAULT_CONTEXT).print_ast_node(node).get_str()
        texts.append((node.to_C_str(), str(node), node.to_str(), printed, plain))
    assert texts[0] == texts[1]


def test_a_block_holds_an_annotation():
    build = isl.AstBuild.from_context(isl.Set("[N] -> { : N > 5 }"))
    both = build.node_from_schedule_map(isl.UnionMap(TIMES[0]))
    noted = both.set_annotation(isl.Id("q", user=[1]))
    assert noted.get_annotation().user == [1] and noted.get_type() == isl.ast_node_type.block
    assert [n.get_type().name for n in noted.block_get_children()] == ["for_", "for_"]
    assert noted.set_annotation(isl.Id("r")).get_annotation().name == "r"
    seen = []
    same = noted.map_descendant_bottom_up(lambda n: seen.append(n.get_type().name) or n)
    assert seen == ["user", "for_", "user", "for_", "block"] and same.get_annotation().name == "q"
    replaced, _ = build.set_at_each_domain(lambda node, here: noted)
    around = replaced.node_from_schedule_map(isl.UnionMap("{ S[i] -> [i, 0] : 0 <= i < 3 }"))
    assert around.for_get_body().get_annotation().name == "q"
    with pytest.raises(isl.Error, match="no annotation"):
        both.get_annotation()
    with pytest.raises(isl.Error, match="of type block"):
        noted.mark_get_id()


SIGNS = "add sub mul div pdiv_q pdiv_r eq le lt ge gt and_ and_then or_ or_else".split()


@pytest.mark.parametrize("outer", SIGNS)
def test_parentheses_of_operations_of_operations(outer):
    """Where isl's are, in sums of quotients and remainders, too, where C needs none."""

    def written(lib, inner, left):
        params = lib.Set("[N, K, L] -> { : }")
        a, b, c = (lib.AstExpr.from_id(params.get_dim_id(lib.dim_type.param, k)) for k in range(3))
        made = getattr(a, inner)(b)
        return (getattr(made, outer)(c) if left else getattr(c, outer)(made)).to_C_str()

    for inner in SIGNS:
        for left in (True, False):
            assert written(isl, inner, left) == written(other, inner, left)
