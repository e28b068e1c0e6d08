"""Proofs about a kernel: what is shown (`report`), the kernel run on symbols (`symbolic`), and one module a kind of proof."""
