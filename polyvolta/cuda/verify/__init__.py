"""Proofs about a kernel: what is shown (`report`), the kernel run on symbols (`machine`), one module a kind of proof."""
