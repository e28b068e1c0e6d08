"""What each option may be by itself, whatever the graph and the target are.

Nothing of the compiler is imported here, so that the command line refuses a value before it loads one.
"""

from __future__ import annotations

from operator import index

from polyvolta.sets.errors import PolyvoltaError, nearest

SPLITS = (1, 2, 4, 8)
PARTIAL = ("guard", "pad")
ACCUMULATORS = ("auto", "one", "separate")
BUFFERS = tuple(range(1, 9))
AHEAD = tuple(range(8))  # k tiles that copies may run ahead
FRAGMENTS = (1, 2)
SHARING = tuple(range(1, 9))  # blocks of a multiprocessor
GROUPS = tuple(range(1, 65))  # rows of blocks that go together
SIDES = (1, 2, 4, 8)  # blocks of a cluster along rows, and along columns


class BadOption(PolyvoltaError, ValueError):
    """An option that does not exist, has no meaning, or that the target cannot serve."""

    id = "PV401"


def checked(name: str, value: object) -> object:
    """An option's value, tiles as tuples, if it makes sense on its own.

    Raises
    ------
    BadOption : it makes none; says what would.
    """
    match name:
        case "block_tile" | "warp_tile":
            given = tuple(map(_whole, value)) if isinstance(value, tuple | list) else ()
            if len(given) != 3 or any(v is None or v <= 0 for v in given):
                tile = (128, 128, 32) if name == "block_tile" else (64, 64, 32)
                raise BadOption(
                    f"{name} is three positive ints (rows, columns, depth), not {value!r}", hint=f"try {name}={tile}"
                )
            return given
        case "cluster":
            given = tuple(map(_whole, value)) if isinstance(value, tuple | list) else ()
            if len(given) != 2 or any(v not in SIDES for v in given):
                raise BadOption(f"cluster is two of {', '.join(map(str, SIDES))} (rows, columns), not {value!r}",
                                hint="try cluster=(2, 1)")  # fmt: skip
            return given
        case "macro_mma":
            if not isinstance(value, str):
                from polyvolta.cuda.target.registry import target_of

                known = target_of().macro_names[0]
                raise BadOption(f"macro_mma is a name, not {value!r}", hint=f"try macro_mma={known!r}")
        case "split_k" | "buffers" | "prefetch" | "fragments" | "group" | "occupancy":
            known = {"split_k": SPLITS, "buffers": BUFFERS, "prefetch": AHEAD, "fragments": FRAGMENTS, "group": GROUPS,
                     "occupancy": SHARING}  # fmt: skip
            numbers = known[name]
            if (whole := _whole(value)) in numbers:
                return whole
            near = max((n for n in numbers if (meant := _meant(value)) is not None and n <= meant), default=1)
            words = f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}" if len(numbers) < 10 else \
                    f"{numbers[0]} to {numbers[-1]}"
            raise BadOption(f"{name} is {words}, not {value!r}", hint=f"try {name}={near}")
        case "dependent_launch" | "persistent" | "pingpong" | "swap":
            if not isinstance(value, bool):
                raise BadOption(f"{name} is True or False, not {value!r}", hint=f"try {name}=True")
        case _:
            words = PARTIAL if name == "partial" else ACCUMULATORS
            if not isinstance(value, str) or value not in words:
                hint = nearest(value, words) if isinstance(value, str) else f"try {name}={words[0]!r}"
                raise BadOption(f"{name} is {' or '.join(map(repr, words))}, not {value!r}", hint=hint)
    return value


def _whole(value: object) -> int | None:
    """A number of any kind that counts, as an int, such as one of numpy's; None of others, and of True and False.

    >>> import numpy as np
    >>> _whole(np.int64(3)), _whole(3.0), _whole(True), _whole(np.True_)
    (3, None, None, None)
    """
    try:
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _meant(value: object) -> int | None:
    """The number that something which is none may stand for: of "2" and 2.0 it's 2, of others None.

    >>> _meant("2"), _meant(2.0), _meant(2.5), _meant("two"), _meant(True)
    (2, 2, None, None, None)
    """
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    return int(value) if isinstance(value, float) and value.is_integer() else _whole(value)
