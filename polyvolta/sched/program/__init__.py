"""Programs: from relations, from a Python loop nest, from a graph."""

from polyvolta.sched.program.interpret import instances
from polyvolta.sched.program.model import Access, Program, Statement
from polyvolta.sched.program.nest import nest, nest_from_source

__all__ = ["Access", "Program", "Statement", "instances", "nest", "nest_from_source"]
