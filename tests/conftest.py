"""Hypothesis: no deadlines, since machines differ; in CI the same examples in every run. No cache outside of tests.

Kernels for which a test names no target are sm_70's, whatever GPU is there.
"""

import os

from hypothesis import settings

from polyvolta.cuda import arch

arch._driver = lambda: None

settings.register_profile("polyvolta", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("polyvolta")
os.environ.setdefault("POLYVOLTA_CACHE_SIZE", "0")  # tests of the cache itself switch it on in folders of their own
