"""The docstrings of what users call: more than a summary, what it takes, what it raises, and an example that runs.

The examples run as the package's doctests. What is said elsewhere is referred to: "see `lexmin`".
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import polyvolta as pv
from polyvolta.compiler.kernel import Kernel
from polyvolta.compiler.variants.kernels import VariedKernel
from polyvolta.cuda.target.registry import Targets
from polyvolta.cuda.target.target import Target
from polyvolta.graph import Graph

NEEDS_GPU = {"pv.tune", "Kernel.bind", "Kernel.loaded", "Kernel.compiled", "Kernel.device_function"}
"""Whose examples don't run everywhere: they need a GPU, numba-cuda or NVRTC."""

SEE = re.compile(r"(?:[Ss]ee|those of) `([\w.]+)`")


def public() -> dict[str, Any]:
    """By path every function and method that a documented name leads to, each once, and these classes themselves."""
    found: dict[Any, str] = {}
    classes = {"Kernel": Kernel, "VariedKernel": VariedKernel, "Targets": Targets, "Target": Target, "Graph": Graph}
    for room, module in {"pv": pv, "pv.sets": pv.sets, "pv.sched": pv.sched, "pv.pictures": pv.pictures}.items():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                classes[f"{room}.{name}"] = value
            elif callable(value) and inspect.isfunction(inspect.unwrap(value)):
                found.setdefault(inspect.unwrap(value), f"{room}.{name}")
    for path, cls in classes.items():
        if not issubclass(cls, BaseException):
            found.setdefault(cls, path)
            for name, f in methods(cls):
                found.setdefault(f, f"{path}.{name}")
    return {path: value for value, path in found.items()}


def methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods of a class that are the package's own; properties speak for themselves."""
    for name in dir(cls):
        f = inspect.getattr_static(cls, name)
        f = f.__func__ if isinstance(f, classmethod | staticmethod) else f
        if not name.startswith("_") and callable(f) and inspect.isfunction(f := inspect.unwrap(f)):
            if f.__module__.startswith("polyvolta"):
                yield name, f


def lacking(value: Any, known: frozenset[str]) -> Iterator[str]:
    """What a docstring doesn't say, nor one of those `known` that it refers to."""
    doc = vars(value).get("__doc__") if inspect.isclass(value) else inspect.getdoc(value)
    doc = doc or ""
    elsewhere = any(name.rpartition(".")[2] in known or name.startswith("polyvolta.") for name in SEE.findall(doc))
    if len(doc.strip().splitlines()) < 2 and not elsewhere:
        yield "summary"
    if ">>> " not in doc and not elsewhere:
        yield "example"
    if inspect.isclass(value):
        return
    said = ("self", "cls", "schedule", "at") if "sched.passes" in value.__module__ else ("self", "cls")
    names = [p for p in inspect.signature(value).parameters if p not in said]  # `polyvolta.sched.passes` says the two
    if not elsewhere and not all(re.search(rf"\b{name}\b", doc) for name in names):
        yield "parameters"
    raised = set(re.findall(r"^\s+raise (\w+)\(", inspect.getsource(value), re.M))
    if not elsewhere and "Raises" not in doc and not all(f"`{name}`" in doc for name in raised):
        yield "errors"


def test_docstrings_of_what_users_call() -> None:
    api = public()
    assert len(api) > 400
    known = frozenset(path.rpartition(".")[2] for path in api)
    left = [(path, what) for path, value in api.items() for what in lacking(value, known)]
    left = [(path, what) for path, what in left if what != "example" or path not in NEEDS_GPU]
    assert not left, "\n".join(f"{path} lacks: {what}" for path, what in left)
