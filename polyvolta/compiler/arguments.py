"""The arrays of a call, checked: what a kernel may be given, and what it is told about each.

Everything that can be wrong with an array is found out here, before anything is computed: its dtype and shape,
steps that don't fit its tensor's layout, memory in the wrong place, and an output that shares memory with an input
or another output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING, Any, Literal

from polyvolta.cuda.ir.kernel_ir import GlobalTensor
from polyvolta.cuda.run import launch
from polyvolta.cuda.run.device_array import DeviceArray, is_device_array
from polyvolta.cuda.run.dtypes import BFLOAT16, WORDS, numpy_dtype
from polyvolta.cuda.run.views import ITEM, BadArray, leading_dimension, widest
from polyvolta.sets import PolyvoltaError

if TYPE_CHECKING:
    from typing import Protocol

    import numpy as np

    from polyvolta.graph.operators import Number

    class OfDlpack(Protocol):
        """An array of torch, cupy, jax or another library with DLPack."""

        def __dlpack__(self) -> Any: ...
        def __dlpack_device__(self) -> Any: ...

    class OfCuda(Protocol):
        """An array of numba, or of another library with the CUDA array interface."""

        @property
        def __cuda_array_interface__(self) -> Any: ...

    Host = np.ndarray[Any, np.dtype[Any]]
    HostArray = Host | Number
    """An argument of a call as numpy has it."""
    Array = HostArray | OfDlpack | OfCuda
    """An argument of a call, wherever it is."""

LARGEST = 2**31 - 2**13  # of a kernel's int arguments: ints hold the next tiles' ends, too
WORK: Any = 1000  # steps after which two arrays count as overlapping that lie in one range of addresses


class TooLarge(PolyvoltaError, ValueError):
    """A size beyond what a kernel's arguments or the target's grid can hold."""

    id = "PV405"


@dataclass(frozen=True, slots=True)
class Argument:
    """An array that fits its tensor.

    Attributes
    ----------
    tensor : what it is given for.
    array : a numpy array, or a `DeviceArray`.
    ptr : its address.
    ld : the step from line to line, in values; 0 for a vector.
    align : the values that an access may move at once.
    """

    tensor: GlobalTensor
    array: Any
    ptr: int
    ld: int
    align: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


def places(arrays: dict[str, Any]) -> bool:
    """Whether the arrays lie on the GPU; False for host memory.

    Raises
    ------
    BadArray : some do, some don't.
    """
    there = {name: is_device_array(a) for name, a in arrays.items()}
    if len({*there.values()}) > 1:
        gpu, host = (", ".join(n for n, d in there.items() if d is on) for on in (True, False))
        raise BadArray(f"some arrays are on the GPU ({gpu}), some in host memory ({host})", hint="put all in one place")
    return any(there.values())


def on_host(array: Any, tensor: GlobalTensor, name: str) -> Argument:
    """An array in host memory as an argument: of numpy, or of a library that exports DLPack.

    Raises
    ------
    BadArray : it is none, is masked, or doesn't fit.
    NoBfloat16 : its elements are of bf16, for which numpy needs ml_dtypes, and that isn't installed.
    """
    import numpy as np

    from polyvolta.graph.arrays.host import NotInHostMemory, as_numpy, is_foreign

    if isinstance(array, np.ma.MaskedArray):
        raise BadArray(f"{name} is a masked array; a kernel knows no masks", hint=f"{name}.filled(0)")
    given = array

    def bfloat16() -> Any:
        _check_dtype(name, BFLOAT16, tensor, of_torch=_of_torch(given))  # what isn't wanted needs no package
        return numpy_dtype(BFLOAT16)

    if is_foreign(array):
        try:
            array = as_numpy(array, bfloat16)
        except NotInHostMemory as wrong:
            raise BadArray(f"{name} is {wrong}", hint=wrong.hint) from wrong
    if not isinstance(array, np.ndarray):
        kind = f"{type(array).__module__}.{type(array).__name__}".removeprefix("builtins.")
        if getattr(array, "is_meta", False) is True:
            hint = "polyvolta.torch.operator(...) takes such, and gives their shapes"
            raise BadArray(f"{name} is a tensor of torch on the device meta: it has a shape, and no values", hint=hint)
        raise BadArray(
            f"{name} is of type {kind}: no array of numpy, none that exports DLPack, and not on a GPU",
            hint="pass an array of numpy or torch, or one on the GPU",
        )
    _check_dtype(name, str(array.dtype), tensor, of_torch=_of_torch(given))
    if any(s % array.itemsize for s in array.strides):
        raise BadArray(
            f"{name} has strides of {array.strides} bytes, no multiples of its values' {array.itemsize}",
            hint="copy it to an array of its own",
        )
    strides = [s // array.itemsize for s in array.strides]
    return _argument(array, tensor, name, array.ctypes.data, strides)


def on_device(array: Any, tensor: GlobalTensor, name: str, stream: Any) -> Argument:
    """An array in GPU memory as an argument; `stream` waits for what still writes it.

    Raises
    ------
    BadArray : it doesn't fit.
    NotADeviceArray, NoGpu : see `launch.as_device_view`.
    """
    view = launch.as_device_view(array, stream)
    _check_dtype(name, view.dtype, tensor, on_gpu=True, of_torch=_of_torch(array))
    return _argument(view, tensor, name, view.ptr, view.strides)


def _of_torch(array: object) -> bool:
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(array).__mro__)


def _check_dtype(name: str, dtype: str, tensor: GlobalTensor, on_gpu: bool = False, of_torch: bool = False) -> None:
    """Refuse an array of another element type than the tensor's; bits of bf16 under another name are not guessed."""
    wanted = dtype_of(tensor)
    if dtype == wanted:
        return
    hint = f"{name}.to(torch.float16)" if of_torch else f"{name}.astype('float16')"
    there = "torch" if on_gpu or of_torch else "numpy" if wanted == "float16" else "ml_dtypes"
    if BFLOAT16 in (dtype, wanted):
        call = "to" if on_gpu or of_torch else "astype"
        hint = f"{name}.{call}({there}.{wanted})"
    if wanted == BFLOAT16 and dtype in ("uint16", "int16", "void16", *WORDS):
        bits = f"{name}.view({there}.{wanted})"
        if on_gpu:  # of libraries without bf16
            bits += f', or dataclasses.replace(launch.as_device_view({name}), dtype="{BFLOAT16}")'
        hint = f"where these are the bits of bfloat16, {bits}; to convert numbers, {hint}"
    elif dtype == BFLOAT16:
        hint += f', or declare the tensors with dtype="{BFLOAT16}"'
    raise BadArray(f"{name} has dtype {dtype}, the kernel works on {wanted}", hint=hint)


def _argument(array: Any, tensor: GlobalTensor, name: str, ptr: int, strides: Sequence[int]) -> Argument:
    if len(array.shape) != len(tensor.dims):
        raise BadArray(f"{name} has {len(array.shape)} dimensions, {tensor.name} has {len(tensor.dims)}")
    ld = leading_dimension(name, array.shape, strides, tensor.order)
    if ld > LARGEST:
        raise TooLarge(f"{name} has a leading dimension of {ld}, at most {LARGEST} fits")
    if ptr % ITEM:
        raise BadArray(f"{name} starts at an odd address", hint="copy it to an array of its own")
    return fitting(Argument(tensor, array, ptr, ld, 1), tensor)


def fitting(a: Argument, tensor: GlobalTensor) -> Argument:
    """The same array for a tensor that differs in how it is copied."""
    whole = a.shape[tensor.order[-1]] if tensor.whole else 0
    return replace(a, tensor=tensor, align=gcd(widest(a.ptr, a.ld), whole))


def check_output(output: Argument, shape: tuple[int, ...], name: str) -> None:
    """Refuse an output of the wrong shape, or one that must not be written."""
    array = output.array
    on_gpu = isinstance(array, DeviceArray)
    if output.shape != shape:
        raise BadArray(
            f"{name} has shape {output.shape}, the result has {shape}", hint=allocation(output.tensor, shape, on_gpu)
        )
    if array.readonly if on_gpu else not array.flags.writeable:
        raise BadArray(f"{name} is read-only", hint=allocation(output.tensor, shape, on_gpu))


def for_output(
    make: Callable[..., Argument], array: Any, tensor: GlobalTensor, shape: tuple[int, ...], *rest: Any
) -> Argument:
    """An output's argument, made by `on_host` or `on_device`; hints say how to allocate one.

    What helps for an input, a copy of it, would take the result where nobody looks for it.

    Raises
    ------
    BadArray
    """
    try:
        return make(array, tensor, *rest)
    except BadArray as wrong:
        hint = allocation(tensor, shape, make is on_device)
        if "layout=" in wrong.hint:  # the array is whole, in the other order
            other = "row" if memory_order(tensor) == "F" else "col"
            hint += f'; or compile for pv.output(..., layout="{other}")'
        raise BadArray(wrong.message, where=wrong.where, hint=hint) from None


def allocation(tensor: GlobalTensor, shape: tuple[int, ...], on_gpu: bool) -> str:
    """How to come by an array for an output.

    >>> allocation(GlobalTensor("C", ("M", "N"), (1, 0), written=True), (3, 5), False)
    'without out= one is made; numpy.empty((3, 5), numpy.float16, order="F") is such an array'
    """
    turned, dtype = memory_order(tensor) == "F", dtype_of(tensor)
    if on_gpu:
        made = f'torch.empty({shape[::-1] if turned else shape}, dtype=torch.{dtype}, device="cuda"){".T" * turned}'
    else:
        order = ', order="F"' * turned
        made = f"numpy.empty({shape}, {'numpy' if dtype == 'float16' else 'ml_dtypes'}.{dtype}{order})"
    return f"without out= one is made; {made} is such an array"


def check_overlaps(inputs: Sequence[Argument], outputs: Sequence[Argument], names: Sequence[str]) -> None:
    """Refuse outputs that share memory with inputs or with one another; `names` are those of the outputs.

    Views that interleave, such as the left and the right half of a matrix, don't overlap.
    """
    for at, (output, name) in enumerate(zip(outputs, names, strict=True)):
        for x in inputs:
            if overlap(output, x):
                raise BadArray(
                    f"{name} overlaps the input {x.tensor.name}",
                    hint="the kernel reads inputs while it writes the output",
                )
        for other, its in zip(outputs[:at], names):
            if overlap(output, other):
                raise BadArray(f"{name} overlaps {its}", hint="give each result memory of its own")


class _Memory:
    """What numpy needs to know about an array to say which addresses it has, on whatever device."""

    def __init__(self, a: Argument) -> None:
        if isinstance(a.array, DeviceArray):
            strides = tuple(ITEM * s for s in a.array.strides)
        else:
            strides = a.array.strides
        self.__array_interface__ = {
            "version": 3, "typestr": "<f2", "shape": a.shape, "strides": strides, "data": (a.ptr, True),
        }  # fmt: skip


def overlap(one: Argument, other: Argument) -> bool:
    """Whether two arrays have a value in common; True, too, where that would take long to find out."""
    if 0 in one.shape or 0 in other.shape:
        return False
    first, last = span(one)
    start, end = span(other)
    if last <= start or end <= first:
        return False
    import numpy as np

    try:
        return bool(np.shares_memory(np.asarray(_Memory(one)), np.asarray(_Memory(other)), max_work=WORK))
    except np.exceptions.TooHardError:
        return True


def span(a: Argument) -> tuple[int, int]:
    """The first address of an array, and the first behind it."""
    lines = a.shape[a.tensor.order[0]] if len(a.shape) == 2 else 1
    return a.ptr, a.ptr + ITEM * ((lines - 1) * a.ld + a.shape[a.tensor.order[-1]])


def empty_on_host(tensor: GlobalTensor, shape: tuple[int, ...]) -> np.ndarray:
    """A numpy array in a tensor's layout.

    Raises
    ------
    NoBfloat16 : ml_dtypes is needed, and not installed.
    """
    import numpy as np

    return np.empty(shape, numpy_dtype(dtype_of(tensor)), order=memory_order(tensor))


def dtype_of(tensor: GlobalTensor) -> str:
    """numpy's name of a tensor's element type, or "bfloat16"."""
    return "float16" if tensor.kind == "half" else tensor.kind


def memory_order(tensor: GlobalTensor) -> Literal["C", "F"]:
    """Numpy's word for a tensor's layout."""
    return "F" if tensor.order == (1, 0) else "C"
