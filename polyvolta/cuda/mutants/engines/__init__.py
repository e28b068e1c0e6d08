"""Mutants of what engines and clusters of Hopper do."""
