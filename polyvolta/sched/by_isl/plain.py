"""What all of isl's objects have: copies, a context and a text for the errors' output."""

from __future__ import annotations

from typing import Self

from polyvolta.sets import DEFAULT_CONTEXT, Context
from polyvolta.sets.by_isl.objects.lists import dump


class Plain:
    """An immutable object of isl's."""

    __slots__ = ()

    def copy(self) -> Self:
        """The object itself."""
        return self

    def reset_user(self) -> Self:
        """The object itself: names know nothing of a user's here."""
        return self

    def get_ctx(self) -> Context:
        """isl's context, which means nothing here."""
        return DEFAULT_CONTEXT

    dump = dump
