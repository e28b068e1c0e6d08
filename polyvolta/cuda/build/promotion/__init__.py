"""Memory promotion: the copies between global memory, shared memory and registers enter the tree."""
