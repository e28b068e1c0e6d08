"""Transformations of statements' order: sequences made, hoisted, sunk, distributed, fused, reordered, pipelined."""
