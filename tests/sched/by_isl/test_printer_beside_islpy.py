"""isl's printer beside islpy's: lists, lines, notes, and yaml in both styles."""

import random

import pytest

import polyvolta.isl as ours

isl = pytest.importorskip("islpy")

SCHEDULE = '{ domain: "{ S[i]; T[i] }", child: { schedule: "[{ S[i] -> [(i)]; T[i] -> [(i)] }]", permutable: 1, child: { sequence: [ { filter: "{ S[i] }" }, { filter: "{ T[i] }" } ] } } }'  # noqa: E501


def printer(module):
    return module.Printer.to_str(module.DEFAULT_CONTEXT)


def listed(kind, values):
    """isl's list."""
    found = getattr(isl, f"{kind}List").alloc(isl.DEFAULT_CONTEXT, 0)
    for v in values:
        found = found.add(v)
    return found


@pytest.mark.parametrize(("kind", "texts"), [
    ("Val", []), ("Val", ["3", "1/2", "infty"]), ("Id", ["a", "b"]), ("Set", ["{ A[3] }", "{ B[1, 2] }"]),
    ("BasicSet", ["{ A[i] }"]), ("Map", ["{ A[i] -> B[j] }", "{ A[] -> B[] }"]), ("UnionSet", ["{ A[3] }"]),
    ("PwAff", ["{ A[i] -> [(3)] }"]), ("Aff", ["{ A[i] -> [(i)] }"]), ("UnionMap", ["{ A[i] -> B[j] }"]),
])  # fmt: skip
def test_lists(kind, texts):
    name = "print_" + "".join(f"_{c.lower()}" if c.isupper() else c for c in kind)[1:] + "_list"
    theirs = [isl.Id.read_from_str(isl.DEFAULT_CONTEXT, t) if kind == "Id" else getattr(isl, kind)(t) for t in texts]
    mine = [getattr(ours, kind)(t) for t in texts]
    wanted = getattr(printer(isl), name)(listed(kind, theirs)).get_str().replace(" :  }", " }")
    assert getattr(printer(ours), name)(mine).get_str() == wanted
    assert getattr(printer(ours), name)(getattr(ours, f"{kind}List")(mine)).get_str() == wanted


def test_values():
    for text in ("{ A[M, N] }", "[n] -> { [A[x] -> B[y]] }"):
        assert printer(ours).print_multi_id(ours.MultiId(text)).get_str() == (
            printer(isl).print_multi_id(isl.MultiId(text)).get_str()) == text  # fmt: skip
    for text in ("[n] -> { A[i, j] }", "{ [A[i] -> B[j]] }", "[n, m] -> { [i] }"):
        mine, theirs = (m.Set(text).get_space() for m in (ours, isl))
        assert printer(ours).print_space(mine).get_str() == mine.to_str() == theirs.to_str()
        assert printer(ours).print_local_space(mine).get_str() == (
            printer(isl).print_local_space(isl.LocalSpace.from_space(theirs)).get_str())  # fmt: skip
        mine, theirs = (m.Point.zero(m.Set(text).get_space()) for m in (ours, isl))
        assert printer(ours).print_point(mine).get_str() == printer(isl).print_point(theirs).get_str()
    text = '{ domain: "{ S[i] : 0 <= i < 9 }", validity: "{ S[i] -> S[i + 1] }" }'
    printed = printer(ours).print_schedule_constraints(ours.ScheduleConstraints.read_from_str(text)).get_str()
    assert ours.ScheduleConstraints.read_from_str(printed) == ours.ScheduleConstraints.read_from_str(text)


def test_accesses_and_flow():
    found = []
    for m in (ours, isl):
        sink, source = m.UnionMap("{ S[] -> A[3] }"), m.UnionMap("{ T[] -> A[3] }")
        info = m.UnionAccessInfo.from_sink(sink).set_must_source(source)
        info = info.set_schedule_map(m.UnionMap("{ S[] -> [1]; T[] -> [0] }"))
        flow = info.compute_flow()
        found.append([
            info.to_str(), flow.to_str(), printer(m).print_union_access_info(info).get_str(),
            printer(m).print_union_flow(flow).get_str(),
            printer(m).set_yaml_style(m.yaml_style.BLOCK).print_union_flow(flow).get_str(),
            printer(m).set_yaml_style(m.yaml_style.BLOCK).print_union_access_info(info).get_str(),
        ])  # fmt: skip
    mine, theirs = (
        [t.replace("{  }", "{ }").replace("T[] -> [0]; S[] -> [1]", "S[] -> [1]; T[] -> [0]") for t in texts]
        for texts in found
    )
    assert mine == theirs
    tree = ours.Schedule('{ domain: "{ S[i] }", child: { schedule: "[{ S[i] -> [(i)] }]" } }')
    info = ours.UnionAccessInfo.from_sink(ours.UnionMap("{ S[i] -> A[i] }"))
    assert info.to_str() == '{ sink: "{ S[i] -> A[i] }", schedule: { domain: "{ }" } }'
    assert f"schedule: {tree.to_str()} }}" in info.set_schedule(tree).to_str() == str(info.set_schedule(tree))


def test_lines():
    for parts in (("", "", ""), ("##", "<", ">"), ("", "// ", ""), ("* ", "", ";")):
        texts = []
        for m in (ours, isl):
            p = printer(m).set_indent_prefix(parts[0]).set_prefix(parts[1]).set_suffix(parts[2]).set_indent(2)
            p = p.start_line().print_str("x").end_line().indent(3).start_line().print_int(3).end_line()
            texts.append(p.get_str())
        assert texts[0] == texts[1]


def test_notes():
    p = printer(ours)
    assert not p.has_note(ours.Id("k")) and p.get_ctx() == ours.DEFAULT_CONTEXT
    with pytest.raises(ours.Error, match="there is no note of k"):
        p.get_note(ours.Id("k"))
    p = p.set_note(ours.Id("k"), ours.Id("v", [3]))
    assert p.has_note(ours.Id("k")) and p.get_note(ours.Id("k")) == "v" and p.get_note(ours.Id("k")).user == [3]
    assert int(p.get_yaml_style()) == printer(isl).get_yaml_style()
    for wrong in (lambda: p.set_yaml_style(7), lambda: p.yaml_end_mapping(), lambda: p.yaml_end_sequence()):
        with pytest.raises(ours.Error):
            wrong()


def drawn(rng, depth):
    """Calls of a printer that write some yaml."""
    kind = rng.choice("xxms" if depth else "ms")
    if kind == "x" or depth > 3:
        return [rng.choice("abc")]
    calls, n = [], rng.choice((0, 1, 2, 2, 3))
    for k in range(n):
        calls += ["next"] * (k > 0)
        calls += [rng.choice("klm"), "next"] if kind == "m" else []
        calls += drawn(rng, depth + 1)
    word = "mapping" if kind == "m" else "sequence"
    return [f"start_{word}", *calls, f"end_{word}"]


@pytest.mark.parametrize("style", ["BLOCK", "FLOW"])
@pytest.mark.parametrize("seed", range(8))
def test_yaml(seed, style):
    rng = random.Random(seed)
    for _ in range(20):
        calls, indent, texts = drawn(rng, 0), rng.choice((0, 3)), []
        for m in (ours, isl):
            p = printer(m).set_yaml_style(int(getattr(m.yaml_style, style))).set_indent(indent)
            for call in calls:
                p = p.print_str(call) if len(call) == 1 else getattr(p, f"yaml_{call}")()
            texts.append(p.get_str())
        assert texts[0] == texts[1], calls


def test_trees_in_lines():
    texts = []
    for m in (ours, isl):
        p = printer(m).set_yaml_style(int(m.yaml_style.BLOCK)).print_schedule(m.Schedule(SCHEDULE))
        texts.append(p.get_str())
    assert sorted(texts[0].splitlines()) == sorted(texts[1].splitlines()) and texts[0].startswith('domain: "')
    tree = ours.Schedule(SCHEDULE)
    assert printer(ours).print_schedule(tree).get_str() == tree.to_str()
    assert ours.Schedule(texts[0]) == tree
