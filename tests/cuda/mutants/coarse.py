"""Arrays for runs that tell a mutant from the kernel it is of."""

import numpy as np

from polyvolta.compiler.kernel import Kernel


def arrays(kernel: Kernel, sizes: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Numbers on a coarse grid, so that sums are exact.

    Parameters
    ----------
    sizes : M, N and K, and L of kernels that have it.
    """
    rng, numbers, found = np.random.default_rng(0), dict(zip("MNKL", sizes)), {}
    for t in kernel.graph.inputs:
        values = (rng.integers(-8, 9, [numbers[str(d)] for d in t.dims]) / 8).astype(np.float16)
        found[t.name] = np.asfortranarray(values) if t.layout == "col" else values
    return found
