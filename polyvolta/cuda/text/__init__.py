"""From the kernel IR to CUDA C++: control, expressions, names; first lines in `head`, device functions in `helpers`."""
