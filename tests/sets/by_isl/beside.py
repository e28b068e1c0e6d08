"""What tests of isl's objects beside islpy have in common: spaces, numbers, names, and what a call gives as a text."""

import re

import polyvolta.isl as ours

try:
    import islpy as isl
except ImportError:  # whoever asks it skips its tests without it
    isl = None

SETS = ["{ A[] }", "{ [i] }", "[n] -> { A[i, j] }", "[n] -> { [A[i] -> B[j, k]] }", "{ C[A[i] -> B[j, k]] }",
        "{ [[A[i] -> B[j]] -> D[k]] }"]  # fmt: skip
MAPS = ["{ [] -> [] }", "[n] -> { A[i] -> B[j, k] }", "{ [A[i] -> B[j]] -> C[k] }", "{ A[i] -> [B[j] -> C[k]] }",
        "[m] -> { [A[i] -> B[j]] -> [C[k] -> D[l]] }", "{ A[i] -> [[B[j] -> C[k]] -> D[l]] }",
        "{ Q[A[i] -> B[j]] -> R[C[k] -> D[l]] }"]  # fmt: skip
NUMBERS = ["{ [] }", "{ A[4, 2] }", "[n] -> { [3] }", "{ [A[1] -> B[-2, 5]] }", "{ C[A[1] -> [1/2]] }",
           "{ B[infty, NaN] }", "{ [-infty, 7/2] }", "{ A[7, -4] }", "[n] -> { A[-3, 2] }",
           "{ R[2, -5] }"]  # fmt: skip
NAMES = ["{ A[] }", "{ A[M, N] }", "{ A[M, M] }", "[M] -> { A[M, N] }", "{ [A[x] -> B[y]] }", "{ C[A[x] -> B[y]] }"]


def space(module, text):
    return (module.Map if text in MAPS else module.Set)(text).get_space()


def shape(text):
    """The text of a space or of what lives in one; dimensions of a space have no names."""
    head, brace, tail = str(text).partition("{")
    tail = re.sub(r"(?<![\w'])(?!infty)[a-z]\w*'*(?=[,\]])", "_", tail)
    return re.sub(r"\{\s*:\s*\}|\{\s*\}", "{ [] }", head + brace + tail)


def written(value):
    """What a value is, as one text for both sides."""
    if isinstance(value, (ours.Space, isl.Space, isl.LocalSpace)):
        if isinstance(value, ours.Space):
            params = ", ".join(value.param_names or ())
            value = f"{f'[{params}] -> ' if params else ''}{{ {value} }}"
        return shape(value)
    if isinstance(value, list) or type(value).__name__.endswith("List"):
        return ",".join(map(str, value)) if isinstance(value, list) else str(value).strip("()")
    if isinstance(value, (ours.MultiVal, isl.MultiVal)):
        return shape(value)  # of a map's space the inputs have no names
    if isinstance(value, ours.Point):
        return value.to_str()
    return str(value)


def answer(value, name, *args):
    """What a method gives, or that it is an error."""
    try:
        return written(getattr(value, name)(*args))
    except (ours.Error, isl.Error):
        return "error"


def times_twelve(m, f):
    """The relation to twelve times the values of a function, which are integers."""
    names = {"UnionPwAff": "pw_aff", "UnionPwMultiAff": "pw_multi_aff"}
    whole = f.scale_val(m.Val(12))
    if m is ours:
        return ours.UnionMap(whole)
    what = "multi_union_pw_aff" if type(f).__name__ == "MultiUnionPwAff" else f"union_{names[type(f).__name__]}"
    return ours.UnionMap(str(getattr(m.UnionMap, f"from_{what}")(whole)))
