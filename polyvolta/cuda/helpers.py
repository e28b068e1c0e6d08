"""The device functions of a kernel's text: one per operation, their indices printed from the operation's maps.

Written by hand are the instructions alone: vector loads and stores, mma, the conversion, __syncwarp. Which
chunk, which lane, which word is printed from ownership maps, layouts and the exchange plan.
"""

from __future__ import annotations

from polyvolta.cuda.c_expr import c_expr, in_steps
from polyvolta.cuda.kernel_ir import CHUNK, Exchange, FragmentLoad, SharedTile
from polyvolta.cuda.macro_mma import MacroMma
from polyvolta.sets import var

WORDS = "xyzw"
LANE = {"lane": (0, 31)}
INLINE = "static __device__ __forceinline__"

LOAD_GLOBAL = f"""\
// M[line, run .. run+7], lines `ld` apart, in one 128-bit load
{INLINE} half8 load_global_128(const half *__restrict__ M, long long line, int run, int ld) {{
  return *(const half8 *)(M + line * ld + run);
}}"""

PACK = f"""\
// two fp32 values, rounded to nearest even, as two fp16 values; lo in the low half
{INLINE} unsigned pack_half2(float lo, float hi) {{
  unsigned packed;
  asm("{{\\n\\t.reg .b16 l, h;\\n\\tcvt.rn.f16.f32 l, %1;\\n\\tcvt.rn.f16.f32 h, %2;\\n\\tmov.b32 %0, {{l, h}};\\n\\t}}"
      : "=r"(packed) : "f"(lo), "f"(hi));
  return packed;
}}"""


def layout_name(order: tuple[int, ...]) -> str:
    """ "row" when the last dimension is contiguous, else "col"."""
    return "row" if order[-1] == len(order) - 1 else "col"


def store_shared_name(operand: str, order: tuple[int, ...]) -> str:
    return f"store_shared_{operand}_{layout_name(order)}_swizzled"


def fragment_load_name(operand: str, order: tuple[int, ...]) -> str:
    return f"hmma_load_{operand}_{layout_name(order)}_swizzled"


def mma_name(macro: MacroMma) -> str:
    return "hmma_" + "_".join(macro.instruction.layouts)


STORE_RESULT = "hmma_store_global_after_reordering"


def line_and_run(names: tuple[str, ...], order: tuple[int, ...]) -> tuple[str, str]:
    """The dimension that numbers lines and the contiguous one."""
    return names[order[0]], names[order[1]]


def store_shared(tile: SharedTile, order: tuple[int, ...], operand: str) -> str:
    """The swizzled store of one chunk."""
    names = tuple(n for n, _ in tile.layout.inputs)
    line, run = line_and_run(names, order)
    chunk = in_steps(tile.layout["chunk"], {run: CHUNK}, tile.layout.ranges)
    ranges = {line: (0, None), run: (0, None)}
    return f"""\
// the chunk that starts at [{line}, {run}] of the tile: {tile.layout}
{INLINE} void {store_shared_name(operand, order)}(half8 *tile, half8 v, int {line}, int {run}) {{
  tile[{c_expr(chunk, ranges)}] = v;
}}"""


def fragment_load(op: FragmentLoad, tile: SharedTile, order: tuple[int, ...], extents: tuple[int, ...]) -> str:
    """The load of one operand fragment: layout o (origin + ownership), for origins at multiples of the fragment."""
    names = tuple(n for n, _ in tile.layout.inputs)
    line, run = line_and_run(names, order)
    own = [e.subs({"i": 0}) for e in op.ownership.exprs]
    at = tile.layout.at(*(var(n) + o for n, o in zip(names, own)))[0]
    chunk = in_steps(at, dict(zip(names, extents)), LANE)
    ranges = {**LANE, line: (0, None), run: (0, None)}
    return f"""\
// the lane's part of the {"x".join(map(str, extents))} fragment at [{", ".join(names)}]: {op.ownership}
{INLINE} half8 {fragment_load_name(op.operand, order)}(const half8 *tile, int {line}, int {run}, int lane) {{
  return tile[{c_expr(chunk, ranges)}];
}}"""


def mma(macro: MacroMma) -> str:
    """The instruction, and the macro-MMA as its sequence of steps."""
    ins = macro.instruction
    n_a, n_b, n_d = len(macro.steps[0].a) // 2, len(macro.steps[0].b) // 2, len(macro.steps[0].d)
    short = "mma_m{}n{}k{}".format(*ins.shape)
    regs = [f"%{k}" for k in range(n_d + n_a + n_b)]
    d, a, b = regs[:n_d], regs[n_d : n_d + n_a], regs[n_d + n_a :]
    outs = ", ".join(f'"+f"(d[{k}])' for k in range(n_d))
    ins_text = ", ".join(f'"r"({x}{k})' for x, n in (("a", n_a), ("b", n_b)) for k in range(n))
    params = ", ".join(f"unsigned {x}{k}" for x, n in (("a", n_a), ("b", n_b)) for k in range(n))
    braces = lambda names: "{" + ", ".join(names) + "}"  # noqa: E731
    steps = "\n".join(f"  {short}(d, {_words('a', s.a)}, {_words('b', s.b)});" for s in macro.steps)
    return f"""\
{INLINE} void {short}(float (&d)[{n_d}], {params}) {{
  asm volatile("{ins.name} "
               "{braces(d)}, {braces(a)}, {braces(b)}, {braces(d)};"
               : {outs}
               : {ins_text});
}}

// macro-MMA {macro.name}: d += a @ b, the warp's four quad-pairs side by side
{INLINE} void {mma_name(macro)}(float (&d)[{macro.values[2]}], half8 a, half8 b) {{
{steps}
}}"""


def _words(name: str, values: tuple[int, ...]) -> str:
    return ", ".join(f"{name}.{WORDS[v // 2]}" for v in values[::2])


def store_result(exchange: Exchange, extents: tuple[int, int]) -> str:
    """The exchange of one accumulator fragment and its 128-bit store."""
    lines = []
    for k, piece in enumerate(exchange.registers):
        word = c_expr(exchange.store.exprs[k], LANE)
        packed = ", ".join(f"pack_half2(acc[{piece[j]}], acc[{piece[j + 1]}])" for j in range(0, len(piece), 2))
        lines.append(f"  const int word{k} = {word};")
        lines.append(f"  ((uint2 *)exchange)[word{k}] = make_uint2({packed});")
    words = ", ".join(f"v.{WORDS[w]}" for w in exchange.words)
    row, col = (c_expr(e, LANE) for e in exchange.owns.exprs)
    stores = "\n".join(lines)
    return f"""\
// the {extents[0]}x{extents[1]} accumulator fragment at C[row, col]: converted to fp16 and exchanged within
// the warp, so that each lane has 8 consecutive values for one 128-bit store: {exchange.owns}
{INLINE} void {STORE_RESULT}(
    half *__restrict__ C, long long row, int col, int ld, const float (&acc)[8], half8 *exchange, int lane) {{
{stores}
  __syncwarp();
  const half8 v = exchange[{c_expr(exchange.load.exprs[0], LANE)}];  // words in the order {exchange.words}
  *(half8 *)(C + (row + {row}) * ld + (col + {col})) = make_uint4({words});
  __syncwarp();
}}"""
