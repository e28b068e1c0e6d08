"""The lines of a kernel's body as printed, and what is read in them."""

import re


def split(inside):
    """Arguments at their own commas."""
    out, depth, start = [], 0, 0
    for at, char in enumerate(inside):
        depth += (char in "([") - (char in ")]")
        if char == "," and not depth:
            out.append(inside[start:at].strip())
            start = at + 1
    return [*out, inside[start:].strip()]


def value(text, names):
    """A printed expression, read as C reads it where nothing that is divided is negative."""
    code = text.replace("&&", " and ").replace("blockIdx_", "blockIdx.")
    code = re.sub(r"^(.*) \? (.*) : (.*)$", r"(\2) if (\1) else (\3)", code)
    code = code.replace("/", "//")
    for name in sorted(names, key=len, reverse=True):
        code = re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", str(names[name]), code)
    return eval(code, {"min": min, "max": max})  # noqa: S307


def called(text):
    """The arguments of `f(...) + more` as one text, and what is added."""
    start, depth = text.index("("), 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if at > start and not depth:
            return text[start + 1 : at], text[at + 1 :].removeprefix(" + ")
    raise ValueError(text)


def element(text, names):
    """`array[i][j]` as (array, indices)."""
    array, *indices = re.split(r"[\[\]]+", text.strip())
    return array, tuple(value(i, names) for i in indices if i)


def place(text, names):
    """`array + offset` as (array, offset)."""
    array, _, offset = text.partition(" + ")
    return array, value(offset, names) if offset else 0


def body(source):
    """The statements and heads of the kernel's body, one line each."""
    joined = re.sub(r",\s*\n\s+", ", ", source[source.index('extern "C"') :])
    joined = re.sub(r"\n\s+(?=([-+*/?:]|&&) )", " ", joined)
    lines = [x.strip() for x in joined.splitlines()]
    start = max(n for n, x in enumerate(lines) if re.match(r"(half8|bf16x8|float) \w+[\[;]", x))
    return [x for x in lines[start + 1 :] if x and not x.startswith(("//", "#pragma"))]


def without_numbers(ir, lines, names):
    """The lines without those that take all of a thread's numbers again, in their order, before a later product."""
    while "linearId = again(threadIdx.x);" in lines:
        at = lines.index("linearId = again(threadIdx.x);")
        end = at + 1 + len(ir.derived)
        for (name, e), x in zip(ir.derived, lines[at + 1 : end], strict=True):
            assert x == f"{name} = {x.partition(' = ')[2]}"
            assert value(x.partition(" = ")[2].removesuffix(";"), names) == e.evaluate(names), x
        lines = lines[:at] + lines[end:]
    return lines


START = r"const (?:fp16|bf16) \*(\w+) = (\w+)(?: \+ \(long long\)(.*?) \* ld\2)?(?: \+ (.*))?;"


RING = r"half8 \*(\w+)\[(\d+)\] = \{(.*)\};"


def turning(lines):
    """The lines without those of rings; {ring: the (tile, offset) of its places in the loop's first trip}."""
    left, rings, turned = [], {}, []
    for n, x in enumerate(lines):
        if found := re.fullmatch(RING, x.replace("bf16x8", "half8")):
            rings[found[1]] = [place(text, {}) for text in split(found[3])]
            assert len(rings[found[1]]) == int(found[2])
        elif found := re.fullmatch(r"turn_ring_of_(\d+)\((\w+)\);", x):
            turned.append(found[2])
            assert len(rings[found[2]]) == int(found[1])
            used = [found[2] + "[" in y and not re.match(RING, y.replace("bf16x8", "half8")) for y in lines]
            assert any(used[:n]) and not any(used[n:])
            assert lines[n + 1] == "}" or lines[n + 1].startswith("turn_ring_of_")
        else:
            left.append(x)
    assert sorted(turned) == sorted(rings)
    return left, rings


def moving(lines):
    """The lines without those of pointers; {pointer: (tensor, line and run of its start, its step)}."""
    left, starts, steps = [], {}, {}
    for n, x in enumerate(lines):
        if found := re.fullmatch(START, x):
            starts[found[1]] = found[2], found[3] or "0", found[4] or "0"
        elif found := re.fullmatch(r"(\w+) \+= (?:(\d+)LL \* ld\w+)?(?: \+ )?(\d+)?;", x):
            steps[found[1]] = int(found[2] or 0), int(found[3] or 0)
            used = [bool(re.search(rf"\b{found[1]}, ", y)) for y in lines]
            assert any(used[:n]) and not any(used[n:])
        else:
            left.append(x)
    assert starts.keys() == steps.keys()
    return left, {name: (*start, steps[name]) for name, start in starts.items()}


def pointed(start, args, names):
    """Tensor, line and run of a load from a pointer that has moved on in each trip of its loop."""
    tensor, *at, step = start
    return tensor, tuple(value(a, names) + d * names["trips"] + value(x, names) for a, d, x in zip(at, step, args))
