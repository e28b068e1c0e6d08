"""Transformations of loops: members of bands tiled, split, joined, exchanged, skewed, reversed, scaled, shifted."""
