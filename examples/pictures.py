"""Every picture of a kernel, written to a folder: python examples/pictures.py [FOLDER]."""

import sys
from pathlib import Path

import polyvolta as pv
from polyvolta.cuda import pictures

M, N, K = pv.sizes("M N K")
product = pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")
kernel = pv.compile(product, target="sm_70", options=pv.Options(buffers=2))

drawn = {
    "instruction": pictures.instruction("row", "col"),  # the paper's first figure
    "ownership": pictures.ownership("m16n16k8", "row", "col"),  # and its second one
    "tile": pictures.shared_tile(kernel, "shared_A"),
    "access": pictures.shared_tile(kernel, "shared_A", "frag_A", warp=2),
    "unswizzled": pictures.shared_tile(kernel, "shared_A", "frag_A", warp=2, swizzled=False),
    "exchange": pictures.shared_tile(kernel, "exchange", "store"),
    "output": pictures.output_tiles(kernel, M=300, N=500),
    "pipeline": pictures.pipeline(kernel, tiles=3),
}

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "pictures")
folder.mkdir(exist_ok=True)
for name, picture in drawn.items():
    picture.save(folder / f"{name}.svg")
    print(f"{folder / name}.svg: {picture.size[0]} x {picture.size[1]} pixels")
