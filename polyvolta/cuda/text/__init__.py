"""From the kernel IR to CUDA C++: control, expressions, names; `head` has its first lines, `helpers` device functions."""
