"""isl's classes for schedules and loops that are none here: what an error about a name of the package says.

Read only when a name is missing.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

CLASSES = (
    ("ScheduleNode* schedule_node_type",
     "a node is reached by its path in a tree, tree.node(path), tree.walk(); Band, Filter, Mark, ... are its kinds"),
    ("ScheduleConstraints schedule_algorithm",
     "schedule(instances, validity=..., proximity=...), or schedule(program)"),
    ("UnionAccessInfo AccessInfo Restriction",
     "dataflow(reads, writes, may=..., kills=..., order=...); of a program, dependences(program)"),
    ("UnionFlow", "Flow, which dataflow gives"),
    ("AstBuild",
     "scan(tree) makes loops, to_c(scan(tree)) their text in C; options are Member.loop_type, Band.isolate"),
    ("AstNode AstNodeList AstPrintOptions ast_node_type",
     "scan(tree).body is a tree of Python's values; to_c prints it"),
    ("AstExpr AstExprList IdToAstExpr ast_expr_*", "expressions in loops are polyvolta.sets.Aff; to_c prints them"),
    ("ast_loop_type", "a text, as in set_loop_type(tree, at, 'unroll')"),
)
"""Names, and what is here."""


def of_module(name: str) -> str:
    """What an error says of a name that isl's module has, or `polyvolta.sets`; "" of one that neither has.

    >>> of_module("UnionFlow"), of_module("Set"), of_module("Skedule")
    ("; isl's UnionFlow is not here: Flow, which dataflow gives", '; it is polyvolta.sets.Set', '')
    """
    for patterns, here in CLASSES:
        if any(fnmatchcase(name, p) for p in patterns.split()):
            return f"; isl's {name} is not here: {here}"
    import polyvolta.sets as sets
    from polyvolta.sets.text.of_isl import of_module

    return f"; it is polyvolta.sets.{name}" if name[:1].isupper() and hasattr(sets, name) else of_module(name)
