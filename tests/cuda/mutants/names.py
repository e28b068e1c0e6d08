"""The mutants that take instructions of Turing or Ampere, or blocks in groups, by name."""

from polyvolta.cuda.mutants import blocks, rings, transfers

AMPERE = {m.name: m for module in (rings, transfers, blocks) for m in module.MUTANTS}
