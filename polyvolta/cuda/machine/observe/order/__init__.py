"""What orders the accesses of a run: barriers alone, or phases, groups and fences too."""
