"""The texts of a kernel's device functions, one module for each kind of operation."""
