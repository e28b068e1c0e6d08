"""Finished loops in fewer words, which do the same and ask the same: what stands twice, and how loops count."""
