import functools
import gc

import pytest


@pytest.fixture
def shared_loops(monkeypatch):
    """Loops as the rules have them that cut shared ones one by one: never all of them cut (`weighing.cells`)."""
    monkeypatch.setattr("polyvolta.sched.loops.scan.dense", lambda *_: False)


@pytest.fixture
def nothing_remembered():
    """No function of the package remembers what was asked before: searches of few steps get as far in any order."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and (found.__module__ or "").startswith("polyvolta"):
            found.cache_clear()
