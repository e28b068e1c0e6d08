"""Every schedule tree between the graph and the kernel."""

import polyvolta as pv

M, N, K = pv.sizes("M N K")
kernel = pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col"), target="sm_70")

for name, tree in kernel.stages.items():
    print(f"{name}\n{tree}\n")
