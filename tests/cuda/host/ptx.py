"""Inline PTX as C++: a strict parser of asm statements, and the instructions that the shim has.

An asm statement becomes a block: its operands in variables of their registers' types, each instruction a call of
`ptx_NAME` (`ptx.h`), then the outputs' assignments. What `INSTRUCTIONS` doesn't have, to its last modifier, is an
error, and so is what the manual forbids or a compiler may break: operands of other types or numbers, an output that is
never written or written before an input is read, an instruction that others wait for without `volatile`, one that
writes memory without a clobber that says so, one that the architecture doesn't have.

Source: PTX ISA, and "Using Inline PTX Assembly in CUDA".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

TYPES = {"h": "unsigned short", "r": "unsigned", "l": "unsigned long long", "f": "float", "p": "bool"}
"""The C++ types of registers by the letters of their constraints; "n" is a constant, "p" a predicate."""

BYTES = {"h": 2, "r": 4, "l": 8, "f": 4}
REGISTERS = {"b16": "h", "u16": "h", "f16": "h", "b32": "r", "u32": "r", "s32": "r", "f32": "f", "b64": "l", "u64": "l"}
REGISTERS["pred"] = "p"


class Untranslatable(LookupError):
    """An asm statement that is wrong, or that the shim doesn't have."""


@dataclass(frozen=True)
class Instruction:
    """What an instruction takes.

    Parameters
    ----------
    operands : of each its registers' letter, how many (a vector in braces where not one), "=" before those that are
        written, [] around addresses; "n" is a constant, and one behind "?" may be missing. "&f": registers that are
        written later, by their addresses, "&r": read; "[lr2]": an address and coordinates; "_": a result that nobody
        wants.
    arch : the first compute capability that has it.
    volatile : whether the statement has to say so: the instruction does more than its outputs show.
    memory : whether the statement has to name memory among what it changes.
    own : whether later compute capabilities don't have it, as only "sm_90a" says.
    function : that the shim has for it; "" is the one of its name.
    """

    operands: tuple[str, ...]
    arch: int = 70
    volatile: bool = False
    memory: bool = False
    own: bool = False
    function: str = ""


def _mma(kind: str, layouts: str, d: int, a: int, b: int, arch: int) -> tuple[str, Instruction]:
    """An mma needs no volatile: what it does is in its outputs."""
    return f"{layouts}.f32.{kind}.{kind}.f32", Instruction((f"=f{d}", f"r{a}", f"r{b}", f"f{d}"), arch)


def _table() -> Iterator[tuple[str, Instruction]]:
    for a in ("row", "col"):
        for b in ("row", "col"):
            yield _mma("f16", f"mma.sync.aligned.m8n8k4.{a}.{b}", 8, 2, 2, 70)
    for kind, since in (("f16", 75), ("bf16", 80)):
        yield _mma(kind, "mma.sync.aligned.m16n8k8.row.col", 4, 2, 1, since)
        yield _mma(kind, "mma.sync.aligned.m16n8k16.row.col", 4, 4, 2, 80)
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            name = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
            yield name, Instruction((f"=r{count}", "[r]"), 75, volatile=True)
    for cache in ("ca", "cg"):
        for hint in ("", ".L2::64B", ".L2::128B", ".L2::256B"):
            name = f"cp.async.{cache}.shared.global{hint}"
            yield name, Instruction(("[r]", "[l]", "n", "?r"), 80, volatile=True, memory=True)
    yield "cp.async.commit_group", Instruction((), 80, volatile=True)
    yield "cp.async.wait_group", Instruction(("n",), 80, volatile=True, memory=True)
    yield "cp.async.wait_all", Instruction((), 80, volatile=True, memory=True)
    yield "cvt.f32.f16", Instruction(("=f", "h"))
    yield "cvt.rn.f16.f32", Instruction(("=h", "f"))
    yield "cvt.rn.f16x2.f32", Instruction(("=r", "f", "f"), 80)
    yield "cvt.rn.bf16.f32", Instruction(("=h", "f"), 80)
    yield "cvt.rn.bf16x2.f32", Instruction(("=r", "f", "f"), 80)
    yield "cvt.f32.bf16", Instruction(("=f", "h"), 90)
    yield "set.lt.u32.f16x2", Instruction(("=r", "r", "r"))
    yield "set.lt.u32.bf16x2", Instruction(("=r", "r", "r"), 90)
    yield "mov.b32 pack", Instruction(("=r", "h2"))
    yield "mov.b32 unpack", Instruction(("=h2", "r"))
    yield "mov.b32", Instruction(("=r", "r"))
    yield "mov.b32 float", Instruction(("=f", "r"))
    yield "setp.ne.b32", Instruction(("=p", "r", "r"))
    yield "selp.b32", Instruction(("=r", "r", "r", "p"))
    yield "mul.wide.s32", Instruction(("=l", "r", "r"))


def _hopper() -> Iterator[tuple[str, Instruction]]:
    """What came with compute capability 9.0."""

    def does(*operands: str, own: bool = False, function: str = "", memory: bool = True) -> Instruction:
        return Instruction(operands, 90, True, memory, own, function)

    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            yield f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16", does("[r]", f"r{count}")
    yield "elect.sync", does("=p", "r", memory=False)
    for way in ("inc", "dec"):
        yield f"setmaxnreg.{way}.sync.aligned.u32", does("n", own=True, memory=False)
    yield "bar.sync", Instruction(("r", "r"), 70, volatile=True, memory=True)
    yield "mbarrier.init.shared::cta.b64", does("[r]", "r")
    for name in ("fence.mbarrier_init.release.cluster", "fence.proxy.async", "fence.proxy.async.shared::cta"):
        yield name, does()
    for space in ("shared::cta", "shared::cluster", "release.cluster.shared::cluster"):
        yield f"mbarrier.arrive.{space}.b64", does("_", "[r]")
    yield "mbarrier.arrive.expect_tx.shared::cta.b64", does("_", "[r]", "r")
    yield "mbarrier.try_wait.parity.shared::cta.b64", does("=p", "[r]", "r")
    yield "prefetch.tensormap", does("[l]", memory=False)
    yield "griddepcontrol.wait", does()
    yield "griddepcontrol.launch_dependents", does()
    load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    yield load, does("[r]", "[lr2]", "[r]")
    yield f"{load}.multicast::cluster", does("[r]", "[lr2]", "[r]", "h")
    yield "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", does("[lr2]", "[r]")
    yield "cp.async.bulk.commit_group", does(memory=False)
    for read in ("", ".read"):
        yield f"cp.async.bulk.wait_group{read}", does("n")
    for n in range(8, 257, 8):
        for kind in ("f16", "bf16"):
            operands = f"&f{n // 2}", "l", "l", "p", "n", "n", "n", "n"
            function = f"ptx_wgmma<{n}, {str(kind == 'bf16').lower()}>"
            name = f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{kind}.{kind}"
            yield name, does(*operands, own=True, function=function, memory=False)
            operands = f"&f{n // 2}", "&r4", "l", "p", "n", "n", "n"
            function = function.replace("ptx_wgmma", "ptx_wgmma_of_registers")
            yield f"{name} of registers", does(*operands, own=True, function=function, memory=False)
    yield "wgmma.fence.sync.aligned", does(own=True)
    yield "wgmma.commit_group.sync.aligned", does(own=True)
    yield "wgmma.wait_group.sync.aligned", does("n", own=True)
    yield "mapa.shared::cluster.u32", Instruction(("=r", "r", "r"), 90)
    yield "mov.u32 cluster_ctarank", does("=r", memory=False)
    for aligned in ("", ".aligned"):
        for order in ("arrive", "arrive.release", "arrive.relaxed", "wait", "wait.acquire"):
            yield f"barrier.cluster.{order}{aligned}", does()
    for count, vector in ((1, ""), (2, ".v2"), (4, ".v4")):
        yield f"ld.shared::cluster{vector}.f32", does(f"=f{count}", "[r]")
    for count, vector in ((1, ""), (4, ".v4")):
        yield f"ld.shared::cluster{vector}.u32", does(f"=r{count}", "[r]")


INSTRUCTIONS = dict(_table()) | dict(_hopper())


# ---- statements in a text


@dataclass
class Asm:
    """An asm statement, taken apart.

    Parameters
    ----------
    template : its instructions.
    operands : (constraint, expression), outputs first.
    outputs : how many of them.
    clobbers : what else it changes.
    """

    template: str
    operands: list[tuple[str, str]]
    outputs: int
    clobbers: list[str]
    volatile: bool


_SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\b(?:asm|__asm__)\b', re.S)
_HEAD = re.compile(r"(?:asm|__asm__)(\s+(?:volatile|__volatile__))?\s*\(")
_STRING = re.compile(r'\s*"((?:\\.|[^"\\\n])*)"\s*')
_ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\\\": "\\"}


def translated(text: str, arch: int = 90, own: bool = False) -> str:
    """A CUDA text for compute capability `arch` with its asm statements as C++; no line moves.

    Parameters
    ----------
    own : whether it is for that one alone, "sm_90a", and has what later ones haven't.

    Raises
    ------
    Untranslatable

    >>> for statement in translated('asm("mov.b32 %0, %1;" : "=r"(x) : "r"(y));').split("; "):
    ...     print(statement)
    { static_assert(sizeof(x) == 4)
    static_assert(sizeof(y) == 4)
    unsigned asm_0
    unsigned asm_1 = (unsigned)(y)
    { unsigned d0[1]
    unsigned s1[1] = {asm_1}
    ptx_mov_b32(d0, s1)
    asm_0 = d0[0]
    } x = asm_0
    }
    """
    out, done = [], 0
    while found := _next_asm(text, done):
        start, end = found
        statement, after = _parsed(text, start, end)
        out += [text[done:start], _block(statement, arch, own, start), "\n" * text[start:after].count("\n")]
        done = after
    return "".join([*out, text[done:]])


def _next_asm(text: str, at: int) -> tuple[int, int] | None:
    """Where the next asm statement starts, and where its parenthesis ends."""
    for found in _SKIPPED.finditer(text, at):
        if found[0] in ("asm", "__asm__"):
            head = _HEAD.match(text, found.start())
            if head is None:
                raise Untranslatable(f"an asm statement in another form: {text[found.start() :].splitlines()[0]}")
            return found.start(), _closing(text, head.end() - 1)
    return None


def _closing(text: str, at: int) -> int:
    """The place of the parenthesis that closes the one at a place."""
    depth = 0
    for found in re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|[()]').finditer(text, at):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not depth:
            return found.start()
    raise Untranslatable(f"an asm statement without an end: {text[at:].splitlines()[0]}")


def _parsed(text: str, start: int, end: int) -> tuple[Asm, int]:
    """The statement, and the place behind its semicolon."""
    head = _HEAD.match(text, start)
    assert head is not None
    semicolon = re.compile(r"\s*;").match(text, end + 1)
    sections = _split(text[head.end() : end], ":")
    if semicolon is None or not 1 <= len(sections) <= 4:
        raise Untranslatable(f"an asm statement in another form: {text[start:end]}")
    template, *lists = sections
    outs, ins, clobbers = ([s for s in _split(x, ",") if s.strip()] for x in (*lists, "", "", "")[:3])
    operands = [_operand(x) for x in (*outs, *ins)]
    for n, (constraint, _) in enumerate(operands):
        form = r"[=+]&?[hrlf]" if n < len(outs) else r"[hrlfn]"
        if not re.fullmatch(form, constraint):
            raise Untranslatable(f"operand %{n} with the constraint {constraint!r} in {text[start:end]}")
    made = Asm(_joined(template), operands, len(outs), [_joined(c) for c in clobbers], head[1] is not None)
    return made, semicolon.end()


def _split(text: str, by: str) -> list[str]:
    """The parts of a text between separators that are in no parentheses and no string."""
    parts, depth, last = [], 0, 0
    for found in re.compile(r'"(?:\\.|[^"\\\n])*"|[()\[\]{}]|' + re.escape(by)).finditer(text):
        if found[0] == by and not depth:
            parts.append(text[last : found.start()])
            last = found.end()
        depth += (found[0] in "([{") - (found[0] in ")]}") if len(found[0]) == 1 else 0
    return [*parts, text[last:]]


def _joined(text: str) -> str:
    """String literals, one behind the other."""
    if not re.fullmatch(f"(?:{_STRING.pattern})+", text):
        raise Untranslatable(f"not string literals: {text}")
    whole = "".join(_STRING.findall(text))
    return re.sub(r"\\.", lambda m: _ESCAPES[m[0]], whole)


def _operand(text: str) -> tuple[str, str]:
    found = re.fullmatch(r'\s*"([^"]*)"\s*\((.*)\)\s*', text, re.S)
    if found is None:
        raise Untranslatable(f"an operand in another form: {text}")
    return found[1], " ".join(found[2].split())


# ---- instructions


@dataclass
class _Block:
    """A statement's instructions on their way to C++.

    Parameters
    ----------
    number : the statement's, for its labels.
    locals : letters of the registers that the instructions declare.
    read, written : operands' numbers; `fresh` are those that the instruction at hand writes.
    held : operands whose addresses an instruction takes: it writes them later.
    """

    asm: Asm
    arch: int
    own: bool
    number: int
    locals: dict[str, str] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    fresh: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)


def _block(asm: Asm, arch: int, own: bool, number: int) -> str:
    """A statement in C++."""
    if not asm.template.strip() and all(constraint[0] == "+" for constraint, _ in asm.operands):
        return "{}"  # values that compilers don't know any more, and that nothing changes
    block = _Block(asm, arch, own, number)
    lines = [_instruction(x, block) for x in _instructions(asm.template)]
    sizes, variables, back = [], [], []
    for n, (constraint, value) in enumerate(asm.operands):
        letter = constraint[-1]
        if letter == "n":
            variables.append(f"constexpr int asm_{n} = ({value});")
            continue
        sizes.append(f"static_assert(sizeof({value}) == {BYTES[letter]});")
        if n in block.held:
            continue
        start = "" if constraint[0] == "=" else f" = ({TYPES[letter]})({value})"
        variables.append(f"{TYPES[letter]} asm_{n}{start};")
        back += [f"{value} = asm_{n};"] if n < asm.outputs else []
    unread = {n for n in range(len(asm.operands)) if asm.operands[n][0][0] != "="} - block.read
    unwritten = set(range(asm.outputs)) - block.written
    for numbers, what in ((unread, "read"), (unwritten, "written")):
        if numbers:
            raise Untranslatable(f"%{min(numbers)} is never {what}: {asm.template}")
    return " ".join(["{", *sizes, *variables, *lines, *back, "}"])


def _instructions(template: str) -> list[str]:
    """The instructions, without the braces around them."""
    text = " ".join(template.split())
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1].strip()
    if text and not text.endswith(";"):
        raise Untranslatable(f"no semicolon at the end: {template}")
    return [x.strip() for x in text.split(";") if x.strip()]


_LABEL = re.compile(r"([a-z_]\w*):(?!:)\s*")
_BRANCH = re.compile(r"(?:@(!?)(\w+) )?bra (\w+)")


def _instruction(text: str, block: _Block) -> str:
    """An instruction in C++."""
    if label := _LABEL.match(text):
        return f"{label[1]}_{block.number}: {_instruction(text[label.end() :], block)}"
    if branch := _BRANCH.fullmatch(text):
        return _jump(block, *branch.groups(), text)
    name, _, rest = text.partition(" ")
    if name == ".reg":
        kind, _, names = rest.strip().partition(" ")
        letter = REGISTERS.get(kind.strip("."))
        if letter is None:
            raise Untranslatable(f"registers of another type: {text}")
        made = [n.strip() for n in names.split(",")]
        block.locals |= dict.fromkeys(made, letter)
        return f"{TYPES[letter]} {', '.join(f'reg_{n}' for n in made)};"
    operands = [x.strip() for x in _split(rest, ",") if x.strip()]
    name, operands = _variant(block, name, operands)
    known = INSTRUCTIONS.get(name)
    if known is None:
        raise Untranslatable(f"no function of the shim is for {text!r}")
    _check_there(block, name, known)
    needed = [x for x in known.operands if not x.startswith("?")]
    if not len(needed) <= len(operands) <= len(known.operands):
        raise Untranslatable(f"{name} has {len(known.operands)} operands: {text}")
    before, after, arguments = [], [], []
    for n, (form, given) in enumerate(zip(known.operands, operands)):
        _place(block, n, form.lstrip("?"), given, before, after, arguments, text)
    _check_early(block, known, operands, text)
    block.written |= block.fresh
    function = known.function or "ptx_" + re.sub(r"[.: ]+", "_", name)
    return " ".join(["{", *before, f"{function}({', '.join(arguments)});", *after, "}"])


def _variant(block: _Block, name: str, operands: list[str]) -> tuple[str, list[str]]:
    """What an instruction is called here, whose operands tell which one it is."""
    if name == "mov.b32" and any("{" in x for x in operands):
        return name + (" unpack" if operands[0].startswith("{") else " pack"), operands
    first = re.fullmatch(r"%(\d+)", operands[0]) if operands else None
    if name == "mov.b32" and first and int(first[1]) < block.asm.outputs:
        return name + " float" * (block.asm.operands[int(first[1])][0][-1] == "f"), operands
    if name == "mov.u32" and operands[-1].lstrip("%") == "cluster_ctarank":
        return f"{name} cluster_ctarank", operands[:-1]
    if name.startswith("wgmma.mma_async") and len(operands) > 1 and operands[1].startswith("{"):
        return f"{name} of registers", operands
    if name == "elect.sync" and operands[0].startswith("_|"):  # the lane's number, and whether it is this one
        return name, [operands[0][2:], *operands[1:]]
    return name, operands


def _check_there(block: _Block, name: str, known: Instruction) -> None:
    if known.arch > block.arch:
        raise Untranslatable(f"sm_{block.arch} has no {name}, which came with sm_{known.arch}")
    if known.own and not block.own:
        raise Untranslatable(f"sm_{block.arch} has no {name}, but sm_{known.arch}a has")
    if known.volatile and not block.asm.volatile:
        raise Untranslatable(f"{name} without volatile")
    if known.memory and "memory" not in block.asm.clobbers:
        raise Untranslatable(f'{name} without "memory" among what is changed')


def _jump(block: _Block, negated: str | None, predicate: str | None, label: str, text: str) -> str:
    """A branch, to a label that stands before it."""
    if not re.search(rf"\b{label}:", block.asm.template.split(text)[0]):
        raise Untranslatable(f"a branch to {label}, which is not before it: {text}")
    if predicate is None:
        return f"goto {label}_{block.number};"
    return f"if ({'!' if negated else ''}{_value(block, predicate, 'p', False, text)}) goto {label}_{block.number};"


def _place(block: _Block, n: int, form: str, given: str, before: list, after: list, arguments: list, text: str) -> None:
    """One operand of an instruction: variables before the call, assignments after it, the argument."""
    if form == "_":
        if given != "_":
            raise Untranslatable(f"operand {given} of {text}: the shim has it for _ alone")
        return
    if form == "[lr2]":
        address, _, coordinates = given.partition(",")
        _place(block, n, "[l]", f"{address}]", before, after, arguments, text)
        _place(block, n + 100, "r2", coordinates.strip().removesuffix("]"), before, after, arguments, text)
        return
    writes, address = form.startswith("="), form.startswith("[")
    letter, count = form.strip("=&[]")[0], int(form.strip("=&[]")[1:] or 1)
    if address != (given.startswith("[") and given.endswith("]")):
        raise Untranslatable(f"operand {given} of {text}: {'an' if address else 'no'} address is needed")
    vector = given.startswith("{")
    if vector and not given.endswith("}"):
        raise Untranslatable(f"operand {given} of {text}")
    names = [x.strip() for x in given.strip("[]{}").split(",")]
    if len(names) != count or (count > 1 and not vector):
        raise Untranslatable(f"operand {given} of {text}: {count} registers are needed")
    if form.startswith("&"):
        function = "registers" if letter == "f" else "read_later"
        arguments.append(f"{function}({', '.join(_held(block, x, letter, text) for x in names)})")
        return
    values = [_value(block, x, letter, writes, text) for x in names]
    if letter == "n":
        arguments.append(values[0])
        return
    name = f"{'d' if writes else 's'}{n}"
    start = "" if writes else " = {" + ", ".join(values) + "}"
    before.append(f"{TYPES[letter]} {name}[{count}]{start};")
    after += [f"{value} = {name}[{k}];" for k, value in enumerate(values)] if writes else []
    arguments.append(name)


def _held(block: _Block, name: str, letter: str, text: str) -> str:
    """A register that an instruction reads and writes some time later; one of "r" it reads."""
    n = int(name[1:]) if re.fullmatch(r"%\d+", name) else len(block.asm.operands)
    constraint = "r" if letter == "r" else f"+{letter}"
    if n >= len(block.asm.operands) or block.asm.operands[n][0] != constraint:
        raise Untranslatable(f'{name} is no operand "{constraint}": {text}')
    if n in block.held:
        raise Untranslatable(f"{name} twice: {text}")
    block.held.add(n)
    block.read.add(n)
    if letter != "r":
        block.fresh.add(n)
    return f"({block.asm.operands[n][1]})"


def _value(block: _Block, name: str, letter: str, writes: bool, text: str) -> str:
    """A register or a constant in C++; takes note of what is read and written."""
    if re.fullmatch(r"-?\d+|0x[0-9a-f]+", name) and not writes and (letter in "nr" or (letter == "p" and name in "01")):
        return name
    if re.fullmatch(r"%\d+", name) and int(name[1:]) < len(block.asm.operands):
        n = int(name[1:])
        constraint = block.asm.operands[n][0]
        has = constraint[-1]
        if has == "n" and letter == "r" and not writes:
            has = "r"
        if writes and n >= block.asm.outputs:
            raise Untranslatable(f"{name} is written and no output: {text}")
        if not writes and constraint[0] == "=" and n not in block.written:
            raise Untranslatable(f"{name} is read and no input: {text}")
        (block.fresh if writes else block.read).add(n)
    elif name in block.locals:
        return _typed(f"reg_{name}", name, block.locals[name], letter, text)
    else:
        raise Untranslatable(f"{name} is neither an operand nor a register: {text}")
    return _typed(f"asm_{n}", name, has, letter, text)


def _typed(value: str, name: str, has: str, letter: str, text: str) -> str:
    if has != letter:
        raise Untranslatable(f'{name} is a register of type "{has}", "{letter}" is needed: {text}')
    return value


def _check_early(block: _Block, known: Instruction, operands: list[str], text: str) -> None:
    """No input is read after an output was written that may share its register ("=" without "&")."""
    reads = {
        int(n)
        for form, given in zip(known.operands, operands)
        if not form.startswith("=")
        for n in re.findall(r"%(\d+)", given)
    }
    shared = {n for n in block.written if re.fullmatch(r"=[a-z]", block.asm.operands[n][0])}
    late = {n for n in reads if n >= block.asm.outputs and block.asm.operands[n][0] != "n"}
    if shared and late:
        raise Untranslatable(f"%{min(late)} is read after %{min(shared)}, of the same register, was written: {text}")
