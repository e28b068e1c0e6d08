"""Proofs about a kernel: what is shown (`report`), the kernel run on symbols (`machine`), a module a kind of proof."""
