"""Least and greatest points and values of relations, and how far they reach."""
