"""isl's objects for schedules and loops, by isl's names, for programs that were written for isl; see `polyvolta.isl`.

They hold trees, relations and loops of this package and call its functions: nothing is computed here.
"""

HOMES = {
    **dict.fromkeys(("ast_expr_op_type", "ast_expr_type", "ast_loop_type", "ast_node_type"), "kinds"),
    **dict.fromkeys(("bound", "format", "on_error", "schedule_algorithm", "schedule_node_type", "stat"), "kinds"),
    "yaml_style": "kinds",
    **dict.fromkeys(("UnionAccessInfo", "UnionFlow"), "flow"),
    "AstBuild": "ast.build",
    "AstExpr": "ast.expressions",
    "AstNode": "ast.nodes",
    **dict.fromkeys(("AstPrintOptions", "Printer"), "ast.printing"),
    "ScheduleConstraints": "constraints",
    "Schedule": "schedule",
    "ScheduleNode": "node",
}
"""By isl's name the module of this room that has it."""
