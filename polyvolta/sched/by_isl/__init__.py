"""isl's objects for schedules and loops, by isl's names, for programs that were written for isl; see `polyvolta.isl`.

They hold trees, relations and loops of this package and call its functions: nothing is computed here.
"""

HOMES = {
    **dict.fromkeys(("AstBuild", "AstNode", "ast_node_type"), "build"),
    **dict.fromkeys(("AstExpr", "ast_expr_op_type", "ast_expr_type"), "expressions"),
    **dict.fromkeys(("ScheduleNode", "ast_loop_type", "schedule_node_type"), "node"),
    **dict.fromkeys(("UnionAccessInfo", "UnionFlow"), "flow"),
    **dict.fromkeys(("Printer", "format", "yaml_style"), "printing"),
    "ScheduleConstraints": "constraints",
}
"""By isl's name the module of this room that has it."""
