"""isl's context: nothing that values live in, but what a program sets isl's options on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import SpaceMismatch, kind_of
from ...values.space import whole

#: isl's options and what they are before anybody sets them.
DEFAULTS: dict[str, int | str] = {
    "ast_always_print_block": 0,
    "ast_build_allow_else": 1,
    "ast_build_allow_or": 1,
    "ast_build_atomic_upper_bound": 1,
    "ast_build_detect_min_max": 0,
    "ast_build_exploit_nested_bounds": 1,
    "ast_build_group_coscheduled": 0,
    "ast_build_prefer_pdiv": 1,
    "ast_build_scale_strides": 1,
    "ast_build_separation_bounds": 0,
    "ast_iterator_type": "int",
    "ast_print_macro_once": 0,
    "ast_print_outermost_block": 1,
    "bound": 0,
    "coalesce_bounded_wrapping": 1,
    "coalesce_preserve_locals": 0,
    "gbr_only_first": 0,
    "max_operations": 0,
    "on_error": 1,
    "pip_symmetry": 1,
    "schedule_algorithm": 0,
    "schedule_carry_self_first": 1,
    "schedule_max_coefficient": -1,
    "schedule_max_constant_term": -1,
    "schedule_maximize_band_depth": 0,
    "schedule_maximize_coincidence": 0,
    "schedule_outer_coincidence": 0,
    "schedule_separate_components": 1,
    "schedule_serialize_sccs": 0,
    "schedule_split_scaled": 1,
    "schedule_treat_coalescing": 1,
    "schedule_whole_component": 0,
    "tile_scale_tile_loops": 1,
    "tile_shift_point_loops": 1,
}

_set: dict[str, int | str] = {}


def option(name: str) -> int | str:
    """The value of one of isl's options."""
    return _set.get(name, DEFAULTS[name])


def _value(name: str, value: object) -> int | str:
    """What an option is set to, a number or a text as its default is."""
    if isinstance(DEFAULTS[name], str):
        if isinstance(value, str):
            return value
    elif (number := whole(value)) is not None:
        return number
    raise SpaceMismatch(f"{name} is such as {DEFAULTS[name]!r}, not {kind_of(value)}", where=repr(value))


class Context:
    """isl's context, in which its values live: here no value does, and all contexts are one, with isl's options.

    Set and asked for as in islpy, `set_tile_scale_tile_loops(0)`. Some options change what methods with isl's names do
    (docs/isl.md lists them); the others say how isl should compute, or how loops and schedules should look where it has
    a choice, and are kept for who asks.

    >>> from polyvolta.sets import Set
    >>> Set.read_from_str(Context(), "{ [i] }") == Set("{ [i] }")
    True
    >>> Set("{ [i] }", context=(ctx := Context())).get_ctx() == ctx  # all are equal
    True
    >>> ctx.get_schedule_serialize_sccs()
    0
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context)

    def __hash__(self) -> int:
        return hash(Context)

    def reset_operations(self) -> None:
        """Start to count isl's steps again; here nobody counts them.

        >>> Context().reset_operations()
        """

    if not TYPE_CHECKING:  # a checker knows what there is

        def __dir__(self) -> list[str]:
            return [*super().__dir__(), *(f"{verb}_{name}" for verb in ("get", "set") for name in DEFAULTS)]

        def __getattr__(self, name: str) -> object:
            verb, _, asked = name.partition("_")
            if verb in ("get", "set") and asked not in DEFAULTS:
                raise AttributeError(f"isl has no option {asked!r}", name=name, obj=self)
            if verb == "get":
                return lambda: option(asked)
            if verb == "set":
                return lambda value: _set.update({asked: _value(asked, value)})
            raise AttributeError(f"a Context has no attribute {name!r}", name=name, obj=self)


DEFAULT_CONTEXT = Context()
