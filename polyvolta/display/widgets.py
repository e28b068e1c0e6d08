"""A slider, where ipywidgets and a kernel that serves them are there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def slider(title: str, count: int, shown: Callable[[int], str]) -> dict[str, Any]:
    """A slider over things that are shown one at a time, as notebooks take it; {} where there are no widgets.

    Parameters
    ----------
    count : of the things.
    shown : HTML of one of them.
    """
    shell = sys.modules.get("IPython")
    if count < 2 or shell is None or getattr(shell.get_ipython(), "kernel", None) is None:
        return {}
    try:
        import ipywidgets as widgets
    except ImportError:
        return {}
    choice = widgets.IntSlider(0, 0, count - 1, description="step", layout={"width": "36em"})
    play = widgets.Play(0, 0, count - 1, interval=600)
    page = widgets.HTML(shown(0))
    widgets.jslink((play, "value"), (choice, "value"))
    choice.observe(lambda change: setattr(page, "value", shown(change["new"])), "value")
    box = widgets.VBox([widgets.Label(title), widgets.HBox([play, choice]), page])
    made = box._repr_mimebundle_()
    return dict(made or {})
