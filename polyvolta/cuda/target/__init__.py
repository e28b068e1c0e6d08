"""Targets, instructions and the macro-MMAs composed from them, as data."""
