"""Roles over time: a run of one block under a simple clock, as lanes in words and as a picture."""
