"""Functions of C written as nests of Python: types, expressions, statements."""
