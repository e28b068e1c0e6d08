"""Groups and expansions by isl's names, beside those of islpy, and against the order of what they stand for."""

import re

import pytest

import polyvolta.isl as isl
from polyvolta.sched import Schedule as Plain
from polyvolta.sched.errors import BadPath, BadSchedule
from tests.sched.by_isl.running import runs

islpy = pytest.importorskip("islpy")

SEQUENCE = """{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j < 4; T[i] : 0 <= i < N }",
  child: { schedule: "[{ S[i, j] -> [(i)]; T[i] -> [(i)] }]", child: { sequence: [
    { filter: "{ S[i, j] }", child: { schedule: "[{ S[i, j] -> [(-j)] }]" } }, { filter: "{ T[i] }" } ] } } }"""
PARTS = """{ domain: "{ S[i, j] : 0 <= i < 6 and 0 <= j < 3 }", child: { sequence: [
    { filter: "{ S[i, j] : i >= 2 }", child: { schedule: "[{ S[i, j] -> [(floor(i/2))] }, { S[i, j] -> [(j)] }]",
      permutable: 1, coincident: [ 1, 0 ] } },
    { filter: "{ S[i, j] : i < 2 }", child: { schedule: "[{ S[i, j] -> [(j)] }]" } } ] } }"""
MIXED = """{ domain: "{ S[i] : 0 <= i < 5; T[i] : 0 <= i < 5 }", child: { set: [
    { filter: "{ S[i] : i > 2; T[i] : i > 2 }", child: { schedule: "[{ S[i] -> [(i)]; T[i] -> [(2i)] }]" } },
    { filter: "{ S[i] : i <= 2; T[i] : i <= 2 }", child: { mark: "some", child: { leaf } } } ] } }"""
ADDED = """{ domain: "{ S[i] : 0 <= i < 6 }", child: { schedule: "[{ S[i] -> [(floor(i/2))] }]", child: {
  extension: "{ [t] -> C[t, e] : 0 <= e < 2 and 0 <= t < 3 }", child: { sequence: [
    { filter: "{ C[t, e] }", child: { schedule: "[{ C[t, e] -> [(e)] }]" } }, { filter: "{ S[i] }" } ] } } } }"""
SPLIT = """{ domain: "[N] -> { U[i, j] : 0 <= i < 4 and 0 <= j < N; W[] }", child: { set: [
    { filter: "{ U[i, j] : i >= 1; W[] }", child: { schedule: "[{ U[i, j] -> [(2i)]; W[] -> [(0)] }]",
      child: { schedule: "[{ U[i, j] -> [(-j)]; W[] -> [(0)] }]" } } },
    { filter: "{ U[i, j] : i < 1 }", child: { schedule: "[{ U[i, j] -> [(j)] }]" } } ] } }"""
TREES = {"sequence": SEQUENCE, "parts": PARTS, "mixed": MIXED, "added": ADDED, "split": SPLIT}
PLACES = [
    ("sequence", (0,)),
    ("sequence", (0, 0)),
    ("sequence", (0, 0, 0, 0)),
    ("sequence", (0, 0, 0, 0, 0)),
    ("sequence", (0, 0, 1, 0)),
    ("parts", (0, 0, 0)),
    ("parts", (0, 0, 0, 0)),
    ("parts", (0, 1, 0, 0)),
    ("split", (0, 0, 0)),
    ("split", (0, 0, 0, 0, 0)),
    ("split", (0, 1, 0, 0)),
    ("mixed", (0, 0, 0)),
    ("mixed", (0, 0, 0, 0)),
    ("mixed", (0, 1, 0, 0)),
    ("added", (0, 0, 0, 0, 0)),
    ("added", (0, 0, 0, 1, 0)),
]


def at(m, text, path):
    """The node at a path of a tree."""
    node = m.Schedule.read_from_str(m.DEFAULT_CONTEXT, text).get_root()
    for k in path:
        node = node.child(k)
    return node


def same(ours, theirs):
    """Whether ours is equal to islpy's, which reads both: an `Id` of its own is equal to no name in a text."""
    return type(theirs)(str(ours)).is_equal(type(theirs)(str(theirs)))


def kinds(node):
    """The kinds of the nodes of a tree, in reading order."""
    return [node.get_type().name, *(k for c in range(node.n_children()) for k in kinds(node.child(c)))]


def loops(schedule):
    """islpy's loops of a tree."""
    return islpy.AstBuild.alloc(islpy.DEFAULT_CONTEXT).node_from_schedule(schedule).to_C_str()


def run_in_python(code):
    """What islpy's loops in C call, of statements of one dimension."""
    called, lines = [], []
    for line in code.splitlines():
        head, text = re.fullmatch(r"( *)(?:} )?(.*?)[ {}]*", line).groups()
        if loop := re.fullmatch(r"for \(int (\w+) = (.*); \1 (<=?) (.*); \1 \+= (\d+)\)", text):
            name, first, sign, last, step = loop.groups()
            text = f"for {name} in range({first}, {last} + {int(sign == '<=')}, {step}):"
        elif test := re.fullmatch(r"(else )?if \((.*)\)", text):
            text = f"{'elif' if test[1] else 'if'} {test[2].replace('&&', 'and').replace('||', 'or')}:"
        elif text == "else":
            text = "else:"
        elif call := re.fullmatch(r"(\w+)\((.*)\);", text):
            text = f'called.append(f"{call[1]}{{{call[2]}}}")'
        lines += [head + text, head + "  pass"][: 1 + text.endswith(":")] if text else []
    exec("if True:\n" + "\n".join(f" {line}" for line in lines), {"called": called, "min": min, "max": max})  # noqa: S102
    return called


def ran(schedule, n=5):
    """What runs, in order."""
    build = isl.AstBuild.from_context(isl.Set("[N] -> { : }"))
    return [(name, args) for _, _, name, args in runs(build.node_from_schedule(schedule), {"N": n})]


@pytest.mark.parametrize(("tree", "path"), [p for p in PLACES if p[0] != "added"], ids=str)
def test_a_group_is_islpys(tree, path):
    ours, theirs = at(isl, TREES[tree], path).group(isl.Id("G")), at(islpy, TREES[tree], path).group(islpy.Id("G"))
    assert kinds(ours.root()) == kinds(theirs.root()) and ours.get_type().name == theirs.get_type().name
    assert ours.get_tree_depth() == theirs.get_tree_depth() == len(path) + 1
    assert ours.parent().get_type() == isl.schedule_node_type.expansion
    above, up = ours.parent(), theirs.parent()
    assert same(above.expansion_get_expansion(), up.expansion_get_expansion())
    contraction = islpy.UnionMap.from_union_pw_multi_aff(up.expansion_get_contraction())
    domain = isl.UnionSet(str(up.expansion_get_expansion().range()))
    there = isl.UnionMap(str(contraction)).intersect_domain(domain)
    assert above.expansion_get_contraction().intersect_domain(domain).is_equal(there)
    while ours.has_parent():
        assert same(ours.get_domain(), theirs.get_domain())
        assert same(ours.get_prefix_schedule_relation(), theirs.get_prefix_schedule_relation())
        led = [node.get_subtree_expansion().intersect_domain(node.get_domain()) for node in (ours, theirs)]
        assert same(*led)
        ours, theirs = ours.parent(), theirs.parent()
    written = islpy.Schedule(str(ours.get_schedule()))
    assert loops(written) == loops(theirs.get_schedule())
    assert same(ours.get_schedule().get_domain(), theirs.get_schedule().get_domain())


@pytest.mark.parametrize(("tree", "path"), PLACES, ids=str)
def test_what_is_grouped_runs_as_before(tree, path):
    before = at(isl, TREES[tree], path)
    after = before.group("G").get_schedule()
    assert ran(after) == ran(before.get_schedule())
    after.check_structure()
    assert isl.Schedule(str(after)) == after and str(isl.Schedule(str(after))) == str(after)
    assert Plain.parse(str(after)).to_map().is_equal(before.get_schedule().to_map())  # who reads none takes them out
    assert "EXPANSION: " in after.show()


def test_groups_may_be_none_and_grouped_again():
    text = """{ domain: "{ T[i] : 0 <= i < 6 }", child: { sequence: [ { filter: "{ T[i] : i >= 3 }" },
      { filter: "{ T[i] : i < 3 }", child: { sequence: [
        { filter: "{ T[i] : i < 3 }" }, { filter: "{ T[i] : i >= 3 }" } ] } } ] } }"""
    tree = at(isl, text, (0, 1, 0, 1, 0)).group("G").parent().group("H").get_schedule()
    assert tree.check_structure() is tree and ran(tree) == ran(isl.Schedule(text))
    assert isl.Schedule(str(tree)).to_map().is_equal(isl.Schedule(text).to_map())


def test_groups_of_groups_and_what_stands_below_and_between_them():
    def made(m):
        node = at(m, SEQUENCE, (0, 0, 0, 0)).group(m.Id("G"))
        node = node.parent().insert_mark(m.Id("inside")).parent().parent().parent()
        node = node.group(m.Id("H")).parent()
        assert node.get_type().name == "expansion"
        return node

    ours, theirs = made(isl), made(islpy)
    assert kinds(ours.root()) == kinds(theirs.root())
    assert loops(islpy.Schedule(str(ours))) == loops(theirs.get_schedule())
    assert ran(ours.get_schedule()) == ran(isl.Schedule(SEQUENCE))
    assert same(ours.get_subtree_expansion(), theirs.get_subtree_expansion())
    contraction = islpy.UnionMap.from_union_pw_multi_aff(theirs.get_subtree_contraction())
    domain = isl.UnionSet(str(theirs.get_subtree_expansion().range()))
    there = isl.UnionMap(str(contraction)).intersect_domain(domain)
    assert ours.get_subtree_contraction().intersect_domain(domain).is_equal(there)


def test_subtrees_are_of_what_expansions_lead_to():
    text = """{ domain: "{ G[i] : 0 <= i < 4; T[i] : 0 <= i < 4 }", child: { sequence: [
      { filter: "{ G[i] }", child: { contraction: "{ S[i] -> G[(floor(i/2))] }",
        expansion: "{ G[j] -> S[i] : 2j <= i <= 2j + 1 and i < 7 }", child: { schedule: "[{ S[i] -> [(i)] }]" } } },
      { filter: "{ T[i] }" } ] } }"""
    for path in ((0,), (0, 0), (0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0, 0)):
        ours, theirs = at(isl, text, path), at(islpy, text, path)
        contraction = islpy.UnionMap.from_union_pw_multi_aff(theirs.get_subtree_contraction())
        assert same(ours.get_subtree_contraction(), contraction), path
        assert same(ours.get_subtree_expansion(), theirs.get_subtree_expansion()), path
        assert same(ours.get_subtree_schedule_union_map(), theirs.get_subtree_schedule_union_map()), path
        assert same(ours.get_prefix_schedule_union_map(), theirs.get_prefix_schedule_union_map()), path
        assert same(ours.get_universe_domain(), theirs.get_universe_domain()), path
    assert same(ours.get_schedule().get_map(), theirs.get_schedule().get_map())


def test_what_has_no_expansion_ends_there():
    text = """{ domain: "{ G[i] : 0 <= i < 4; T[i] : 0 <= i < 4 }", child: {
      schedule: "[{ G[i] -> [(-i)]; T[i] -> [(i)] }]", child: { contraction: "{ S[i] -> G[(floor(i/2))] }",
        expansion: "{ G[j] -> S[i] : 2j <= i <= 2j + 1 and i < 7 }" } } }"""
    tree = isl.Schedule(text)
    assert "T(" not in loops(islpy.Schedule(text))
    assert ran(tree) == [("S", [i]) for i in (6, 4, 5, 2, 3, 0, 1)]
    assert tree.prefix((0, 0, 0)).keys() == {"S"} and str(tree.prefix((0, 0, 0))["S"][0]) == "-floor(i/2)"
    assert tree.statements_at((0, 0, 0)) == ("S",) and tree.statements_at((0, 0)) == ("G", "T")


PAIRS = 'contraction: "{ U[i] -> G[(floor(i/2))] }", expansion: "{ G[j] -> U[i] : 2j <= i <= 2j + 1 }"'
BACK = 'child: { schedule: "[{ U[k] -> [(-k)] }]" }'
WAYS = {
    "of two groups": (
        f"""{{ domain: "{{ G[i] : 0 <= i < 2; H[i] : 0 <= i < 3 }}", child: {{ sequence: [
          {{ filter: "{{ H[i] }}", child: {{ schedule: "[{{ H[i] -> [(-i)] }}]", child: {{
            contraction: "{{ U[i] -> H[(i - 4)] }}", expansion: "{{ H[i] -> U[i + 4] }}" }} }} }},
          {{ filter: "{{ G[i] }}", child: {{ {PAIRS}, {BACK} }} }} ] }} }}""",
        ["U6", "U5", "U4", "U3", "U2", "U1", "U0"],
    ),
    "of a group and by itself": (
        f"""{{ domain: "{{ U[i] : 0 <= i < 3; G[i] : 2 <= i < 4 }}", child: {{
          schedule: "[{{ U[i] -> [(-i)]; G[i] -> [(i - 3)] }}]", child: {{ sequence: [
          {{ filter: "{{ G[i] }}", child: {{ {PAIRS}, {BACK} }} }}, {{ filter: "{{ U[i] }}" }} ] }} }} }}""",
        ["U2", "U5", "U4", "U1", "U7", "U6", "U0"],
    ),
    "of itself": (
        f"""{{ domain: "{{ U[i] : 0 <= i < 2; T[i] : 0 <= i < 2 }}", child: {{
          schedule: "[{{ U[i] -> [(-i)]; T[i] -> [(-i)] }}]", child: {{ sequence: [
          {{ filter: "{{ U[i] }}", child: {{ {PAIRS.replace("G", "U")}, {BACK} }} }},
          {{ filter: "{{ T[i] }}" }} ] }} }} }}""",
        ["U3", "U2", "T1", "U1", "U0", "T0"],
    ),
    "of a group and of one in it": (
        f"""{{ domain: "{{ G[i] : 0 <= i < 2 }}", child: {{ schedule: "[{{ G[i] -> [(-i)] }}]", child: {{
          contraction: "{{ H[i] -> G[(floor(i/2))]; U[i] -> G[(floor(i/2))] }}",
          expansion: "{{ G[j] -> H[i] : 2j <= i <= 2j + 1; G[j] -> U[2j] }}", child: {{ sequence: [
            {{ filter: "{{ U[i] }}" }}, {{ filter: "{{ H[i] }}", child: {{
              contraction: "{{ U[i] -> H[(i - 10)] }}", expansion: "{{ H[i] -> U[i + 10] }}",
              {BACK} }} }} ] }} }} }} }}""",
        ["U2", "U13", "U12", "U0", "U11", "U10"],
    ),
    "where another ends below a filter": (
        f"""{{ domain: "{{ G[i] : 0 <= i < 2; T[i] : 0 <= i < 4 }}", child: {{ sequence: [
          {{ filter: "{{ G[i]; T[i] : i < 2 }}", child: {{ schedule: "[{{ G[i] -> [(-i)]; T[i] -> [(i)] }}]",
            child: {{ {PAIRS}, {BACK} }} }} }},
          {{ filter: "{{ T[i] : i >= 2 }}", child: {{ schedule: "[{{ T[i] -> [(-i)] }}]" }} }} ] }} }}""",
        ["U3", "U2", "U1", "U0", "T3", "T2"],
    ),
    "named as its group is": (
        """{ domain: "{ G[i] : 0 <= i < 3 }", child: { contraction: "{ U[i] -> G[(i)] }", expansion: "{ G[i] -> U[i] }",
          child: { schedule: "[{ U[i] -> [(-i)] }]" } } }""",
        ["U2", "U1", "U0"],
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_statement_comes_on_several_ways(way):
    text, wanted = WAYS[way]
    tree, taken_out = isl.Schedule(text), Plain.parse(text)
    assert [f"{name}{i}" for name, (i,) in ran(tree)] == wanted
    assert taken_out.to_map().is_equal(tree.to_map()) and not taken_out.to_map().param_names
    assert isl.Schedule(str(tree)).to_map().is_equal(tree.to_map())
    assert run_in_python(loops(islpy.Schedule(text))) == wanted


CONTRACTIONS = [
    "{ S[i, j] -> G[(i)]; U[i] -> G[(i)] }",
    "{ S[i, j] -> G[(i)]; U[i] -> T[(i)] }",
    "{ S[i, j] -> G[(i)] }",
]


@pytest.mark.parametrize("contraction", CONTRACTIONS)
def test_an_expanded_tree_is_islpys(contraction):
    coarse = """{ domain: "[N] -> { G[i] : 0 <= i < N; T[i] : 0 <= i < N }", child: {
      schedule: "[{ G[i] -> [(-i)]; T[i] -> [(-i)] }]", child: { sequence: [
        { filter: "{ G[i] }", child: { mark: "m", child: { leaf } } }, { filter: "{ T[i] }" } ] } } }"""
    fine = """{ domain: "[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i; U[i] : 0 <= i < N }", child: { sequence: [
        { filter: "{ U[i] }" }, { filter: "{ S[i, j] }", child: { schedule: "[{ S[i, j] -> [(j)] }]" } } ] } }"""
    ours = isl.Schedule(coarse).expand(isl.UnionPwMultiAff(contraction), isl.Schedule(fine))
    theirs = islpy.Schedule(coarse).expand(islpy.UnionPwMultiAff(contraction), islpy.Schedule(fine))
    assert kinds(ours.get_root()) == kinds(theirs.get_root())
    assert loops(islpy.Schedule(str(ours))) == loops(theirs)
    there = islpy.UnionSet("[N] -> { S[i, j] : 0 <= i < N; U[i] : 0 <= i < N; T[i] }")
    assert islpy.UnionMap(str(ours.get_map())).is_equal(theirs.get_map().intersect_domain(there))
    parts = isl.UnionMap(contraction).domain().tuple_names
    wanted = []
    for i in reversed(range(5)):
        below = [("U", [i])] * ("U" in parts and "U[i] -> G" in contraction) + [("S", [i, j]) for j in range(i + 1)]
        wanted += below + [("U" if "U[i] -> T" in contraction else "T", [i])]
    assert ran(ours) == wanted


@pytest.mark.parametrize("contraction", [
    "{ A[i, j] -> H[(i + j)]; B[i] -> H[(floor(i/2))] }",
    "{ A[i, j] -> H[(i + j)]; B[i] -> G[(i - 5)] }",
    "{ A[i, j] -> H[(i)]; B[i] -> H[(i)] : i < 4; B[i] -> G[(i - 4)] : i >= 4 }",
])  # fmt: skip
def test_what_stands_for_nothing_stays_beside_what_is_expanded(contraction):
    coarse = """{ domain: "{ G[i] : 0 <= i < 4; H[i] : 0 <= i < 5 }",
      child: { schedule: "[{ G[i] -> [(i)]; H[i] -> [(1)] }]" } }"""
    fine = """{ domain: "{ A[i, j] : 0 <= i < 4 and 0 <= j < 2; B[i] : 0 <= i < 8 }", child: { sequence: [
      { filter: "{ A[i, j] }", child: { schedule: "[{ A[i, j] -> [(j)] }]" } }, { filter: "{ B[i] }" } ] } }"""
    ours, theirs = (m.Schedule(coarse).expand(m.UnionPwMultiAff(contraction), m.Schedule(fine)) for m in (isl, islpy))
    assert kinds(ours.get_root()) == kinds(theirs.get_root())
    assert ours.check_structure() is ours and isl.Schedule(str(ours)) == ours
    called = [f"{name}{args[0] if len(args) == 1 else tuple(args)}" for name, args in ran(ours)]
    assert sorted(called) == sorted(run_in_python(loops(theirs)))
    assert Plain.parse(str(ours)).to_map().is_equal(ours.to_map())


def test_what_is_no_group_is_refused():
    node = at(isl, SEQUENCE, (0, 0, 0, 0))
    with pytest.raises(BadSchedule, match="a second statement is called T"):
        node.group("T")
    for name in (None, 1, "", "a b", "1", "floor"):
        with pytest.raises(BadSchedule, match="is one word"):
            node.group(name)
    with pytest.raises(BadPath):
        node.root().group("G")
    with pytest.raises(BadPath, match="filters"):
        node.parent().group("G")
    with pytest.raises(BadPath, match="is a Band, no Expansion"):
        node.expansion_get_expansion()
    nothing = """{ domain: "{ S[i] : 0 <= i < 4; T[] }", child: { sequence: [ { filter: "{ T[] }", child: { sequence: [
        { filter: "{ S[i] }" }, { filter: "{ T[] }" } ] } }, { filter: "{ S[i] }" } ] } }"""
    with pytest.raises(BadSchedule, match="no instances come here"):
        at(isl, nothing, (0, 0, 0, 0, 0)).group("G")
    with pytest.raises(BadSchedule, match="only a function tells"):
        node.get_schedule().expand(isl.UnionMap("{ U[] -> T[i] }"), isl.Schedule.from_domain(isl.Set("{ U[] }")))
    with pytest.raises(BadSchedule, match="several places"):
        at(isl, ADDED, (0, 0, 0)).group("G")


@pytest.mark.parametrize(("contraction", "expansion", "said"), [
    ("{ S[i] -> G[(i)] }", "{ H[i] -> S[i] }", "no statement H"),
    ("{ S[i] -> G[(i + 1)] }", "{ G[i] -> S[i] }", "leads back along"),
    ("{ S[i] -> G[(i)] : i > 4 }", "{ G[i] -> S[i] }", "leads back along"),
    ("{ S[i] -> G[(i)] }", "{ G[i] -> S[i]; G[i] -> S[i + 1] }", "leads back along"),
])  # fmt: skip
def test_expansions_that_fit_no_contraction_are_refused(contraction, expansion, said):
    below = f'contraction: "{contraction}", expansion: "{expansion}"'
    text = f'{{ domain: "{{ G[i] : 0 <= i < 4 }}", child: {{ {below} }} }}'
    with pytest.raises(isl.PolyvoltaError, match=said):
        isl.Schedule(text)


BELOW = """{ domain: "{ G[i] : 0 <= i < 4; T[i] : 0 <= i < 4 }", child: { sequence: [ { filter: "{ G[i] }", child: {
    contraction: "{ S[i] -> G[(floor(i/2))] }", expansion: "{ G[j] -> S[i] : 2j <= i <= 2j + 1 }",
    child: { schedule: "[{ S[i] -> [(i)] }]" } } }, { filter: "{ T[i] }" } ] } }"""
STEPS = {
    "a band above": lambda m, node: m.Schedule(BELOW).insert_partial_schedule(
        m.MultiUnionPwAff("[{ G[i] -> [(-i)]; T[i] -> [(i)] }]")
    ),
    "tiles below": lambda m, node: node(0, 0, 0, 0).band_tile(m.MultiVal("{ [3] }")).get_schedule(),
    "a filter": lambda m, node: node(0, 0, 0, 0).insert_filter(m.UnionSet("{ S[i] : i > 2 }")).get_schedule(),
    "an order": lambda m, node: node(0, 0, 0, 0).order_before(m.UnionSet("{ S[i] : i > 2 }")).get_schedule(),
    "no expansion": lambda m, node: node(0, 0, 0).cut().get_schedule(),
    "a tree behind": lambda m, node: m.Schedule(BELOW).sequence(m.Schedule('{ domain: "{ Z[] }" }')),
}


@pytest.mark.parametrize("step", STEPS)
def test_trees_with_expansions_are_changed_as_islpys(step):
    ours, theirs = (STEPS[step](m, lambda *path, m=m: at(m, BELOW, path)) for m in (isl, islpy))
    assert kinds(ours.get_root()) == kinds(theirs.get_root())
    assert loops(islpy.Schedule(str(ours))) == loops(theirs)
    built = isl.AstBuild.from_context(isl.Set("{ : }")).node_from_schedule(ours)
    again = isl.AstBuild.from_context(isl.Set("{ : }")).node_from_schedule(
        isl.Schedule(Plain.parse(str(ours)).to_isl())
    )
    assert [call[2:] for call in runs(built)] == [call[2:] for call in runs(again)]


def test_dependences_and_what_has_no_meaning_of_trees_with_expansions():
    def flow(m):
        info = m.UnionAccessInfo.from_sink(m.UnionMap("{ T[i] -> A[i] }"))
        info = info.set_must_source(m.UnionMap("{ S[i] -> A[i] }")).set_schedule(m.Schedule(BELOW))
        return info.compute_flow().get_must_dependence()

    assert same(flow(isl), flow(islpy))
    tree = isl.Schedule(BELOW)
    with pytest.raises(BadSchedule, match="is not pulled back"):
        tree.pullback_union_pw_multi_aff(isl.UnionPwMultiAff("{ H[a] -> G[(a)]; T[i] -> T[(i)] }"))
    assert "EXPANSION" in tree.to_dot() and tree.to_latex() and tree._html() and "EXPANSION" in str(tree.diff(tree))


ABOVE = 'child: {{ schedule: "{}", child: {{ sequence: [ {{'
CASES = "{ G[i] -> [(5)] : i >= 2; G[i] -> [(-i)] : i < 2; T[i] -> [(i)] }, { G[i] -> [(i mod 2)]; T[i] -> [(0)] }"
SINKS = {
    "one group": BELOW.replace("child: { sequence: [ {", ABOVE.format("[{ G[i] -> [(-i)]; T[i] -> [(i)] }]")) + " }",
    "by cases": BELOW.replace("child: { sequence: [ {", ABOVE.format(f"[{CASES}]")) + " }",
    "two ways, a filter and an order": """{ domain: "[n] -> { G[i] : 0 <= i < n }", child: {
    schedule: "[n] -> L[{ G[i] -> [(n - i)] }]", child: { filter: "{ G[i] : i > 2 }", child: {
    contraction: "{ A[i] -> G[(i)]; B[i, k] -> G[(i + k)] }",
    expansion: "{ G[i] -> A[i]; G[i] -> B[j, i - j] : 0 <= j <= 2 }",
    child: { sequence: [ { filter: "{ A[i] }" },
      { filter: "{ B[i, k] }", child: { schedule: "K[{ B[i, k] -> [(k)] }]" } } ] } } } } }""",
    "two levels": """{ domain: "{ G[i] : 0 <= i < 4 }", child: { schedule: "[{ G[i] -> [(-i)] }]", child: {
    contraction: "{ H[i, k] -> G[(i)] }", expansion: "{ G[i] -> H[i, k] : 0 <= k < 2 }", child: {
    schedule: "[{ H[i, k] -> [(k)] }]", child: {
    contraction: "{ S[i] -> H[(floor(i/2)), (i mod 2)] }", expansion: "{ H[j, k] -> S[2j + k] }" } } } } }""",
}


@pytest.mark.parametrize("name", SINKS)
def test_a_band_sinks_below_expansions_with_the_values_of_groups(name):
    ours, theirs = (m.Schedule(SINKS[name]).get_root().child(0).band_sink() for m in (isl, islpy))
    tree, other = ours.get_schedule(), theirs.get_schedule()
    assert kinds(tree.get_root()) == kinds(other.get_root())
    assert same(
        tree.get_root().child(0).get_subtree_schedule_union_map(),
        other.get_root().child(0).get_subtree_schedule_union_map(),
    )
    context = isl.Set("[n] -> { : n = 6 }")
    built = isl.AstBuild.from_context(context).node_from_schedule(tree)
    again = isl.AstBuild.from_context(context).node_from_schedule(isl.Schedule(str(other)))
    assert [call[2:] for call in runs(built)] == [call[2:] for call in runs(again)]


def test_groups_that_do_not_come_stand_for_nothing():
    """An expansion of more groups than come there is fine, where the contraction leads back to those that do."""
    inner = 'contraction: "{ S[i] -> G[(floor(i/2)), (i mod 2)] }", expansion: "{ G[j, k] -> S[2j + k] }"'
    text = f'{{ domain: "{{ G[j, k] : 0 <= j < 4 and 0 <= k < 2 }}", child: {{ {inner} }} }}'
    assert same(isl.Schedule(text).get_root().child(0).child(0).get_domain(), islpy.UnionSet("{ S[i] : 0 <= i < 8 }"))
    with pytest.raises(BadSchedule, match="no function that leads back"):
        isl.Schedule(text.replace("0 <= k < 2", "0 <= k < 3"))
