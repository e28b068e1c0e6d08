"""Examples that need what may be missing: torch's modules are no tests without it, others are skipped one by one.

Where nobody wants byte code beside the sources, it has a folder for the run, into which this process writes, too, what
its plugins import: two workers and a hundred processes of tests find it there. While this process alone imports what
it needs to start several workers, another one compiles the package: they would all begin with that.
"""

import linecache
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

if os.environ.get("PYTHONDONTWRITEBYTECODE") and sys.pycache_prefix is None:
    BYTE_CODE = TemporaryDirectory(prefix="byte-code-")
    del os.environ["PYTHONDONTWRITEBYTECODE"]
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = BYTE_CODE.name
    sys.dont_write_bytecode = False

COMPILED = ("polyvolta", "benchmarks", "examples")
PARALLEL = any(word.startswith(("-n", "--numprocesses")) and word != "-n0" for word in sys.argv)
COMPILING = None
if PARALLEL and "PYTEST_XDIST_WORKER" not in os.environ:
    COMPILING = subprocess.Popen([sys.executable, "-m", "compileall", "-qq", *COMPILED], cwd=Path(__file__).parent)

collect_ignore_glob = [] if find_spec("torch") else ["polyvolta/torch/*"]

WITHOUT_COMPILER = not any(map(shutil.which, ("cc", "gcc", "clang")))
MISSING = {
    "polyvolta.sched.emit.processor.compile_c": "a C compiler" if WITHOUT_COMPILER else "",
    "polyvolta.sched.program.from_c.from_c": "" if find_spec("pycparser") else "pycparser",
    "polyvolta.sets.text.plot.plot_set": "" if find_spec("matplotlib") else "matplotlib",
}
"""What an example lacks here, by the name of its doctest."""


def pytest_unconfigure() -> None:
    """The folder of byte code isn't taken away while somebody writes there."""
    if COMPILING is not None:
        COMPILING.terminate()
        COMPILING.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if missing := MISSING.get(item.name):
            item.add_marker(pytest.mark.skip(reason=f"the example needs {missing}"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before an example Python's doctest looks at every file of which lines are kept, whether it has changed: none."""
    if not isinstance(item, pytest.Function):
        linecache.clearcache()
