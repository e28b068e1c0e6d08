"""How a compilation shows itself: its options and why, its stages one by one, and a kernel as a page."""
