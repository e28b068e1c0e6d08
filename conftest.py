"""Examples that need what may be missing: torch's modules are no tests without it, others are skipped one by one."""

import shutil
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["polyvolta/torch/*"]

WITHOUT_COMPILER = not any(map(shutil.which, ("cc", "gcc", "clang")))
MISSING = {
    "polyvolta.sched.emit.processor.compile_c": "a C compiler" if WITHOUT_COMPILER else "",
    "polyvolta.sched.program.from_c.from_c": "" if find_spec("pycparser") else "pycparser",
    "polyvolta.sets.text.plot.plot_set": "" if find_spec("matplotlib") else "matplotlib",
}
"""What an example lacks here, by the name of its doctest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if missing := MISSING.get(item.name):
            item.add_marker(pytest.mark.skip(reason=f"the example needs {missing}"))
