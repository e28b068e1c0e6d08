"""Tiles that come as boxes: k loops, their rings and roles, results in pieces."""
