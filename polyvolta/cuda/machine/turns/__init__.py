"""Whose turn it is: where roles stand, which tile of its own a block has."""
