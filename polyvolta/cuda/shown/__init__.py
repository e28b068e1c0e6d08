"""How what is of CUDA shows itself: targets and what they multiply with, the kernel IR, traces."""
