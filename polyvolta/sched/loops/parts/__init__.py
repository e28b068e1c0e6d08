"""Which parts of domains loops are made of: disjoint conjuncts, and pieces that are one where they run."""
