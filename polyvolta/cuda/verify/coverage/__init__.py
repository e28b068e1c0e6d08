"""What a kernel covers: its arguments, its schedule's instances, each tile, each element of a result."""
