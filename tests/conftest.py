"""Hypothesis: no deadlines, since machines differ; in CI the same examples in every run. No cache outside of tests.

Kernels for which a test names no target are sm_70's, whatever GPU is there.

Tests with many parameters whose every case takes long are sampled: of those listed in `SAMPLED` every n-th case runs,
with `--whole` all of them.
"""

import os
from collections import Counter

import pytest
from hypothesis import settings

from polyvolta.cuda import arch

arch._driver = lambda: None

settings.register_profile("polyvolta", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("polyvolta")
os.environ.setdefault("POLYVOLTA_CACHE_SIZE", "0")  # tests of the cache itself switch it on in folders of their own

SAMPLED = {
    "cuda/mutants/test_rings.py": 4,
    "cuda/build/test_async_rings.py": 3,
    "compiler/test_mixed_loops.py": 3,
    "compiler/test_whole_pieces.py": 2,
    "cuda/host/test_kernels_on_host.py": 2,
    "cuda/host/test_broken_kernels.py": 2,
    "cuda/text/test_printed_body.py": 2,
    "cuda/text/test_names.py": 2,
    "cuda/layouts/test_matrix_fragments.py": 2,
    "cuda/target/test_widths.py": 2,
    "cuda/verify/engine/test_fills.py": 2,
    "cuda/machine/test_copies.py": 2,
}
"""File -> of how many cases of a test one runs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="all cases of tests that are otherwise sampled")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every n-th case of the tests in sampled files; a test with fewer cases than that runs once."""
    if config.getoption("--whole"):
        return
    seen: Counter[str] = Counter()
    kept, left = [], []
    for item in items:
        step = next((n for file, n in SAMPLED.items() if item.path.as_posix().endswith(f"tests/{file}")), 1)
        name = item.nodeid.partition("[")[0]
        (left if seen[name] % step else kept).append(item)
        seen[name] += 1
    items[:] = kept
    if left:
        config.hook.pytest_deselected(items=left)
