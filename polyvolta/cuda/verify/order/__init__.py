"""Happens-before: the order of a kernel's statement instances, whatever the hardware does in its own time."""
