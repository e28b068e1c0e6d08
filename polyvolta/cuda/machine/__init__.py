"""A run of the kernel IR on numpy: threads in lockstep, their memories, steps; `observe` watches."""
