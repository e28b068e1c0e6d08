"""The lockstep machine: thread blocks as numpy arrays (`machine`), and what each operation does to them."""
