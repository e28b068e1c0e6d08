"""From CUDA C++ text to a run on the GPU: compilers, caches, launches, device memory."""
