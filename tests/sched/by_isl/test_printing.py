"""Loops that a user's functions print, in part: texts as isl prints them."""

import pytest

import polyvolta.isl as isl
from polyvolta.sched.errors import BadArgument

TIMES = isl.UnionMap("{ S[i, j] -> [i, j] : 0 <= i, j < 4; T[i] -> [5, i] : 0 <= i < 3 }")
LOOPS = isl.AstBuild.alloc().node_from_schedule_map(TIMES)
NESTED = isl.AstBuild.alloc().node_from_schedule_map(isl.UnionMap("{ S[i, j] -> [i, j] : 0 <= i, j < 4 }"))


def printed(node, for_=None, user=None, indent=0):
    options = isl.AstPrintOptions.alloc(isl.DEFAULT_CONTEXT)
    if for_:
        options, _ = options.set_print_for(for_)
    if user:
        options, _ = options.set_print_user(user)
    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_output_format(isl.format.C).set_indent(indent)
    return node.print_(printer, options).get_str()


def test_without_functions_it_is_the_text():
    assert printed(LOOPS) == LOOPS.to_C_str()
    assert printed(NESTED, indent=3) == "".join(f"   {line}\n" for line in NESTED.to_C_str().splitlines())


def test_functions_write_statements_and_loops():
    seen = []

    def user(printer, options, node):
        assert printer.get_output_format() == isl.format.C
        seen.append(node.user_get_expr().to_C_str())
        return printer.start_line().print_str("<user>").end_line()

    def loop(printer, options, node):
        seen.append(node.for_get_iterator().get_id().name)
        return node.for_get_body().print_(printer.start_line().print_str("LOOP").end_line(), options)

    only_users = "  for (int c0 = 0; c0 <= 3; c0 += 1)\n    for (int c1 = 0; c1 <= 3; c1 += 1)\n      <user>\n"
    only_users += "  for (int c1 = 0; c1 <= 2; c1 += 1)\n    <user>\n"
    assert printed(LOOPS, user=user) == f"{{\n{only_users}}}\n"
    assert seen == ["S(c0, c1)", "T(c1)"]
    assert printed(LOOPS, loop) == "{\n  LOOP\n  LOOP\n  S(c0, c1);\n  LOOP\n  T(c1);\n}\n"
    del seen[:]
    assert printed(LOOPS, loop, user) == "{\n  LOOP\n  LOOP\n  <user>\n  LOOP\n  <user>\n}\n"
    assert seen == ["c0", "c1", "S(c0, c1)", "c1", "T(c1)"]


def test_a_loop_printed_by_itself_asks_for_those_inside():
    def loop(printer, options, node):
        name = node.for_get_iterator().get_id().name
        return node.for_print(printer.start_line().print_str(f"// {name}").end_line(), options)

    assert printed(NESTED, loop) == (
        "// c0\nfor (int c0 = 0; c0 <= 3; c0 += 1)\n  // c1\n  for (int c1 = 0; c1 <= 3; c1 += 1)\n    S(c0, c1);\n"
    )
    times = isl.UnionMap("{ S[i] -> [i, 0] : -2 <= i < 0; T[i] -> [i, 1] : -2 <= i < 0 }")
    two = isl.AstBuild.alloc().node_from_schedule_map(times)
    assert printed(two, loop) == "// c0\nfor (int c0 = -2; c0 < 0; c0 += 1) {\n  S(c0);\n  T(c0);\n}\n"


def test_macros_and_conditions():
    floors = isl.AstBuild.alloc().node_from_schedule_map(
        isl.UnionMap("[n, m] -> { S[i] -> [i] : 0 <= i < n and i < m }")
    )
    text = floors.print_macros(isl.Printer.to_str()).get_str()
    assert text == "#define min(x, y) ((y) < (x) ? (y) : (x))\n"
    assert NESTED.print_macros(isl.Printer.to_str()).get_str() == ""
    test = isl.AstBuild.alloc().node_from_schedule_map(isl.UnionMap("[n] -> { S[] -> [] : n > 3 }"))
    assert test.if_print(isl.Printer.to_str(), isl.AstPrintOptions.alloc()).get_str() == "if (n >= 4)\n  S();\n"


def test_what_gives_no_printer_back_is_refused():
    with pytest.raises(BadArgument, match="gives its printer back"):
        printed(NESTED, lambda printer, options, node: None)
    with pytest.raises(BadArgument, match="not 3"):
        isl.AstPrintOptions.alloc().set_print_user(3)
    with pytest.raises(BadArgument, match="of type for_"):
        NESTED.if_print(isl.Printer.to_str())


def test_loops_use_macros_of_isl_alone():
    """Programs that print loops define isl's floord, min and max, and no others."""
    text = "[M] -> { S[i] -> [i] : 0 <= i <= M - 5*floor(M/5) and 3*floor(i/3) + 1 < i }"
    node = isl.AstBuild.alloc().node_from_schedule_map(isl.UnionMap(text))
    assert "modd" not in node.to_C_str()
    macros = node.print_macros(isl.Printer.to_str()).get_str()
    assert {line.split("(")[0].removeprefix("#define ") for line in macros.splitlines()} <= {"floord", "min", "max"}


def test_words_of_python_are_names_in_c():
    """`in` was spelled `_in` in loops, and not in the expressions that a program puts beside them."""
    text = '{ domain: "[in] -> { S[i] : 0 <= i < in }", child: { schedule: "[{ S[i] -> [(i)] }]" } }'
    build = isl.AstBuild.from_context(isl.Set("[in] -> { : in > 0 }"))
    assert build.node_from_schedule(isl.Schedule(text)).to_C_str() == "for (int c0 = 0; c0 < in; c0 += 1)\n  S(c0);\n"
    assert build.expr_from_pw_aff(isl.PwAff("[in] -> { [(in + 3)] }")).to_C_str() == "in + 3"
