"""From the kernel IR to CUDA C++: control, expressions, names; `helpers` has the device functions."""
