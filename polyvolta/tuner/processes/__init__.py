"""Processes of the tuner: those that make kernels, and those that hold a GPU; what may hang, hangs there."""
