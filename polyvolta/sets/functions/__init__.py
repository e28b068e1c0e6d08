"""Piecewise quasi-affine functions."""
