"""Loops as Python."""
