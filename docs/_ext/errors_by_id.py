"""`.. errors-by-id::`, every error class of the package, by floor and id, with its docstring."""

from __future__ import annotations

import importlib
import pkgutil
from itertools import groupby
from typing import Any

from docutils.nodes import Node
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import polyvolta
from polyvolta.sets.errors import PolyvoltaError


def every_error() -> list[type[PolyvoltaError]]:
    """All of them, by id: what the modules that are called `errors`, and those that have some of their own, define."""
    for module in pkgutil.walk_packages(polyvolta.__path__, "polyvolta."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError as missing:  # a module for users of a library that isn't there
                if (missing.name or "polyvolta").partition(".")[0] == "polyvolta":
                    raise
    found, queue = {PolyvoltaError}, [PolyvoltaError]
    while queue:
        below = [c for c in queue.pop().__subclasses__() if c.__module__.startswith("polyvolta.")]
        found.update(below)
        queue += below
    return sorted(found, key=lambda c: c.id)


class ErrorsById(SphinxDirective):
    """A section for each floor, in it a class after the other."""

    def run(self) -> list[Node]:
        """The nodes of all sections."""
        lines = []
        for floor, classes in groupby(every_error(), key=lambda c: c.id[:3]):
            listed = list(classes)
            rooms = sorted({".".join(c.__module__.split(".")[:2]) for c in listed})
            lines += [f"{floor}xx", "-" * 8, "", "Of " + ", ".join(f"``{r}``" for r in rooms) + ".", ""]
            for c in listed:
                lines += [f".. _{c.id}:", "", f".. autoexception:: {c.__module__}.{c.__qualname__}", ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _with_id(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """An error's text begins with its id."""
    if what == "exception" and issubclass(obj, PolyvoltaError):
        lines[:0] = [f"**{obj.id}**", ""]


def _unsigned(app: Sphinx, what: str, name: str, *rest: Any) -> tuple[str, str] | None:
    """Users catch errors and make none, so that an error stands without its constructor's arguments."""
    return ("", "") if what == "exception" else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _with_id, priority=600)
    app.connect("autodoc-process-signature", _unsigned)
    app.add_directive("errors-by-id", ErrorsById)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
