"""Conjuncts: one conjunction of affine constraints, its normal form, implication, projection. Knows no relations."""
