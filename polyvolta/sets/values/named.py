"""What isl makes values by, on the classes: `Set.read_from_str`, `Map.from_pw_aff`.

These names are no attributes, so that the classes stay as short as they are: they are looked up where an attribute is
missing (`text.of_isl`). Of another name of isl's the error says what is here instead, as it does on values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


class Named(type):
    """The class of the classes of sets, relations and functions."""

    if not TYPE_CHECKING:  # a checker knows what there is

        def __getattr__(cls, name: str) -> object:
            if not name.startswith("_"):
                from ..text.of_isl import lacking, maker

                made = maker(cls, name)
                if made is not None:
                    return made
                raise AttributeError(lacking(cls, name), name=name, obj=cls)
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
