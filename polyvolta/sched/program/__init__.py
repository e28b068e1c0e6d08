"""Programs: from relations, from a Python loop nest, from a graph."""

from polyvolta.sched.program.model import Access, Program, Statement

__all__ = ["Access", "Program", "Statement"]
