"""Loops as C, and C as functions that Python can call."""
