"""Loops in the notation of C: expressions, conditions, and whole loops; Python's expressions beside them."""
