"""Gradients of graphs, as graphs: what kernels of ours compute for them, and what is left to whoever calls these."""
