"""What shows itself in a notebook, and as text where a shell such as IPython prints what a line comes to."""

from __future__ import annotations

from typing import Any


class Shown:
    """An object with `_html`, a fragment of HTML; notebooks show it in a frame, IPython prints `str` of it."""

    __slots__ = ()

    def _html(self) -> str:
        """What is to be seen of it, as a fragment that goes into a page of more."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from polyvolta.display.page import framed

        return framed(self._html())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        from polyvolta.display.text import folded

        printer.text(repr(self) if cycle else folded(str(self)))


class Record(Shown):
    """What is shown by its fields: a table of their names and values. `repr` stays what constructs it."""

    __slots__ = ()

    def _facts(self) -> list[tuple[str, object]]:
        """Names with values: texts and numbers, what shows itself, or tuples of these."""
        fields = getattr(self, "__dataclass_fields__", {}).values()
        return [(f.name, getattr(self, f.name)) for f in fields if f.repr]

    def _title(self) -> str:
        """What stands above."""
        return type(self).__name__

    def _html(self) -> str:
        from polyvolta.display.page import facts, heading

        return heading(self._title()) + facts(self._facts())

    def _text(self) -> str:
        """The same as lines that fit."""
        from polyvolta.display.text import listed

        return listed(self._title(), self._facts())

    def __str__(self) -> str:
        """`repr`, folded to a terminal."""
        from polyvolta.display.text import for_terminal

        return for_terminal(repr(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        if cycle or type(self).__str__ is not Record.__str__:
            super()._repr_pretty_(printer, cycle)
        else:
            printer.text(self._text())


class Brief(Record):
    """A record whose `repr` would be long: its title, and `print` has the rest; for dataclasses with `repr=False`."""

    __slots__ = ()

    def __repr__(self) -> str:
        from polyvolta.display.text import filled

        return filled(f"<{type(self).__name__} {self._title()}; print it>")

    def __str__(self) -> str:
        return self._text()
