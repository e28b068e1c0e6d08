"""Arrays that a program is run on: whether they have the elements that it touches, and how these lie in memory.

The least and the greatest subscript of each dimension come from the accesses; so loops without any test of their own
stay inside, in C, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from polyvolta.sched.errors import BadArgument
from polyvolta.sets import Map, Unbounded
from polyvolta.sets.errors import kind_of

if TYPE_CHECKING:
    import numpy as np

    from polyvolta.sched.program.model import Program


def touched(program: Program, params: Mapping[str, int]) -> dict[str, list[tuple[int, int]]]:
    """Of each array that instances access, the least and the greatest subscript in every dimension.

    Exact at these parameters; two integer programs a dimension and access. An access without a bound is left out.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    accesses = {(a.array, a.relation): a for s in program.statements for a in (*s.reads, *s.writes)}
    for array, relation in accesses:
        box = _box_of(relation, params)
        if box:
            old = found.get(array, box)
            found[array] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, box, strict=True)]
    return found


def _box_of(relation: Map, params: Mapping[str, int]) -> list[tuple[int, int]] | None:
    """The box around the elements that an access touches; None if there is none, or no box."""
    known = {p: v for p, v in params.items() if p in relation.param_names}
    here = relation.fix(known).project_out_params(*known) if known else relation  # type: ignore[arg-type]
    elements = here.range()
    if elements.is_empty():
        return None
    try:
        return [(elements.min(d), elements.max(d)) for d in elements.space.out.dims]  # type: ignore[misc]
    except Unbounded:
        return None


def kind(value: object) -> str:
    """What a value is, for messages."""
    return kind_of(value)


def check_array(name: str, value: object, rank: int, written: bool, signature: str) -> None:
    """Refuse what is no array of so many dimensions, or cannot be written."""
    import numpy as np

    if not isinstance(value, np.ndarray):
        hint = "np.array(...) makes one" if isinstance(value, list | tuple) else ""
        raise BadArgument(f"{name} is an array, not {kind(value)}", where=signature, hint=hint)
    if value.ndim != rank:
        raise BadArgument(
            f"{name} has {rank} dimension{'s' * (rank != 1)} in {signature.split('(')[0]}, not {value.ndim}",
            where=f"{name}.shape = {value.shape}",
        )
    if written and not value.flags.writeable:
        raise BadArgument(f"{name} is written, but the array is read-only", where=signature)


def check_size(name: str, array: np.ndarray, box: list[tuple[int, int]], params: Mapping[str, int]) -> None:
    """Refuse an array that does not have all elements that are touched."""
    for k, ((low, high), size) in enumerate(zip(box, array.shape, strict=True)):
        if low < 0 or high >= size:
            sizes = ", ".join(f"{p}={v}" for p, v in params.items())
            raise BadArgument(
                f"the program touches {name} from {low} to {high} in dimension {k}, whose size is {size}",
                where=f"{name}.shape = {array.shape}" + (f" with {sizes}" if sizes else ""),
            )


def check_apart(arrays: Mapping[str, np.ndarray], written: Collection[str], align: int) -> None:
    """Refuse arrays of which one that is written shares elements with another, or whose addresses are no multiples.

    Raises
    ------
    BadArgument : names the arrays.
    """
    import numpy as np

    for name, array in arrays.items():
        if array.size and array.ctypes.data % align:
            raise BadArgument(
                f"the code takes {name} to start at a multiple of {align} bytes, and it does not",
                where=f"{name} starts {array.ctypes.data % align} bytes behind one",
                hint=f"pass aligned({name}, {align}), a copy that does",
            )
    work: Any = 10**6  # candidates that are tried; to a checker it is one of numpy's two names for a limit
    for a, b in combinations(arrays, 2):
        if (a in written or b in written) and np.may_share_memory(arrays[a], arrays[b]):
            try:
                shared = np.shares_memory(arrays[a], arrays[b], max_work=work)
            except RuntimeError:  # too hard to say
                shared = True
            if shared:
                raise BadArgument(
                    f"{a} and {b} share elements, and a schedule takes arrays to be different",
                    hint=f"pass a copy of one, or compile_c(..., restrict=False) if no element of {a} is one of {b}",
                )


def aligned(array: np.ndarray, align: int = 64) -> np.ndarray:
    """A copy of an array, its elements in the order of C, that starts at a multiple of so many bytes.

    Parameters
    ----------
    array : of any shape and type of elements, and however it lies.
    align : a power of two, in bytes: 64 is a line of the cache.

    Raises
    ------
    BadArgument : this is no array, or no power of two.

    >>> import numpy as np
    >>> aligned(np.ones((3, 5)), 64).ctypes.data % 64
    0
    """
    import numpy as np

    if not isinstance(array, np.ndarray):
        raise BadArgument(f"aligned takes an array, not {kind(array)}", where=repr(array))
    check_align(align)
    raw = np.empty(array.nbytes + align, np.uint8)
    start = -raw.ctypes.data % align
    made = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def check_align(align: object) -> None:
    """Refuse what is no power of two.

    Raises
    ------
    BadArgument : it is none.
    """
    if isinstance(align, int) and not isinstance(align, bool) and align > 0 and not align & align - 1:
        return
    raise BadArgument("an alignment is a number of bytes, a power of two", where=repr(align), hint="such as align=64")


def row_lengths(name: str, array: np.ndarray) -> list[int]:
    """The lengths in memory of the dimensions of an array but the first.

    Raises
    ------
    BadArgument : the elements do not lie as in an array of C.
    """
    if not array.size:  # its strides say nothing
        return [max(1, n) for n in array.shape[1:]]
    sizes = [array.itemsize]
    lengths: list[int] = []
    for k in reversed(range(array.ndim)):
        inner, stride, last = sizes[-1], array.strides[k], k == array.ndim - 1
        if array.shape[k] <= 1 and not last:  # its stride says nothing
            stride = inner * max(1, array.shape[k + 1]) if lengths or k + 1 < array.ndim else inner
        fits = stride == inner if last else stride % inner == 0 and stride // inner >= array.shape[k + 1]
        if not fits and array.shape[k] > 1:
            raise BadArgument(
                f"the elements of {name} do not lie row by row in memory, as C code needs them",
                where=f"{name}.strides = {array.strides}",
                hint=f"pass np.ascontiguousarray({name}), or use Python",
            )
        if not last:
            lengths.append(stride // inner)
            sizes.append(stride)
    return lengths[::-1]
