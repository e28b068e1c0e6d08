"""Rows of the scanner: what is known of loop variables, the pieces of instances, and the bounds that follow."""
