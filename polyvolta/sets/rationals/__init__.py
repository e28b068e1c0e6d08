"""Sets of rational points: unions of polyhedra whose faces are there or not."""
