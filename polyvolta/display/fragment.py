"""HTML beside text."""

from __future__ import annotations


class Html(str):
    """A text that is a fragment of HTML already, and is not escaped where texts are."""

    __slots__ = ()
