"""GPUs as data: how fast each is; `chips` has them by name, `chip_of` says which one a kernel is made for."""

from polyvolta.cuda.target.chips.chip import BadChip as BadChip
from polyvolta.cuda.target.chips.chip import Chip as Chip
from polyvolta.cuda.target.chips.chip import Fitted as Fitted
from polyvolta.cuda.target.chips.known import chip_of as chip_of
from polyvolta.cuda.target.chips.known import chips as chips
from polyvolta.cuda.target.chips.known import is_named as is_named
