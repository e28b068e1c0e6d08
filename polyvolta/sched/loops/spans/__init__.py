"""The values that a loop runs over: which statements share it, whose turn comes first, where and whether it ends."""
