"""Schedule trees as text and pictures."""
