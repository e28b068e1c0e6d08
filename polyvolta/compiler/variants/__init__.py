"""Kernels for ranges of sizes: one tiling that is good over them, or several and a rule of choice."""
