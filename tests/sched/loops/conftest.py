import pytest


@pytest.fixture
def shared_loops(monkeypatch):
    """Loops as the rules have them that cut shared ones one by one: never all of them cut (`weighing.cells`)."""
    monkeypatch.setattr("polyvolta.sched.loops.scan.dense", lambda *_: False)
