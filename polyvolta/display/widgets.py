"""A slider of ipywidgets, in notebooks that somebody is looking at.

A widget lives in the page of a running notebook. What is exported, by nbconvert or a site, would need scripts from
elsewhere to show it, and shows nothing without; so there, and where no front-end makes itself known, it isn't made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

LIVE = ("JPY_SESSION_NAME", "VSCODE_PID", "COLAB_RELEASE_TAG")
"""Variables that Jupyter's server, VS Code and Colab set for the kernels that they start."""


def are_shown() -> bool:
    """Whether widgets are there, and a front-end that shows them."""
    shell = sys.modules.get("IPython")
    if shell is None or getattr(shell.get_ipython(), "kernel", None) is None:
        return False
    return any(name in os.environ for name in LIVE) and find_spec("ipywidgets") is not None


def slider(title: str, count: int, shown: Callable[[int], str]) -> Any:
    """A slider over things that are shown one at a time.

    Parameters
    ----------
    count : of the things, at least one.
    shown : HTML of one of them.

    Raises
    ------
    ImportError : ipywidgets isn't there.
    """
    widgets: Any = import_module("ipywidgets")

    choice = widgets.IntSlider(0, 0, count - 1, description="step", layout={"width": "36em"})
    play = widgets.Play(0, 0, count - 1, interval=600)
    page = widgets.HTML(shown(0))
    widgets.jslink((play, "value"), (choice, "value"))
    choice.observe(lambda change: setattr(page, "value", shown(change["new"])), "value")
    return widgets.VBox([widgets.Label(title), widgets.HBox([play, choice]), page])
