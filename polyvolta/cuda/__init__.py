"""From schedule trees to tensor-core kernels: targets, macro-MMAs, promotion, the kernel IR and its readers."""
