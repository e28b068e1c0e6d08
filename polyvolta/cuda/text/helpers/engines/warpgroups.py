"""Products of a warpgroup, `wgmma`, of operands that lie in shared memory, the left one in registers perhaps.

An operand is a descriptor of 64 bits. Its upper half is a constant, and so is its lower one but for the start, which
counts in chunks; so a start that is further by some chunks is a sum in 32 bits, and what loops add to it stays a
constant in that sum.

The accumulators are operands of every instruction. ptxas lets products run on side by side only where it sees that
nobody else touches these registers from the first one to the wait, and says so where it can't ("wgmma.mma_async
instructions are serialized", C7510 and its neighbours). What it takes:

- What loops around products index registers by is unrolled; the loop over k tiles is not, for copies of its body have
  their accumulators moved in between.
- A sum begins with its first product (`Wgmma.adds`); zeros are for who has no product at all, best behind the last
  wait. Zeros that products are added to are written by instructions that stay: a plain constant is put into the
  registers at the loop's first trip, behind the fence. Even so, some ends of kernels make ptxas serialise them (C7514,
  C7518).
- The last wait changes the accumulators for all that compilers know. Without that they read them before it, since
  nothing in the wait's assembly says whose end it waits for.
- The number of a warp comes out of a shuffle, so that it is the same in all lanes to compilers, too: then descriptors
  are computed once for a warp, in its uniform registers, and not moved there for each product (12 instructions less of
  60 in a trip).
- Registers of a left operand take turns, step by step of k: one set is written while the product of the other one runs,
  which the wait for all but the newest product has left running. Four sets, or one for a tile, are one too many for
  ptxas beside 128 accumulators (C7512).
- A commit without products before it has one injected (C7519, no loss): ptxas wants something to commit.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
"""

from __future__ import annotations

from functools import cache

from polyvolta.cuda.target.descriptors import Descriptor
from polyvolta.cuda.text.helpers.device_function import DeviceFunction
from polyvolta.cuda.text.helpers.matrix_load import SHARED_ADDRESS


@cache
def descriptor(d: Descriptor) -> DeviceFunction:
    """The descriptor of what starts at a chunk of a tile."""
    high, low = divmod(d.constant, 2**32)
    constant = f" + {low:#x}" if low else ""
    return DeviceFunction(
        f"describe_{d.major}_major",
        "unsigned long long",
        ("const half8 *tile", "int chunk"),
        (
            # in a cluster an address says which block's memory it is in, in bits that are another field's here
            f"const unsigned start = shared_address(tile) / 16 % 16384{constant} + chunk;",
            f"return {high:#x}ull << 32 | start;",
        ),
        f"an operand that starts at a chunk of a tile, as the tensor cores find it: {d}",
        (SHARED_ADDRESS,),
    )


@cache
def product(
    shape: tuple[int, int, int], kind: str, majors: tuple[str, str], width: int, choice: bool = False
) -> DeviceFunction:
    """d += a @ b by a warpgroup, of two operands in shared memory.

    Parameters
    ----------
    majors : of A and B, "k" or "mn".
    width : values of an element of the accumulators' array.
    choice : whether it may be d = a @ b: where `adds` is false.
    """
    return _product("", shape, kind, majors, width, choice, "unsigned long long a", ("a",), "l")


@cache
def product_of_registers(
    shape: tuple[int, int, int], kind: str, majors: tuple[str], width: int, choice: bool = False
) -> DeviceFunction:
    """The same with a in registers, four of each thread, which nobody writes until the product was waited for.

    Parameters
    ----------
    majors : of B.
    """
    words = tuple(f"a.{x}" for x in "xyzw")
    return _product("_of_registers", shape, kind, majors, width, choice, "const half8 &a", words, "r")


def _product(
    suffix: str, shape: tuple[int, int, int], kind: str, majors: tuple[str, ...], width: int, choice: bool,
    parameter: str, a: tuple[str, ...], letter: str,
) -> DeviceFunction:  # fmt: skip
    """The function of a product whose left operand is so many registers, or one descriptor."""
    m, n, k = shape
    ptx = {"half": "f16", "bfloat16": "bf16"}[kind]
    count = n // 2
    registers = [f"%{i}" for i in range(count)]
    lines = ", ".join(registers)
    outs = ", ".join(f'"+f"(d[{i // width}][{i % width}])' for i in range(count))
    turned = ", ".join(str(int(major != "k")) for major in majors)
    name = f"wgmma_m{m}n{n}k{k}{suffix}"
    right = count + len(a)
    left = ", ".join(f"%{i}" for i in range(count, right))
    left = f"{{{left}}}" if len(a) > 1 else left
    start = f'"{{.reg .pred adds; setp.ne.b32 adds, %{right + 1}, 0;"' if choice else ""
    head, end, given = ("             ", "adds", "}") if choice else ("asm volatile(", "1", "")
    inputs = ', "r"((int)adds)' if choice else ""
    taken = ", ".join(f'"{letter}"({x})' for x in a)
    return DeviceFunction(
        name + "_adding" * choice,
        "void",
        (f"float (*d)[{width}]", parameter, "unsigned long long b", *(("bool adds",) if choice else ())),
        (
            *((f"asm volatile({start}",) if choice else ()),
            f'{head}"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.f32.{ptx}.{ptx} "',
            *_pieces(lines, '             "{', '             "', '}, "'),
            f'             "{left}, %{right}, {end}, 1, 1, {turned};{given}"',
            *_pieces(outs, "             : ", "               ", "", quoted=False),
            f'             : {taken}, "l"(b){inputs});',
        ),
        f"d {'= a @ b, and what d was where it adds' if choice else '+= a @ b'}, {m}x{n}x{k} by a warpgroup together, "
        "some time later",
    )


def _pieces(text: str, first: str, more: str, last: str, quoted: bool = True, width: int = 112) -> list[str]:
    """A list of operands on lines of their own, each a string constant where `quoted`."""
    out, line = [], first
    for part in text.split(", "):
        if len(line) + len(part) + 4 > width:
            out.append(line.rstrip() + (' "' if quoted else ""))
            line = more
        line += part + ", "
    return [*out, line[:-2] + last]


@cache
def zero(values: int) -> DeviceFunction:
    """Accumulators that products are added to become 0, by instructions that compilers leave where they stand."""
    return DeviceFunction(
        "wgmma_zero",
        "void",
        (f"float (&d)[{values}]",),
        ("#pragma unroll", f"for (int i = 0; i < {values}; i += 1)", '  asm volatile("mov.b32 %0, 0;" : "=f"(d[i]));'),
        "d = 0, here: compilers would put a plain constant into the registers where the products have begun",
    )


FENCE = DeviceFunction(
    "fence_products",
    "void",
    (),
    ('asm volatile("wgmma.fence.sync.aligned;" ::: "memory");',),
    "what the warpgroup's threads wrote to registers is there for the products to come",
)

COMMIT = DeviceFunction(
    "commit_products",
    "void",
    (),
    ('asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");',),
    "the warpgroup's products since the last commit are a group",
)


@cache
def wait(pending: int) -> DeviceFunction:
    """The wait for all groups of products but the newest `pending`."""
    return DeviceFunction(
        f"wait_products_but_{pending}",
        "void",
        (),
        (f'asm volatile("wgmma.wait_group.sync.aligned {pending};" ::: "memory");',),
        f"waits for all of the warpgroup's groups of products, but for the newest {pending}",
    )


@cache
def wait_all(extents: tuple[tuple[int, ...], ...]) -> DeviceFunction:
    """The wait for all products.

    Parameters
    ----------
    extents : of each array of accumulators, values last.
    """
    body = ['asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");']
    for name, dims in zip(_names(len(extents)), extents, strict=True):
        pad, at = "", ""
        for letter, extent in zip(INDICES, dims, strict=False):
            body += [f"{pad}#pragma unroll", f"{pad}for (int {letter} = 0; {letter} < {extent}; {letter} += 1)"]
            pad, at = pad + "  ", f"{at}[{letter}]"
        body.append(f'{pad}asm volatile("" : "+f"({name}{at}));')
    arrays = zip(_names(len(extents)), extents, strict=True)
    parameters = tuple(f"float (&{name}){''.join(f'[{n}]' for n in dims)}" for name, dims in arrays)
    about = "waits for all of the warpgroup's products; accumulators change here, so that compilers read none before"
    return DeviceFunction("wait_products", "void", parameters, tuple(body), about)


INDICES = "ijklm"


def _names(count: int) -> list[str]:
    """Of some accumulators."""
    return ["d"] if count == 1 else [f"d{n}" for n in range(count)]


@cache
def registers(count: int, more: bool) -> DeviceFunction:
    """The registers of a warpgroup's threads from here on; taken once others have given up as many."""
    word = "inc" if more else "dec"
    return DeviceFunction(
        f"take_{count}_registers" if more else f"keep_{count}_registers",
        "void",
        (),
        (f'asm volatile("setmaxnreg.{word}.sync.aligned.u32 {count};");',),
        f"each thread of the warpgroup has {count} registers from here on"
        + (", as soon as others have given up so many" if more else ", and gives up the others"),
    )
