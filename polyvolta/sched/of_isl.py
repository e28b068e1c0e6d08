"""isl's classes for schedules and loops that are none of this package: what an error about a name of the package says.

Read only when a name is missing.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from polyvolta.sched.by_isl import HOMES

CLASSES = (
    (
        "ScheduleNode* schedule_node_type",
        "a node is reached by its path in a tree, tree.node(path), tree.walk(); Band, Filter, Mark, ... are its kinds",
    ),
    (
        "ScheduleConstraints schedule_algorithm",
        "schedule(instances, validity=..., proximity=...), or schedule(program)",
    ),
    (
        "UnionAccessInfo AccessInfo Restriction",
        "dataflow(sinks, must, may=..., kills=..., order=...); of a program, dependences(program)",
    ),
    ("UnionFlow", "Flow, which dataflow gives"),
    (
        "AstBuild",
        "scan(tree) makes loops, to_c(scan(tree)) their text in C; options are Member.loop_type, Band.isolate",
    ),
    (
        "AstNode AstNodeList AstPrintOptions ast_node_type",
        "scan(tree).body is a tree of Python's values; to_c prints it",
    ),
    ("AstExpr AstExprList IdToAstExpr ast_expr_*", "expressions in loops are polyvolta.sets.Aff; to_c prints them"),
    ("ast_loop_type", "a text, as in set_loop_type(tree, at, 'unroll')"),
)
"""Names, and what is here."""


def of_module(name: str) -> str:
    """What an error says of a name that isl's module or `polyvolta.sets` has, or that is nearly one of here.

    >>> of_module("UnionFlow"), of_module("Set")
    ("; isl's UnionFlow is polyvolta.isl.UnionFlow; here: Flow, which dataflow gives", '; it is polyvolta.sets.Set')
    >>> of_module("schedul")
    '; did you mean schedule?'
    """
    for patterns, here in CLASSES:
        if any(fnmatchcase(name, p) for p in patterns.split()):
            where = f"polyvolta.isl.{name}; here" if name in HOMES else "not here"
            return f"; isl's {name} is {where}: {here}"
    from difflib import get_close_matches

    import polyvolta.sched as sched
    import polyvolta.sets as sets
    from polyvolta.sets.text import of_isl

    if hasattr(sets, name):
        return f"; it is polyvolta.sets.{name}"
    said = of_isl.of_module(name)
    if said and sched.__name__ not in said:  # patterns for what would be here fit what isl hasn't, too
        return said
    close = get_close_matches(name, sched.__all__, n=1)
    return f"; did you mean {close[0]}?" if close else ""
