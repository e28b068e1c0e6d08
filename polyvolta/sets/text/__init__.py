"""Notation: from isl's text to relations and back."""
