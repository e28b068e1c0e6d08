"""Counting points, for numbers and symbolically."""
