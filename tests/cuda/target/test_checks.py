"""What is no target, instruction or composition is refused where it is written, by the field's name and with a hint."""

from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.cuda.target import WARP, BadTarget, Composition, IndexMap, Interleave, Scope, owned
from polyvolta.cuda.target.macro_mma import BadComposition
from polyvolta.cuda.target.registry import Targets
from polyvolta.sets import aff, var
from tests.cuda import ampere
from tests.cuda.ampere import GROUP, M16N8K8, M16N8K16, THREAD, I

WIDE = ampere.COMPOSITIONS["128"]
SM_80 = ampere.target(WIDE)
PLAIN = Interleave(ampere.R4, ampere.R3, ampere.R3)
LANE = var("lane")


def refused(kind, words, make, *args, **fields):
    """That making it of these raises just that error, with words in its message and a hint."""
    with pytest.raises(kind, match=words) as found:
        make(*args, **fields)
    assert type(found.value) is kind and found.value.hint
    return found.value


# ---- fields


@pytest.mark.parametrize(
    ("field", "values", "words"),
    [
        ("name", (75, None, "ampere", "sm_80 ", b"sm_80"), "no name that the compiler has"),
        ("grid", (5, None, (0, 0, 0), (1, 2), (1, 1, 1.0)), "no three positive ints"),
        ("spare", (None, 30, (30, 8), (30, -1, 3)), "no three ints that are not negative"),
        ("spare_formulas", (None, 14, (14, 4), (14, 4, -1)), "no three ints that are not negative"),
        ("spare_copies", (None, 16, (16, 2, 0), (16, -1)), "no two ints that are not negative"),
        ("block_tile", ((0, 0, 0), None, 128, [128, 128], "128x128x32"), "no three positive ints"),
        ("macro_mmas", (WIDE, None, (M16N8K16,), "m16n16k32", [M16N8K16]), "no tuple of Compositions"),
        *(
            (limit, (0, -1, True, None, 1.5, "1024"), "no positive int")
            for limit in ("threads", "registers", "block_registers", "shared_bytes", "multiprocessors", "warp_side")
        ),
    ],
)
def test_fields_of_a_target(field, values, words):
    for value in values:
        found = refused(BadTarget, f"^.PV519. {field} is .*{words}", replace, SM_80, **{field: value})
        assert f"for example {field}=" in found.hint


@pytest.mark.parametrize(
    ("field", "values", "words"),
    [
        ("shape", (None, (16.0, 8, 8), (16, 8), (16, 8, 0), 16), "no three positive ints"),
        ("layouts", (("column", "rows"), ("row",), None, "row", ("row", None)), "no two layouts"),
        ("types", (("s8",), None, "f16", (16, 16, 32)), "no three element types"),
        ("scope", ("warp", None), "no scope"),
        ("a", (None, "x", 5), r"no ownership map \{ \[lane, i\] -> \[row, k\] \}"),
        ("d", (None,), r"no ownership map \{ \[lane, i\] -> \[row, col\] \}"),
        ("slots", (0, -1, True, None, 1.0), "no positive int"),
    ],
)
def test_fields_of_an_instruction(field, values, words):
    for value in values:
        refused(BadTarget, f"^.PV519. {field} is .*{words}", replace, M16N8K8, **{field: value})


@pytest.mark.parametrize(
    "given",
    [(M16N8K8, PLAIN), ((1,), PLAIN), (None, PLAIN), ("mma", PLAIN), ((M16N8K8,), None), ((M16N8K8,), PLAIN.sides)],
    ids=lambda given: "".join(type(x).__name__ for x in given),
)
def test_fields_of_a_composition(given):
    refused(BadComposition, "no (tuple of Instructions|Interleave)", Composition, *given)


def test_a_forgotten_comma_is_shown():
    assert "(mma,), with the comma" in refused(BadComposition, "instructions", Composition, M16N8K8, PLAIN).hint
    assert "(macro,), with the comma" in refused(BadTarget, "macro_mmas", replace, SM_80, macro_mmas=WIDE).hint


@pytest.mark.parametrize("bits", [(0, 1, 2), "", None, 5, "r0", ("",), ("r",), ("x0",), ("r-1",), (None,)], ids=repr)
def test_bits_of_an_interleave(bits):
    for side in ("rows", "cols", "ks"):
        refused(BadComposition, f"{side} is .*no tuple of bits", replace, PLAIN, **{side: bits})


def test_lists_are_tuples():
    listed = Interleave(*(list(bits) for bits in WIDE.interleave.sides))
    assert listed == WIDE.interleave and hash(listed) == hash(WIDE.interleave)
    instruction = replace(M16N8K16, shape=[16, 8, 16], layouts=["row", "col"], types=["f16", "f16", "f32"])
    assert instruction == M16N8K16
    target = replace(SM_80, macro_mmas=[Composition([instruction], listed)], block_tile=[128, 128, 32],
                     grid=list(SM_80.grid), spare=list(SM_80.spare))  # fmt: skip
    assert target == SM_80 and Targets().register(target) is target


# ---- maps


@pytest.mark.parametrize(("count", "words"), [("4", "'4' values"), (0, "0 values"), (True, "True"), (None, "None")])
def test_a_lane_has_a_number_of_values(count, words):
    refused(BadTarget, f"a lane has {words}.* no positive int", owned, count, row=GROUP, k=THREAD)


def test_an_ownership_map_leads_from_lane_and_value_to_somewhere():
    refused(BadTarget, "without outputs", owned, 4)
    refused(BadTarget, "depends on group", owned, 4, row=var("group"), k=I)
    other = IndexMap((("thread", 32), ("i", 2)), (("k", 2 * var("thread") % 8), ("col", var("thread") // 4)))
    refused(BadTarget, "map of b is no function of lane < 32 and i", replace, M16N8K8, b=other)
    few = IndexMap((("lane", 16), ("i", 2)), M16N8K8.b.outputs)
    refused(BadTarget, "map of b is no function of lane < 32 and i", replace, M16N8K8, b=few)
    strange = IndexMap(M16N8K8.b.inputs, (("k", var("z")), ("col", GROUP)))
    refused(BadTarget, "map of b depends on z", replace, M16N8K8, b=strange)


def test_outputs_are_told_apart_by_name():
    """In another order they are the same map; with other names they are none."""
    assert replace(M16N8K8, b=owned(2, col=GROUP, k=2 * THREAD + I)) == M16N8K8
    for operand, names in (("a", "row and k"), ("b", "k and col"), ("d", "row and col")):
        own = getattr(M16N8K8, operand)
        turned = IndexMap(own.inputs, own.outputs[::-1])
        assert replace(M16N8K8, **{operand: turned}) == M16N8K8
        for wrong in (("foo", "bar"), ("row", "row"), (own.outputs[0][0],), ("row", "col", "k")):
            foreign = IndexMap(own.inputs, tuple(zip(wrong, (*own.exprs, aff(0)))))
            found = refused(BadTarget, f"the map of {operand} leads to .*, not to {names}",
                            replace, M16N8K8, **{operand: foreign})  # fmt: skip
            assert "owned(values, " in found.hint


def test_scopes_are_numbered_groups():
    unit = lambda e: IndexMap((("lane", 32),), (("unit", aff(e)),))  # noqa: E731
    assert Scope("half", unit(LANE // 16)).units == 2
    refused(BadTarget, "numbered 1", Scope, "warp", unit(1))
    refused(BadTarget, "numbered -1, 0", Scope, "half", unit(LANE // 16 - 1))
    refused(BadTarget, "unit is 4, no map", Scope, "quad", 4)
    lanes = IndexMap((("lane", 32),), (("lanes", LANE),))
    refused(BadTarget, "leads to lanes, not to unit", Scope, "quad", lanes)
    thirds = Scope("part", unit(LANE // 11))
    refused(BadComposition, "units = 3, no power of 2",
            Composition, (replace(M16N8K8, scope=thirds),), PLAIN)  # fmt: skip
    assert WARP.units == 1


# ---- what only registering sees


def test_registers_hold_pairs_of_values():
    """B of 16x8x4 would be one fp16 value a lane, half a register."""
    odd = replace(M16N8K8, shape=(16, 8, 4), a=owned(2, row=GROUP + 8 * I, k=THREAD), b=owned(1, k=THREAD, col=GROUP))
    composition = Composition((odd,), Interleave(ampere.R4, (*ampere.R3, "s0"), ("r0", "r1")))
    refused(BadTarget, "a lane has 1 values of B, and registers hold 16-bit values in pairs",
            lambda: Targets().register(ampere.target(composition)))  # fmt: skip


def test_asking_for_what_is_no_name():
    for name in ([], {}, None, 75, "sm_1"):
        assert pv.targets.get(name) is None and pv.targets.get(name, SM_80) is SM_80 and name not in pv.targets


@pytest.mark.parametrize("part", [None, 1.5, [], (1,), (("lane",),), ((1, 32),), (("lane", None),)])
def test_a_map_of_anything_is_no_index_map(part):
    good = M16N8K16.a
    for wrong in (replace(good, inputs=part), replace(good, outputs=part)):
        with pytest.raises(BadTarget, match="no index map"):
            replace(M16N8K16, a=wrong)
