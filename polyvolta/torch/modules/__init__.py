"""Modules of torch as kernels: which operators there are (`table`), how one is read (`tracing`), what it becomes."""
