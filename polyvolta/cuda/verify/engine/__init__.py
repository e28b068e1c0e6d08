"""The kernel run once on symbols: the machine, its path conditions, and what its clients have in common."""
