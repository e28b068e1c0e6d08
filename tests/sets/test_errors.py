"""Errors: what they say, and that they survive a pickle on their way out of a worker process."""

import copy
import pickle

import pytest

from polyvolta.cuda.errors import CompileFailed, CompilerMissing
from polyvolta.sets.errors import PolyvoltaError, UnknownName, nearest


def test_str_has_id_message_place_and_hint():
    error = PolyvoltaError("no such thing", where="line 1\nline 2", hint="try another")
    assert str(error) == "[PV000] no such thing\n  line 1\n  line 2\nhint: try another"
    assert str(PolyvoltaError("bad")) == "[PV000] bad"


@pytest.mark.parametrize("way", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    "error",
    [
        PolyvoltaError("bad"),
        UnknownName("no 'x'", where="a, b", hint="did you mean 'a'?"),
        CompilerMissing("no NVRTC", hint="install it"),
        CompileFailed("two errors", where="1 | x", hint="see .log", log="all of it"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_errors_pickle_with_all_that_they_say(error, way):
    again = way(error)
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert again.args == error.args


def test_the_nearest_name_or_all_of_them():
    assert nearest("lexmn", ["lexmin", "apply"]) == "did you mean 'lexmin'?"
    assert nearest("zzz", ["lexmin", "apply"]) == "known: lexmin, apply"
    assert nearest("zzz", []) == ""
