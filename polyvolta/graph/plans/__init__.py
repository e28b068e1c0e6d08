"""A graph as what a kernel is made from: products, their prologues, pointwise steps."""
