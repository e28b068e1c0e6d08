"""Functions of elements: formulas, the table of pointwise functions, users' own functions, and what they mean."""
