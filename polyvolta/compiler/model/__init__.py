"""A model of what a kernel takes: parts of a launch's time from a tiling, the sizes and a chip's data.

    predict, predict_all, Cost     what one tiling, or a table of them, is predicted to take
    rank                           a graph's tilings at given sizes, the fastest first
    candidates                     which ones there are

`docs/model.md` tells what is counted, what was fitted, and how well it orders tilings.
"""

from polyvolta.compiler.model.candidates import candidates as candidates
from polyvolta.compiler.model.columns import columns_of as columns_of
from polyvolta.compiler.model.cost import Cost as Cost
from polyvolta.compiler.model.cost import predict as predict
from polyvolta.compiler.model.cost import predict_all as predict_all
from polyvolta.compiler.model.ranking import rank as rank
