"""The mutants that take instructions of Turing, Ampere or Hopper, blocks in groups or of several tiles, operands that
warpgroups compute on the way, by name."""

from polyvolta.cuda.mutants import blocks, boxes, rings, roles, transfers
from polyvolta.cuda.mutants.engines import clusters, grids, prologues, tiles

AMPERE = {m.name: m for module in (rings, transfers, blocks) for m in module.MUTANTS}
BOXES = {m.name: m for m in boxes.MUTANTS}
ROLES = {m.name: m for m in roles.MUTANTS}
TILES = {m.name: m for m in (*tiles.MUTANTS, *grids.MUTANTS)}
CLUSTERS = {m.name: m for m in clusters.MUTANTS}
PROLOGUES = {m.name: m for m in prologues.MUTANTS}
