"""The GPU at hand, as a driver without one tells it; targets that it runs, code for others, too large kernels."""

import ctypes
import importlib.util
import subprocess
import sys
import types
from dataclasses import replace

import pytest

import polyvolta as pv
from polyvolta.compiler.options import Options, default_options
from polyvolta.cuda import arch
from polyvolta.cuda.errors import BadImage, LaunchFailed, UnsupportedArch, WrongGpu
from polyvolta.cuda.run import gpu, launch, nvrtc
from polyvolta.cuda.run.cubin import arch_of, is_for
from polyvolta.cuda.run.gpu import Limits, check_registers
from polyvolta.cuda.target.registry import Targets, target_of
from polyvolta.graph.dag import Graph
from polyvolta.sets import code_cache

M, N, K = pv.sizes("M N K")
COPY = 'extern "C" __global__ void copy(const float *from, float *to) { to[threadIdx.x] = from[threadIdx.x]; }'


def product():
    return pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")


class Driver:
    """As the driver's library: devices by capability, of which one may have the current context."""

    def __init__(self, *devices, current=None, broken=""):
        self.devices, self.current, self.broken = devices, current, broken

    def _put(self, name, pointer, value):
        if value is None or name == self.broken:
            return 201
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int))[0] = value
        return 0

    def cuCtxGetDevice(self, pointer):  # noqa: N802
        return self._put("context", pointer, self.current)

    def cuDeviceGetCount(self, pointer):  # noqa: N802
        return self._put("count", pointer, len(self.devices))

    def cuDeviceGet(self, pointer, number):  # noqa: N802
        return self._put("device", pointer, number)

    def cuDeviceGetAttribute(self, pointer, attribute, device):  # noqa: N802
        return self._put("attribute", pointer, self.devices[device.value][{75: 0, 76: 1}[attribute]])


@pytest.mark.parametrize(("driver", "found"), [
    (None, None),
    (Driver(), None),
    (Driver((9, 0)), "sm_90"),
    (Driver((7, 5), (8, 6)), "sm_75"),
    (Driver((7, 5), (8, 6), current=1), "sm_86"),
    (Driver((12, 0)), "sm_120"),
    *((Driver((9, 0), broken=call), None) for call in ("count", "device", "attribute")),
])  # fmt: skip
def test_the_gpu_at_hand_is_that_of_the_context_or_the_first(monkeypatch, driver, found):
    monkeypatch.setattr(arch, "_driver", lambda: driver)
    assert arch.gpu_at_hand() == found


@pytest.mark.parametrize("library", [
    lambda name: (_ for _ in ()).throw(OSError("no such library")),
    lambda name: types.SimpleNamespace(cuInit=lambda flags: 100),
    lambda name: types.SimpleNamespace(),
])  # fmt: skip
def test_a_driver_that_is_missing_or_does_not_start_is_none(monkeypatch, library):
    fresh = importlib.util.module_from_spec(arch.__spec__)
    arch.__spec__.loader.exec_module(fresh)
    monkeypatch.setattr(ctypes, "CDLL", library)
    assert fresh.gpu_at_hand() is None


@pytest.mark.parametrize(("device", "target"), [
    (None, "sm_70"), ((6, 1), "sm_70"), ((7, 0), "sm_70"), ((7, 2), "sm_70"), ((7, 5), "sm_75"),
    ((8, 0), "sm_80"), ((8, 6), "sm_80"), ((8, 9), "sm_80"), ((9, 0), "sm_90a"), ((12, 0), "sm_80"),
])  # fmt: skip
def test_auto_is_the_newest_target_that_the_gpu_runs(monkeypatch, device, target):
    monkeypatch.setattr(arch, "_driver", lambda: Driver(device) if device else None)
    assert target_of("auto").name == target


def test_auto_is_what_compile_and_options_do_without_a_target(monkeypatch):
    graph = Graph.of(product())
    monkeypatch.setattr(arch, "_driver", lambda: Driver((7, 5)))
    assert pv.compile(product(), options=Options(block_tile=(32, 64, 32))).target.name == "sm_75"
    assert pv.compile(product(), "sm_70").target.name == "sm_70"
    assert default_options(graph) == default_options(graph, "sm_75")
    assert next(Options.space(graph)) == next(Options.space(graph, "sm_75"))


def test_options_by_themselves_ask_no_driver(monkeypatch):
    monkeypatch.setattr(arch, "_driver", lambda: pytest.fail("asked"))
    assert Options(split_k=2).macro_mma == "m16n16k8"
    assert pv.compile(product(), "sm_70", Options(split_k=2)).target.name == "sm_70"


def test_registered_targets_count(monkeypatch):
    volta = pv.targets["sm_70"]
    own = Targets(volta, replace(volta, name="sm_86"), replace(volta, name="sm_90a"), replace(volta, name="sm_100f"))
    names = {gpu: arch.newest_for(gpu, own) for gpu in ("sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")}
    assert names == {"sm_80": "sm_70", "sm_89": "sm_86", "sm_90": "sm_90a", "sm_100": "sm_100f", "sm_103": "sm_100f",
                     "sm_120": "sm_86"}  # fmt: skip


def test_importing_and_compiling_bring_in_no_numba():
    code = (
        "import sys, polyvolta as pv\n"
        "assert 'polyvolta.cuda.arch' not in sys.modules\n"
        "pv.compile(pv.tensor('A', (8, 8)) @ pv.tensor('B', (8, 8)))\n"
        "costly = {'numba', 'numba_cuda', 'cuda.core', 'cuda.bindings'}\n"
        "sys.exit(' '.join(costly & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- machine code


@pytest.mark.parametrize("name", ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a"])
def test_a_cubin_says_what_it_is_for(name):
    """Of the toolkit's own kinds of files, before and after its flags moved."""
    image = nvrtc.compile_cubin(COPY, name, name="copy").image
    assert arch_of(image) == name and is_for(image, name)
    assert not is_for(image, "sm_72")


@pytest.mark.parametrize("image", [b"", b"PTX", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + bytes(58), bytes(200)])
def test_what_is_no_cubin_is_for_nothing(image):
    assert not is_for(image, "sm_70")
    with pytest.raises(BadImage):
        arch_of(image)


def test_a_cubin_for_another_architecture_in_the_cache_is_compiled_again(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYVOLTA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("POLYVOLTA_CACHE_SIZE", "10M")
    kept, write = {}, code_cache.write
    monkeypatch.setattr(
        code_cache, "write", lambda key, image, log: (kept.update({key: image}), write(key, image, log))
    )
    nvrtc.compile_cubin.cache_clear()
    right = nvrtc.compile_cubin(COPY, "sm_80", name="copy")
    wrong = nvrtc.compile_cubin(COPY, "sm_75", name="copy")
    ((key, _), _) = kept.items()
    write(key, wrong.image, wrong.log)  # a file that lies under another's name
    nvrtc.compile_cubin.cache_clear()
    again = nvrtc.compile_cubin(COPY, "sm_80", name="copy")
    assert again.image == right.image and arch_of(code_cache.read(key)[0]) == "sm_80"
    nvrtc.compile_cubin.cache_clear()


# ---- what a GPU can't run

H200 = Limits("sm_90", 1024, 232448, 65536)
SMALL = {"block_tile": (32, 64, 32), "warp_tile": (32, 32, 32)}


@pytest.fixture
def loading(monkeypatch):
    """What `Kernel.loaded` hands to the driver of a GPU with some limits."""

    def on(limits):
        done = []
        monkeypatch.setattr(launch, "current_device", lambda: 0)
        monkeypatch.setattr(launch, "device_limits", lambda device: limits)
        monkeypatch.setattr(
            launch, "load", lambda image, entry, shared, _: done.append((image, entry, shared)) or done[-1]
        )
        return done

    return on


def kernel(target="sm_80", **options):
    return pv.compile(product(), target, Options(**(SMALL | options)))


@pytest.mark.parametrize(("made_for", "limits"), [
    ("sm_70", H200), ("sm_75", H200), ("sm_80", H200), ("sm_80", replace(H200, arch="sm_80")),
    ("sm_80", Limits("sm_86", 1024, 101376, 65536)),
])  # fmt: skip
def test_code_is_compiled_for_the_gpu_at_hand(loading, made_for, limits):
    done = loading(limits)
    k = kernel(made_for)
    k.loaded()
    ((image, entry, shared),) = done
    assert (arch_of(image), entry, shared) == (limits.arch, "kern0", k.ir.shared_bytes)
    assert k.loaded() is done[0] and len(done) == 1


@pytest.mark.parametrize(("made_for", "there"), [("sm_80", "sm_75"), ("sm_75", "sm_70"), ("sm_80", "sm_61")])
def test_an_older_gpu_is_said_before_anything_is_compiled(loading, monkeypatch, made_for, there):
    done = loading(replace(H200, arch=there))
    monkeypatch.setattr(nvrtc, "compile_cubin", lambda *a, **k: pytest.fail("compiled"))
    with pytest.raises(WrongGpu, match=f"kern0 is made for {made_for}, this GPU is {there}: it is older") as wrong:
        kernel(made_for).loaded()
    assert "auto" in wrong.value.hint and not done


def test_instructions_of_one_gpu_alone(loading):
    loading(replace(H200, arch="sm_100"))
    made = replace(kernel("sm_70"), target=replace(pv.targets["sm_70"], name="sm_90a"))
    with pytest.raises(WrongGpu, match="sm_90a's instructions are of that GPU alone"):
        made.loaded()


@pytest.mark.parametrize(("limits", "words"), [
    (Limits("sm_86", 1024, 4096, 65536), r"needs \d+ bytes of shared memory a block, this GPU has 4096"),
    (Limits("sm_86", 32, 101376, 65536), "needs 64 threads a block, this GPU has 32"),
])  # fmt: skip
def test_blocks_that_are_too_large_are_said_with_both_numbers(loading, monkeypatch, limits, words):
    done = loading(limits)
    monkeypatch.setattr(nvrtc, "compile_cubin", lambda *a, **k: pytest.fail("compiled"))
    k = kernel("sm_75")
    with pytest.raises(WrongGpu, match=words) as wrong:
        k.loaded()
    assert "made for sm_75, this GPU is sm_86" in wrong.value.where and not done


def test_too_few_registers_are_said_with_both_numbers(loading):
    done = loading(Limits("sm_86", 1024, 101376, 2048))
    with pytest.raises(WrongGpu, match=r"needs \d+ registers a block, this GPU has 2048"):
        kernel("sm_75").loaded()
    assert not done
    check_registers("kern0", replace(H200, registers=64 * 40), 64, 33)  # given out by eights
    with pytest.raises(WrongGpu, match="needs 2560 registers"):
        check_registers("kern0", replace(H200, registers=64 * 40 - 1), 64, 33)


def test_machine_code_for_an_older_architecture_is_refused():
    with pytest.raises(UnsupportedArch, match="made for sm_80, whose instructions sm_75 doesn't have"):
        kernel("sm_80").compiled("sm_75")
    assert arch_of(kernel("sm_75").compiled("sm_86").image) == "sm_86"


@pytest.mark.parametrize(("made_for", "there", "loads"), [
    ("sm_80", "sm_80", True), ("sm_80", "sm_86", True), ("sm_86", "sm_80", False), ("sm_80", "sm_90", False),
    ("sm_90a", "sm_90", True), ("sm_70", "sm_75", True), ("sm_90", "sm_80", False),
])  # fmt: skip
def test_code_for_another_architecture_is_never_launched(monkeypatch, made_for, there, loads):
    monkeypatch.setattr(gpu, "_missing", lambda: None)
    monkeypatch.setattr(launch, "device_arch", lambda: there)
    monkeypatch.setitem(sys.modules, "cuda.core", types.SimpleNamespace(ObjectCode=None))
    monkeypatch.setitem(sys.modules, "numba", types.SimpleNamespace(cuda=_Reached()))
    image = nvrtc.compile_cubin(COPY, made_for, name="copy").image
    with pytest.raises(_Reached.Here if loads else LaunchFailed) as found:
        launch.load(image, "copy")
    if not loads:
        assert f"machine code for {made_for}, this GPU is {there}" in str(found.value)


class _Reached:
    """Stands for numba.cuda; whoever asks it for a context has passed all checks."""

    class Here(Exception):
        pass

    def current_context(self):
        raise self.Here
