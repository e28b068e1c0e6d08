"""Integer programming on rows: tableaux, emptiness, samples, parametric optima. Knows rows, no sets."""
