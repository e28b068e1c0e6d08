"""Arguments of another kind than the methods of lists, numbers, points and constraints are for."""

import pytest

import polyvolta.isl as isl
from polyvolta.sched import schedule
from polyvolta.sets import PolyvoltaError, Set

LINE = isl.Space("{ [i] }")
VALUES = isl.ValList("(1,2)")
BAND = (
    isl.Schedule('{ domain: "{ S[i] : 0 <= i < 4 }", child: { schedule: "[{ S[i] -> [(i)] }]" } }').get_root().child(0)
)

LOOP = isl.AstBuild.from_context(isl.Set("{ : }")).node_from_schedule(BAND.get_schedule())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: VALUES.foreach("x"), r"\[PV102\] ValList.foreach needs a function for f, not a str"),
        (lambda: VALUES.sort(3), "ValList.sort needs a function or None for order, not an int"),
        (lambda: isl.IdList("(a,b)").concat(None), "IdList.concat needs several values for other, not None"),
        (lambda: isl.MultiVal.zero(None), "MultiVal.zero needs a Space for space, not None"),
        (lambda: isl.MultiVal.from_val_list(LINE, None), "needs several values for numbers, not None"),
        (lambda: isl.Point.zero("{ [i] }"), "Point.zero needs a Space for space, not a str"),
        (lambda: isl.Constraint.equality_alloc("i"), "Constraint.equality_alloc needs a Space for space, not a str"),
        (lambda: isl.Constraint.eq_from_names(LINE, 5), "needs a dict for coefficients, not an int"),
        (lambda: LOOP.print_(None), "loops are printed by a Printer, not by None"),
        (lambda: LOOP.for_print(isl.Printer.to_str(isl.DEFAULT_CONTEXT), 3), "needs an AstPrintOptions or None"),
        (lambda: LOOP.print_macros("x"), "loops are printed by a Printer, not by a str"),
        (
            lambda: isl.ScheduleNode.from_extension(isl.Map("{ rat: [i] -> A[i] }")),
            "an extension needs a Map, not a Ra",
        ),
        (lambda: BAND.band_member_set_ast_loop_type(0, 7), r"\[PV310\] a loop is made by an ast_loop_type, not by 7"),
        (lambda: BAND.band_member_set_isolate_ast_loop_type(0, "unroll"), "by an ast_loop_type, not by 'unroll'"),
    ],
)
def test_the_error_says_which_kind_is_needed(call, message):
    with pytest.raises(PolyvoltaError, match=message):
        call()


def test_an_error_of_the_users_function_stands():
    with pytest.raises(ZeroDivisionError):
        VALUES.foreach(lambda v: v / 0)


@pytest.mark.parametrize("path", [(1, 2), (0, 0, 0), 5, None, (0, "x")])
def test_the_schedule_above_a_path_that_leads_nowhere(path):
    with pytest.raises(PolyvoltaError, match="PV301"):
        schedule(Set("{ S[i] : 0 <= i < 4 }")).prefix_schedule(path)
