"""Fewer constraints or fewer pieces: hulls, boxes, gist, coalescing."""
