"""Pointwise operations: one device function for a formula, on eight values of each operand, in fp32.

What is computed is written by `text.expression`, without what changes nothing. Division, square roots and the
functions of CUDA's mathematics library are built into the compiler.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from polyvolta.cuda.ir.kernel_ir import CHUNK, LANES, KernelIR, Pointwise
from polyvolta.cuda.ir.walk import operations
from polyvolta.cuda.target.index_map import IndexMap
from polyvolta.cuda.text.c_expr import c_expr
from polyvolta.cuda.text.expression import OR, defined, products_of, relation, spell
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.values import PACK_HALF8, RELU_HALF2, UNPACK_HALF8, WORDS
from polyvolta.cuda.text.names import OWN_NAMES, c_name
from polyvolta.graph.functions.formula import Call, Formula, Input, inputs, simplified

RELU = Call("relu", (Input(0),))
SCALAR = "scalar "


def products(ir: KernelIR) -> frozenset[str]:
    """The fp32 arrays in which pointwise operations leave what a compiler may see as a product."""
    kinds = {r.name: r.kind for r in ir.registers}
    made = [op for op in operations(ir.body) if isinstance(op, Pointwise) and kinds[op.target.array] == "float"]
    found: set[str] = set()
    while True:
        new = {op.target.array for op in made if _is_product(op, operand_kinds(op, kinds, found))}
        if new <= found:
            return frozenset(found)
        found |= new


def operand_kinds(op: Pointwise, kinds: Mapping[str, str], found: Collection[str]) -> tuple[str, ...]:
    """What `pointwise` is told of the operands, where those arrays hold products."""
    return tuple(
        f"{SCALAR}{e}" if isinstance(e, str) else "product" if e.array in found else kinds[e.array] for e in op.operands
    )


def _is_product(op: Pointwise, kinds: Sequence[str]) -> bool:
    """Whether a compiler may see an operation's value as a product."""
    formula = simplified(op.formula)
    formula = defined(formula)[formula]
    return formula in products_of(formula, _positions(kinds))


_RANGES = {"lane": (0, LANES - 1), "i": (0, CHUNK - 1)}


def _given(masked: bool, rooms: Sequence[str]) -> tuple[str, ...]:
    """The parameters that say which values are computed."""
    if rooms:
        return ("int lane", *(f"int {r}" for r in rooms))
    return ("int count",) if masked else ()


def _positions(kinds: Sequence[str]) -> list[int]:
    return [p for p, kind in enumerate(kinds) if kind == "product"]


@lru_cache(maxsize=256)
def pointwise(
    name: str,
    formula: Formula,
    kinds: tuple[str, ...],
    target: str,
    masked: bool,
    own: IndexMap | None = None,
    packed: bool = False,
) -> DeviceFunction:
    """The function of a formula.

    Parameters
    ----------
    name : what the operation is called.
    kinds : of the operands: "half", "float", "product" (eight values each) or "scalar NAME"; a product is fp32 that the
        same thread computed, see `products`.
    target : "half" or "float".
    masked : whether only the first `count` values are computed, and the others 0.
    own : where values are beside the first one, of a lane: those that are within `room` are computed then.
    packed : whether what is computed of two values at once may be: what makes no new value, since that is exact.
    """
    formula = simplified(formula)
    if packed and not masked and (kinds, target, formula) == (("half",), "half", RELU):
        return _in_words(name, "y = relu(x0), two values at once", RELU_HALF2)
    used = inputs(formula)
    parameters, before, names, read = [], [], [], []
    for p, kind in enumerate(kinds):
        scalar = kind.removeprefix(SCALAR) if kind.startswith(SCALAR) else ""
        x = scalar if scalar and not OWN_NAMES.fullmatch(scalar) else f"x{p}"
        names.append(x)
        read.append(x if scalar else f"{x}[i]")
        match kind:
            case "half":
                parameters.append(f"half8 packed{p}")
                before += [f"float {x}[8];", f"unpack_half8({x}, packed{p});"] if p in used else []
            case "float" | "product":
                parameters.append(f"const float (&{x})[8]")
            case _:
                parameters.append(f"float {x}")
    spelled = spell(formula, read, _positions(kinds))
    lines = spelled.lines
    rooms = [f"room{d}" for d in range(len(own.outputs))] if own is not None else []
    within = " && ".join(f"{c_expr(e, _RANGES)} < {r}" for e, r in zip(own.exprs, rooms)) if own is not None else ""
    within = within or "i < count"
    value = f"{within} ? {spelled.value.within(OR)} : 0.0f" if masked else spelled.value.text
    loop = ["#pragma unroll", "for (int i = 0; i < 8; i += 1) {", *(f"  {x}" for x in lines), f"  y[i] = {value};", "}"]
    if not lines:
        loop = [*loop[:1], "for (int i = 0; i < 8; i += 1)", f"  y[i] = {value};"]
    half = target == "half"
    needs = (*((UNPACK_HALF8,) if before else ()), *((PACK_HALF8,) if half else ()))
    body = (*before, *(["float y[8];"] if half else []), *loop, *(["return pack_half8(y);"] if half else []))
    about = f"y = {relation(formula, names, spelled.names)}, in fp32" + (", rounded to fp16" if half else "")
    return DeviceFunction(
        f"{c_name(name)}{'_inside' if masked else ''}",
        "half8" if half else "void",
        (*(() if half else ("float (&y)[8]",)), *parameters, *_given(masked, rooms)),
        body,
        about + ("; values without room are 0" if rooms else "; values from number count on are 0" if masked else ""),
        needs,
    )


def _in_words(name: str, about: str, function: DeviceFunction) -> DeviceFunction:
    """The function of a formula that another one computes of two values of 16 bits."""
    values = (f"{function.name}(packed0.{word})" for word in WORDS)
    return DeviceFunction(
        c_name(name), "half8", ("half8 packed0",), (f"return make_uint4({', '.join(values)});",), about, (function,)
    )
