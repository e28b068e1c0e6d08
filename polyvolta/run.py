"""Running a kernel on arrays: which machine, which checks, where the result goes.

Arrays in host memory run on the GPU when there is one and on the interpreter otherwise; arrays on a GPU run
there. Everything that can be wrong with an array is checked before anything is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyvolta.cuda import launch
from polyvolta.cuda.device_array import DeviceArray, is_device_array
from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.kernel_ir import GlobalTensor

if TYPE_CHECKING:
    import numpy as np

    from polyvolta.graph.binding import Bound
    from polyvolta.kernel import Kernel


class BadArray(CudaError, ValueError):
    """An array of the wrong dtype, layout, device or place; nothing was computed."""

    id = "PV515"


def run(kernel: Kernel, bound: Bound, out: Any, stream: Any) -> Any:
    """See `Kernel.__call__`."""
    kernel.check_sizes(bound.sizes)
    arrays = [*bound.arrays.values(), *([] if out is None else [out])]
    on_device = [is_device_array(a) for a in arrays]
    if any(on_device) and not all(on_device):
        names = [*bound.arrays, "out"]
        there = ", ".join(n for n, d in zip(names, on_device) if d)
        here = ", ".join(n for n, d in zip(names, on_device) if not d)
        raise BadArray(
            f"some arrays are on the GPU ({there}), some in host memory ({here})", hint="put all in one place"
        )
    if all(on_device):
        return _on_device(kernel, bound, out, stream)
    if launch.gpu_available():
        return _through_device(kernel, bound, out, stream)
    return interpreted(kernel, bound, out, None)


def interpreted(kernel: Kernel, bound: Bound, out: Any, hook: Any) -> np.ndarray:
    """The interpreter's result; see `Kernel.interpret`."""
    from polyvolta.cuda.interpreter import interpret

    kernel.check_sizes(bound.sizes)
    inputs = _host_inputs(kernel, bound)
    result = _host_output(kernel, bound, inputs, out)
    name = kernel.ir.tensors[-1].name
    interpret(kernel.ir, {**inputs, name: result}, bound.sizes, hook=hook)
    return result


def _shape(kernel: Kernel, bound: Bound, tensor: GlobalTensor) -> tuple[int, ...]:
    return tuple(bound.sizes[d] if isinstance(d, str) else d for d in tensor.dims)


def _host_inputs(kernel: Kernel, bound: Bound) -> dict[str, np.ndarray]:
    inputs = {}
    for t in kernel.ir.tensors[:-1]:
        inputs[t.name] = _host(bound.arrays[t.name], t, t.name)
    return inputs


def _host(array: Any, tensor: GlobalTensor, name: str) -> np.ndarray:
    import numpy as np

    if isinstance(array, np.ma.MaskedArray):
        raise BadArray(f"{name} is a masked array; a kernel knows no masks", hint=f"{name}.filled(0)")
    if not isinstance(array, np.ndarray):
        raise BadArray(
            f"{name} is a {type(array).__module__}.{type(array).__name__}, no numpy array and not on a GPU",
            hint="pass a numpy array, or an array on the GPU",
        )
    strides = tuple(s // array.itemsize for s in array.strides)
    _check_array(name, str(array.dtype), array.shape, strides, tensor)
    return array


def _host_output(kernel: Kernel, bound: Bound, inputs: dict[str, np.ndarray], out: Any) -> np.ndarray:
    import numpy as np

    tensor = kernel.ir.tensors[-1]
    shape = _shape(kernel, bound, tensor)
    if out is None:
        return np.empty(shape, np.float16, order="C" if tensor.order == (0, 1) else "F")
    result = _host(out, tensor, "out")
    if result.shape != shape:
        raise BadArray(f"out has shape {result.shape}, the result has {shape}")
    if not result.flags.writeable:
        raise BadArray("out is read-only")
    for name, array in inputs.items():
        if np.may_share_memory(result, array):
            raise BadArray(f"out overlaps the input {name}", hint="the kernel reads inputs while it writes the output")
    return result


def _check_array(name: str, dtype: str, shape: tuple, strides: tuple | None, tensor: GlobalTensor) -> None:
    """dtype float16, and contiguous in the tensor's layout."""
    if dtype != "float16":
        raise BadArray(f"{name} has dtype {dtype}, the kernel works on float16", hint=f"{name}.astype('float16')")
    expected, step = [0] * len(shape), 1
    for d in reversed(tensor.order):
        expected[d] = step
        step *= shape[d]
    if strides is not None and any(s != e for s, e, n in zip(strides, expected, shape) if n > 1):
        layout, convert = (
            ("row", "numpy.ascontiguousarray") if tensor.order == (0, 1) else ("col", "numpy.asfortranarray")
        )
        raise BadArray(
            f'{name} is not contiguous in its layout "{layout}": element strides {strides}, expected {tuple(expected)}',
            hint=f"{convert}({name}), or for a torch tensor .contiguous() on it or its transpose",
        )


def _through_device(kernel: Kernel, bound: Bound, out: Any, stream: Any) -> np.ndarray:
    """Host arrays: copied to the GPU, run there, copied back."""
    inputs = _host_inputs(kernel, bound)
    result = _host_output(kernel, bound, inputs, out)
    tensor = kernel.ir.tensors[-1]
    device = {n: launch.to_device(a) for n, a in inputs.items()}
    device_out = launch.allocate(result.shape, "C" if tensor.order == (0, 1) else "F", "float16")
    _launch(kernel, bound, [*device.values(), device_out], stream)
    result[...] = launch.copy_to_host(device_out)
    return result


def _on_device(kernel: Kernel, bound: Bound, out: Any, stream: Any) -> Any:
    """Arrays on the GPU: run in place; the result is made by the first input's own library when `out` is missing."""
    tensors = kernel.ir.tensors
    views = []
    for t in tensors[:-1]:
        views.append(_device_view(bound.arrays[t.name], t, t.name, stream))
    shape = _shape(kernel, bound, tensors[-1])
    if out is None:
        out = launch.empty_like(bound.arrays[tensors[0].name], shape)
    result = _device_view(out, tensors[-1], "out", stream)
    if result.shape != shape:
        raise BadArray(f"out has shape {result.shape}, the result has {shape}")
    if result.readonly:
        raise BadArray("out is read-only")
    for t, v in zip(tensors, views):
        if result.ptr < v.ptr + _bytes(v) and v.ptr < result.ptr + _bytes(result):
            raise BadArray(
                f"out overlaps the input {t.name}", hint="the kernel reads inputs while it writes the output"
            )
    _launch(kernel, bound, [*views, result], stream)
    return out


def _bytes(view: DeviceArray) -> int:
    count = 2
    for n in view.shape:
        count *= n
    return count


def _device_view(array: Any, tensor: GlobalTensor, name: str, stream: Any) -> DeviceArray:
    view = launch.as_device_view(array, stream)
    _check_array(name, view.dtype, view.shape, view.strides, tensor)
    if view.ptr % 16:
        raise BadArray(
            f"{name} starts at an address that is no multiple of 16 bytes",
            hint="copy it to an array of its own",
        )
    return view


def _launch(kernel: Kernel, bound: Bound, arrays: list[Any], stream: Any) -> None:
    launch.require_gpu()
    config = kernel.launch_config(**bound.sizes)
    image = kernel.compiled(launch.device_arch()).image
    loaded = launch.load(image, kernel.name, config.shared_bytes)
    args = [*(bound.sizes[n] for n in kernel.ir.sizes), *arrays]
    loaded.launch(config.grid, config.block, config.shared_bytes, args, stream)
