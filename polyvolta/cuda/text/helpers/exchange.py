"""The accumulator exchange: stores of a fragment's pieces, loads of eight consecutive values.

Places come from the plan's maps; what is written here is how many bytes a piece has, and which word of what was
loaded becomes which word of the run.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES, Exchange
from polyvolta.cuda.text.helpers.device_function import DeviceFunction, places
from polyvolta.cuda.text.helpers.matrix_load import SHARED_ADDRESS
from polyvolta.cuda.text.helpers.values import PACK_HALF, PACK_HALF2, WORDS, word
from polyvolta.sets.values.simplify import simplify

LANE = {"lane": (0, LANES - 1)}
PIECES = {
    ("half", 1): "fp16",
    ("half", 2): "unsigned",
    ("half", 4): "uint2",
    ("half", 8): "uint4",
    ("float", 1): "float",
    ("float", 2): "float2",
    ("float", 4): "float4",
}


@lru_cache(maxsize=64)
def store(exchange: Exchange, width: int) -> DeviceFunction:
    """Each lane's fragment into the warp's buffer, piece by piece."""
    stored = "float" if exchange.kind == "float" else "half"
    kind = PIECES[stored, len(exchange.pieces[0])]
    single = kind in ("fp16", "unsigned", "float")
    lines = [f"{kind} *piece = ({kind} *)exchange;"]
    named, index = places([simplify(e, LANE) for e in exchange.store.exprs], LANE)
    lines += named
    for values, at in zip(exchange.pieces, index, strict=True):
        if kind == "fp16":
            words = [f"pack_half(acc[{values[0]}])"]
        elif stored == "half":
            words = [f"pack_half2(acc[{i}], acc[{j}])" for i, j in zip(values[::2], values[1::2])]
        else:
            words = [f"acc[{i}]" for i in values]
        made = words[0] if single else f"make_{kind}({', '.join(words)})"
        lines.append(f"piece[{at}] = {made};")
    form = "fp16" if stored == "half" else "fp32"
    count = len(exchange.pieces[0])
    about = f"the lane's accumulator fragment as {form}, in pieces of {count} values"
    return DeviceFunction(
        "exchange_store",
        "void",
        ("half8 *exchange", f"const float (&acc)[{width}]", "int lane"),
        tuple(lines),
        about,
        () if stored == "float" else (PACK_HALF,) if count == 1 else (PACK_HALF2,),
    )


@lru_cache(maxsize=64)
def load(exchange: Exchange, parts: int, stride: int) -> DeviceFunction:
    """Eight consecutive values from the warp's buffer; the sum over `parts` buffers `stride` buffers apart."""
    ranges = LANE | {"round": (0, exchange.rounds - 1)}
    by_round = exchange.rounds > 1
    vectors = [simplify(e if by_round else e.subs({"round": 0}), ranges) for e in exchange.load.exprs]
    named, index = places(vectors, ranges)
    round_ = ("int round",) if by_round else ()
    owns = (
        exchange.owns
        if by_round
        else replace(
            exchange.owns,
            inputs=exchange.owns.inputs[:1],
            outputs=tuple((n, e.subs({"round": 0})) for n, e in exchange.owns.outputs),
        )
    )
    about = f"eight consecutive values of the fragment, from\n{owns}"
    if exchange.kind != "float":
        lines = [
            f"const half8 v = exchange[{index[0]}];",
            f"return make_uint4({', '.join(_half_words(exchange.words))});",
        ]
        return DeviceFunction(
            "exchange_load", "half8", ("const half8 *exchange", *round_, "int lane"), tuple(lines), about
        )
    lines = ["const float4 *vector = (const float4 *)exchange;", *named]
    lines += [f"const float4 low = vector[{index[0]}], high = vector[{index[1]}];"]
    names = [f"{half}.{WORDS[k % 4]}" for half in ("low", "high") for k in range(4)]
    lines += [", ".join(f"v[{i}] = {names[exchange.words[i]]}" for i in range(k, k + 4)) + ";" for k in (0, 4)]
    parameters = ("float (&v)[8]", "const half8 *exchange", *round_, "int lane")
    one = DeviceFunction("exchange_load", "void", parameters, tuple(lines), about)
    if parts == 1:
        return one
    more = (
        f"exchange_load(v, exchange, {'round, ' if round_ else ''}lane);",
        "#pragma unroll",
        f"for (int part = 1; part < {parts}; part += 1) {{",
        "  float more[8];",
        f"  exchange_load(more, exchange + {stride * exchange.chunks} * part, {'round, ' if round_ else ''}lane);",
        "  #pragma unroll",
        "  for (int i = 0; i < 8; i += 1)",
        "    v[i] += more[i];",
        "}",
    )
    about = f"the sum of the eight values over the {parts} buffers of a split K"
    return DeviceFunction("exchange_load_sum", "void", parameters, more, about, (one,))


_IN_BLOCK = DeviceFunction(
    "in_block",
    "unsigned",
    ("unsigned address", "unsigned block"),
    (
        "unsigned there;",
        'asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));',
        "return there;",
    ),
    "the same place of shared memory in another block of the cluster",
)

_LOAD_THERE = DeviceFunction(
    "load_there",
    "float4",
    ("unsigned address",),
    (
        "float4 v;",
        'asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"',
        '             : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address) : "memory");',
        "return v;",
    ),
    "four values of the shared memory of a block of the cluster",
)


@lru_cache(maxsize=64)
def load_of_blocks(exchange: Exchange, parts: int, stride: int) -> DeviceFunction:
    """Eight consecutive values, the sum over the same buffers of `parts` blocks of a cluster, `stride` ranks apart."""
    ranges = LANE | {"round": (0, exchange.rounds - 1)}
    by_round = exchange.rounds > 1
    vectors = [simplify(e if by_round else e.subs({"round": 0}), ranges) for e in exchange.load.exprs]
    named, index = places(vectors, ranges)
    names = [f"{half}.{WORDS[k % 4]}" for half in ("low", "high") for k in range(4)]
    lines = [
        *named,
        "const unsigned own = shared_address(exchange);",
        "#pragma unroll",
        "for (int i = 0; i < 8; i += 1)",
        "  v[i] = -0.0f;  // which changes no sum, not even that of -0.0f",
        "#pragma unroll",
        f"for (int part = 0; part < {parts}; part += 1) {{",
        f"  const unsigned from = in_block(own, first + {stride} * part);" if stride != 1 else
        "  const unsigned from = in_block(own, first + part);",
        f"  const float4 low = load_there(from + 16 * ({index[0]})), high = load_there(from + 16 * ({index[1]}));",
        *("  " + " ".join(f"v[{i}] += {names[exchange.words[i]]};" for i in range(k, k + 4)) for k in (0, 4)),
        "}",
    ]  # fmt: skip
    round_ = ("int round",) if by_round else ()
    parameters = ("float (&v)[8]", "const half8 *exchange", *round_, "int lane", "unsigned first")
    about = f"eight consecutive values of the fragment, the sum of {parts} blocks of the cluster from rank `first` on"
    return DeviceFunction(
        "gather_parts", "void", parameters, tuple(lines), about, (SHARED_ADDRESS, _IN_BLOCK, _LOAD_THERE)
    )


def _half_words(words: tuple[int, ...]) -> list[str]:
    """The four words of a run, from the words x, y, z, w of what was loaded, two values in each."""
    return [word("v", low, high, CHUNK) for low, high in zip(words[::2], words[1::2])]
