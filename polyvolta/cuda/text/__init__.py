"""From the kernel IR to CUDA C++: control, expressions, names; `head`, what a kernel begins with; `helpers`, the device functions."""
