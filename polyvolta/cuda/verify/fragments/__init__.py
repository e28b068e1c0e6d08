"""How fragments come and go: what matrix loads bring to lanes, and the runs of accumulators that need no exchange."""
