"""isl's names of functions, of several tuples too, and of what is divided."""
