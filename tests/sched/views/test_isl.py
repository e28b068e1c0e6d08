"""Trees go to and fro between isl and us.

`isl_printed.txt` holds schedules that isl computed and printed: for each a name, the flow form, the block form and the
map that isl makes of it ("-" where isl has none, below an extension).
"""

from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from polyvolta.sched.errors import BadArgument, BadSchedule, TreeSyntaxError
from polyvolta.sched.tree import (
    Band,
    Context,
    Domain,
    Extension,
    Filter,
    Guard,
    Leaf,
    Mark,
    Member,
    Schedule,
    Sequence,
    SetNode,
)
from polyvolta.sets import BudgetExceeded, Map, Set, Tuple, aff, var, xor
from tests.sched.loops.draw import tree as drawn
from tests.sched.views.trees import alike, band, tree


def printed():
    """The trees of `isl_printed.txt`: name -> (flow form, block form, map)."""
    found = {}
    for entry in Path(__file__).with_name("isl_printed.txt").read_text().split("# ")[1:]:
        name, rest = entry.split("\n", 1)
        flow, block, order = rest.strip().split("\n\n")
        found[name] = flow, block, order
    return found


PRINTED = printed()


@pytest.mark.parametrize("name", PRINTED)
def test_both_forms_that_isl_prints_are_one_tree(name):
    flow, block, _ = PRINTED[name]
    assert Schedule.parse(flow) == Schedule.parse(block)


@pytest.mark.parametrize("name", PRINTED)
def test_a_tree_that_isl_printed_is_written_and_read_unchanged(name):
    schedule = Schedule.parse(PRINTED[name][0])
    assert Schedule.parse(schedule.to_isl()) == schedule == Schedule.parse(schedule.to_isl(block=True))


@pytest.mark.parametrize("name", [n for n in PRINTED if PRINTED[n][2] != "-"])
def test_a_tree_is_the_map_that_isl_makes_of_it(name):
    flow, _, order = PRINTED[name]
    schedule = Schedule.parse(flow)
    leaves = [schedule.instances_at(at) for at, node in schedule.walk() if isinstance(node, Leaf)]
    runs = leaves[0]
    for other in leaves[1:]:
        runs = runs | other
    assert schedule.to_map().is_equal(Map(order).intersect_domain(runs))


@settings(max_examples=60)
@given(st.binary(min_size=40, max_size=160), st.booleans())
def test_what_is_written_reads_back(data, block):
    schedule = drawn(data).schedule
    text = schedule.to_isl(block=block)
    try:
        again = Schedule.parse(text)
    except BudgetExceeded:  # whether filters cut instances apart is not found out, which is asked of what is read
        reject()
    assert alike(again.root, schedule.root)
    assert again.to_isl(block=block) == Schedule.parse(again.to_isl()).to_isl(block=block)


def test_every_part_of_a_tree_is_written_as_isl_writes_it():
    schedule = tree(
        "[n] -> { S[i, j] : 0 <= i, j < n; T[i] : 0 <= i < n }",
        Context(
            Set("[n] -> { [] : n >= 4 }"),
            Band(
                (
                    Member((("S", aff("i")), ("T", aff("i"))), coincident=True, loop_type="separate"),
                    Member((("S", aff("j")), ("T", aff("n"))), loop_type="unroll", isolated_type="default"),
                ),
                SetNode(
                    (
                        Filter(("S",), Guard(Set("[n] -> { [a, b] : a < b }"), Mark("inner")), None),
                        Filter(
                            ("T",),
                            Extension(
                                Map("[n] -> { [a, b] -> C[x] : x = a }"),
                                Sequence((Filter(("C",)), Filter(("T",)))),
                            ),
                        ),
                    )
                ),
                permutable=True,
                isolate=Set("[n] -> { [a, b] : b < n }"),
            ),
        ),
    )
    assert (
        schedule.to_isl(block=True)
        == """\
domain: "[n] -> { S[i, j] : 0 <= i < n and 0 <= j < n; T[i] : 0 <= i < n }"
child:
  context: "[n] -> { [] : n >= 4 }"
  child:
    schedule: "[n] -> [{ S[i, j] -> [(i)]; T[i] -> [(i)] }, { S[i, j] -> [(j)]; T[i] -> [(n)] }]"
    permutable: 1
    coincident: [ 1, 0 ]
    options: "[n] -> { isolate[[] -> [a, b]] : b < n; separate[0]; unroll[1]; [isolate[] -> separate[0]] }"
    child:
      set:
      - filter: "{ S[i, j] }"
        child:
          guard: "[n] -> { [a, b] : a < b }"
          child:
            mark: "inner"
            child: { leaf }
      - filter: "{ T[i] }"
        child:
          extension: "[n] -> { [a, b] -> C[x] : x = a }"
          child:
            sequence:
            - filter: "{ C[x] }"
            - filter: "{ T[i] }"
"""
    )
    assert Schedule.parse(schedule.to_isl()) == schedule


def test_a_tree_as_ppcg_writes_it_by_hand():
    schedule = Schedule.parse("""
        # what ppcg makes of a copy
        domain: "[n] -> { S[i] : 0 <= i < n }"
        child:
          context: "[n, b0] -> { [] : 0 <= b0 <= 32767 }"
          child:
            filter: [n, b0] -> { S[i] : b0 = floor(i/32) }
            child:
              mark: kernel
              child:
                schedule: "[n] -> [{ S[i] -> [(32*floor(i/32))] }]"
                permutable: 1
                coincident:
                - 1
                child:
                  mark: 'thread'
                  child:
                    schedule: "[{ S[i] -> [(i mod 32)] }]"
                    child: leaf
    """)
    assert (
        str(schedule)
        == """\
DOMAIN: S[i] : 0 ≤ i < n
  CONTEXT: 0 ≤ b0 ≤ 32767
    FILTER: S[i] : 32b0 ≤ i ≤ 32b0 + 31
      MARK: kernel
        BAND: S[i] → [32⌊i/32⌋]
          MARK: thread
            BAND: S[i] → [i - 32⌊i/32⌋]"""
    )
    assert schedule.band((0, 0, 0, 0)).members[0].coincident


def test_mapped_members_and_requests_to_unroll_are_told_in_a_mark():
    members = (Member((("S", aff("i//32")),), name="blockIdx.x"), Member((("S", aff("i")),), unroll=True))
    schedule = tree("[n] -> { S[i] : 0 <= i < n }", Band(members))
    assert 'mark: "members: blockIdx.x, unroll"' in schedule.to_isl()
    assert Schedule.parse(schedule.to_isl()) == schedule


def test_mapped_members_become_parameters_as_ppcg_has_them():
    schedule = tree("[n] -> { S[i] : 0 <= i < n }", band(None, S="i//32, i", names="blockIdx.x, -"))
    text = schedule.to_isl(mapped="parameters")
    assert 'filter: "[n, blockIdx_x] -> { S[i] : blockIdx_x = floor(i/32) }"' in text
    assert Schedule.parse(text).node((0, 0)).members[0].name is None


def test_iterators_are_called_what_the_domain_calls_them():
    schedule = Schedule.parse(
        '{ domain: "{ S[i, j] : 0 <= i, j < 4 }", child: { schedule: "[{ S[a, b] -> [(b - a)] }]" } }'
    )
    assert schedule == tree("{ S[i, j] : 0 <= i, j < 4 }", band(None, S="j - i"))


def test_conditions_that_always_hold_are_taken():
    text = '{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)] : i >= 0 }]" } }'
    assert Schedule.parse(text) == tree("{ S[i] : 0 <= i < 4 }", band(None, S="i"))


def test_statements_without_instances_may_lack_a_domain():
    text = '{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)]; T[i] -> [(0)] }]" } }'
    assert Schedule.parse(text) == tree("{ S[i] : 0 <= i < 4 }", band(None, S="i"))


def test_an_exclusive_or_is_written_out():
    schedule = tree("{ S[i] : 0 <= i < 4 }", Band((Member((("S", xor(var("i"), 1, 2)),)),)))
    again = Schedule.parse(schedule.to_isl())
    assert again.to_map().is_equal(schedule.to_map())
    assert again.to_map().contains((2, 3))


def test_names_that_no_text_can_say_get_others():
    space = Set.universe(Tuple("S", ("i@",)))
    schedule = Schedule(Domain(space, Band((Member((("S", aff(0)),)),))))
    assert Schedule.parse(schedule.to_isl()).domain.space.dims == ("i",)


def test_parameters_that_no_text_can_say_get_others_throughout():
    domain = Set("[n] -> { S[i] : 0 <= i < n }")
    called = Set._of(("exists",), domain.parts)
    member = Member((("S", var("i") + var("exists")),), name="blockIdx.x")
    schedule = Schedule(
        Domain(called, Band((member,), isolate=Set._of(("exists",), Set("[n] -> { [a] : a < n }").parts)))
    )
    for mapped in ("marks", "parameters"):
        again = Schedule.parse(schedule.to_isl(mapped=mapped))
        assert again.domain.param_names == ("iexists",)
        band = again.band(again.bands()[0])
        assert band.schedule("S") == (var("i") + var("iexists"),)
        assert band.isolate.param_names == ("iexists",)


ERRORS = {
    "an unknown key": (
        '{ domain: "{ S[] }", chidl: { mark: "a" } }',
        "unknown key 'chidl'",
        '{ domain: "{ S[] }", chidl: { mark: "a" } }\n                     ^',
        "did you mean 'child'?",
    ),
    "a brace too few": ('{ domain: "{ S[] }"', "expected ',' or '}'", '{ domain: "{ S[] }"\n                   ^', ""),
    "a quote too few": ('{ domain: "{ S[] } }', "this quote is never closed", '{ domain: "{ S[] } }\n          ^', ""),
    "a set that is none": (
        'domain: "{ S[i] : 0 <= i < 4 }"\nchild:\n  schedule: "[{ S[i] -> [(i + x)] }]"',
        "unknown name 'x'",
        'line 3:   schedule: "[{ S[i] -> [(i + x)] }]"\n                                      ^',
        "known: i",
    ),
    "a wrong indentation": (
        'domain: "{ S[] }"\n  child:\n    mark: "a"',
        "this key is indented deeper than those before it",
        "line 2:   child:\n          ^",
        "",
    ),
    "half of an expansion": (
        '{ domain: "{ S[] }", child: { expansion: "{ S[] -> T[] }" } }',
        "an expansion node has a contraction and an expansion",
        None,
        "",
    ),
    "no domain": ('{ mark: "a" }', "a tree begins with its domain, not with 'mark'", '{ mark: "a" }\n  ^', None),
    "a second domain": (
        '{ domain: "{ S[] }", child: { domain: "{ T[] }" } }',
        "a domain stands at the root alone",
        None,
        None,
    ),
    "two kinds at once": (
        '{ domain: "{ S[] }", mark: "a" }',
        "a node is a 'domain' or a 'mark', not both",
        '{ domain: "{ S[] }", mark: "a" }\n                     ^',
        "nest them by child:",
    ),
    "an attribute of another": (
        '{ domain: "{ S[] }", permutable: 1 }',
        "a 'domain' node has no 'permutable'",
        None,
        "it belongs to a schedule",
    ),
    "two expressions at once": (
        '{ domain: "{ S[i] }", child: { schedule: "[{ S[i] -> [(i)] : i < 3; S[i] -> [(0)] : i > 1 }]" } }',
        "two expressions for an instance of S: i; 0",
        None,
        "",
    ),
    "a partial expression": (
        '{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)] : i < 2 }]" } }',
        "the expression for S does not cover its instances",
        None,
        "",
    ),
    "an unknown statement": (
        '{ domain: "{ Sum[] }", child: { sequence: [ { filter: "{ Sun[] }" } ] } }',
        "no statement is called Sun",
        None,
        "did you mean 'Sum'?",
    ),
    "a statement of another space": (
        '{ domain: "{ S[i] : i = 0 }", child: { filter: "{ S[i, j] }" } }',
        "the statement is S[i], not S[i, j]",
        None,
        "",
    ),
    "flags too few": (
        '{ domain: "{ S[] }", child: { schedule: "[{ S[] -> [(0)] }, { S[] -> [(1)] }]", coincident: [ 1 ] } }',
        "1 flag for 2 members",
        None,
        "",
    ),
    "an option unknown to us": (
        '{ domain: "{ S[] }", child: { schedule: "[{ S[] -> [(0)] }]", options: "{ speed[0] }" } }',
        "the option speed[i0] is not supported",
        None,
        "known: isolate[[...] -> [...]], atomic[k], separate[k], unroll[k], [isolate[] -> unroll[k]]",
    ),
    "a child that is no filter": (
        '{ domain: "{ S[] }", child: { sequence: [ { mark: "a" } ] } }',
        "the children of a sequence or set are filters, not a 'mark'",
        None,
        "",
    ),
    "a name for two things": (
        '{ domain: "{ S[i] : i = 0 }", child: { schedule: "[i] -> [{ S[j] -> [(i + j)] }]" } }',
        "i is a parameter and an iterator",
        None,
        "",
    ),
    "an expression of nothing": (
        '{ domain: "{ S[] }", child: { schedule: "[{ -> [(0)] }]" } }',
        "expected 'S[i, j] -> [(expression)]'",
        None,
        "",
    ),
    "an option of no member": (
        '{ domain: "{ S[] }", child: { schedule: "[{ S[] -> [(0)] }]", options: "{ unroll[1] }" } }',
        "unroll is said of no member: the band has 1, the first is 0",
        None,
        "",
    ),
    "an option of a part that has no name": (
        '{ domain: "{ S[] }", child: { schedule: "[{ S[] -> [(0)] }]", options: "{ [tiles[] -> unroll[x]] }" } }',
        "the option [tiles[] -> unroll[x]] is not supported",
        None,
        "known: isolate[[...] -> [...]], atomic[k], separate[k], unroll[k], [isolate[] -> unroll[k]]",
    ),
    "the notation for readers": (
        "DOMAIN: S[i] : 0 ≤ i ≤ 3",
        "unknown key 'DOMAIN'",
        "DOMAIN: S[i] : 0 ≤ i ≤ 3\n^",
        "that is how trees are printed for readers; to_isl() writes what is read here",
    ),
    "nothing": ("", "expected a tree", None, None),
    "more than a tree": (
        '{ domain: "{ S[] }" } }',
        "expected the end of the tree",
        '{ domain: "{ S[] }" } }\n                      ^',
        "",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_text_that_is_no_tree_is_shown_with_a_caret(name):
    text, message, where, hint = ERRORS[name]
    with pytest.raises(TreeSyntaxError) as caught:
        Schedule.parse(text)
    assert caught.value.message == message
    assert "^" in caught.value.where
    assert where is None or caught.value.where == where
    assert hint is None or caught.value.hint == hint


@settings(max_examples=150)
@given(
    st.sampled_from([text for flow, block, _ in PRINTED.values() for text in (flow, block)]),
    st.integers(0, 2000),
    st.integers(0, 12),
    st.sampled_from(["", "{", "}", "[", "]", ",", ":", '"', "\n", "  ", "- ", "child: ", "leaf", "S", "0", "->", "#"]),
)
def test_a_damaged_text_is_a_tree_or_one_of_our_errors(text, at, cut, put):
    at %= len(text)
    try:
        schedule = Schedule.parse(text[:at] + put + text[at + cut :])
    except (TreeSyntaxError, BadSchedule) as refused:
        assert refused.where
    else:
        schedule.check_structure()


def test_texts_of_several_lines():
    two = Schedule.parse('domain: "{ S[i] : \\\n  0 <= i < 4 }"\nchild:\n  mark: "a\n  b"')
    assert two == tree("{ S[i] : 0 <= i < 4 }", Mark("a   b"))


def test_mapped_members_are_told_in_two_ways():
    with pytest.raises(BadArgument, match="by marks or by parameters, not by 'mark'") as caught:
        tree("{ S[] }").to_isl(mapped="mark")
    assert caught.value.hint == "did you mean 'marks'?"


def test_a_tree_that_is_no_schedule_is_read_when_asked():
    text = '{ domain: "{ S[]; T[] }", child: { sequence: [ { filter: "{ S[] }" } ] } }'
    with pytest.raises(BadSchedule, match=r"no child of the sequence has T\[\]"):
        Schedule.parse(text)
    assert isinstance(Schedule.parse(text, check=False).node((0,)), Sequence)


@pytest.mark.parametrize(
    "option", ["atomic[x] : 1 = 0", "separate[x] : x < 0 < x", "unroll[0] : 1 = 0", "[isolate[] -> unroll[x]] : 1 = 0"]
)
def test_an_option_that_is_said_of_nothing_says_nothing(option):
    band = 'schedule: "[{ S[i] -> [(i)] }]"'
    text = f'{{ domain: "{{ S[i] : 0 <= i < 4 }}", child: {{ {band}%s }} }}'
    assert Schedule.parse(text % f', options: "{{ {option} }}"') == Schedule.parse(text % "")


def test_bands_have_names():
    """pet names the tuple of every band."""
    text = """domain: "[n] -> { S[i] : 0 <= i < n; T[i, j] : 0 <= i, j < n }"
child:
  schedule: "[n] -> L_0[{ S[i] -> [(i)]; T[i, j] -> [(i)] }]"
  child:
    sequence:
    - filter: "[n] -> { S[i] }"
    - filter: "[n] -> { T[i, j] }"
      child:
        schedule: "L_1[{ T[i, j] -> [(j)] }]"
"""
    tree = Schedule.parse(text)
    assert [tree.band(at).name for at in tree.bands()] == ["L_0", "L_1"]
    assert 'schedule: "[n] -> L_0[{ S[i] -> [(i)]; T[i, j] -> [(i)] }]"' in tree.to_isl(block=True)
    assert Schedule.parse(tree.to_isl()) == tree
    assert str(tree) == str(Schedule.parse(text.replace("L_0", "").replace("L_1", "")))
    empty = '{ domain: "{ S[] }", child: { schedule: "%s" } }'
    for none in ("L_0[]", "[]", "(L_0[] : { S[] })", "[n] -> L_0[]"):
        assert Schedule.parse(empty % none).root == Schedule.parse('{ domain: "{ S[] }" }').root, none
    with pytest.raises(BadSchedule, match="the name of a band is one word"):
        Band(tree.band((0,)).members, name="L 0")
