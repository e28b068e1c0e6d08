"""Loops from schedule trees: the AST, its generation, and C, Python and runs of it."""
