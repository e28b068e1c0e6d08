"""isl's methods of quasi-polynomials: of one on a space, of one by pieces, and of the greatest or least of several."""
