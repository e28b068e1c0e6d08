"""Names of packages that are imported when they are first used (PEP 562): `import polyvolta.sched` reads no room."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def homes(names: Mapping[str, str]) -> dict[str, str]:
    """By name the module that it is from, of a table of modules and their names with blanks between.

    >>> homes({"loops.scan": "Scan scan"})
    {'Scan': 'loops.scan', 'scan': 'loops.scan'}
    """
    return {name: home for home, listed in names.items() for name in listed.split()}


def lazily(package: str, where: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`, of names and the modules in it that they are from."""
    found = vars(sys.modules[package])

    def __getattr__(name: str) -> object:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        value = getattr(import_module(f"{package}.{where[name]}"), name)
        found[name] = value  # the next look-up finds it here
        return value

    def __dir__() -> list[str]:
        modules = {n for n, v in found.items() if isinstance(v, ModuleType) and not n.startswith("_")}
        return sorted({*modules, *(n for n in found if n.startswith("__")), *where})

    return __getattr__, __dir__
