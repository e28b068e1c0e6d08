"""The kernel IR: operations and what each touches, walks over it, and whether an IR is one at all."""
