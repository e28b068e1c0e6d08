"""From a graph to a kernel: options and their choice, the list of passes, stages; kernels, their arguments and runs."""
