"""Hypothesis: no deadlines, since machines differ; in CI the same examples in every run."""

import os

from hypothesis import settings

settings.register_profile("polyvolta", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("polyvolta")
