"""Mathematics: a small tree of signs, as MathML, which browsers draw without scripts, and as LaTeX.

A tree is a word (`Name`, `Number`, `Sign`), trees side by side (`Row`), or trees in a form, as a fraction (`Built`).
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi omega Gamma "
    "Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
_LETTERS: dict[str, str] = dict(zip(_GREEK.split(), "αβγδεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True))
_SIGNS = {
    "·": r"\cdot ", "⊙": r"\odot ", "−": "-", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "∧": r"\wedge ", "∨": r"\vee ",
    "¬": r"\neg ", "∞": r"\infty ", "⋯": r"\cdots ", "×": r"\times ", "∈": r"\in ", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
    "⌈": r"\lceil ", "⌉": r"\rceil ", "|": r"\lvert ", "": r"\,", "{": r"\{", "}": r"\}", "≔": ":=",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier; `upright` that of a function."""

    text: str
    upright: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A number, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class Sign:
    """An operator or a bracket; "" is a thin space."""

    text: str
    fence: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Trees side by side."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """Trees in a form: "frac", "sup", "sub", "sqrt", or "cases", whose parts are pairs of a value and a condition."""

    form: str
    parts: tuple[Formula, ...]


Formula = Name | Number | Sign | Row | Built
_UPRIGHT, _FENCE = ' mathvariant="normal"', ' fence="true" stretchy="true"'
_LEFT = ' columnalign="left left"'
_MATHML = {"frac": "mfrac", "sup": "msup", "sub": "msub", "sqrt": "msqrt"}
_LATEX = {"frac": r"\frac{{{}}}{{{}}}", "sup": "{{{}}}^{{{}}}", "sub": "{{{}}}_{{{}}}", "sqrt": r"\sqrt{{{}}}"}


def row(*parts: Formula | str) -> Formula:
    """Trees side by side; a str is a sign."""
    made = tuple(Sign(p) if isinstance(p, str) else p for p in parts)
    return made[0] if len(made) == 1 else Row(made)


def fenced(left: str, inner: Formula, right: str) -> Formula:
    """A tree between brackets that grow with it."""
    return Row((Sign(left, True), inner, Sign(right, True)))


def listed(parts: list[Formula]) -> Formula:
    """Trees with commas between them."""
    return row(*(x for k, p in enumerate(parts) for x in ((",", p) if k else (p,))))


def mathml(formula: Formula, display: bool = True) -> str:
    """The formula as a `<math>` element, with `display` in a line of its own.

    >>> mathml(row(Name("A"), "<", Number("3")), display=False)
    '<math><mrow><mi>A</mi><mo>&lt;</mo><mn>3</mn></mrow></math>'
    """
    inner = _mathml(formula)
    if not display:
        return f"<math>{inner}</math>"
    return f'<div class="pv-math"><math displaystyle="true">{inner}</math></div>'


def latex(formula: Formula) -> str:
    """The formula as LaTeX in mathematical mode.

    >>> latex(Built("frac", (Name("row_sums"), Name("x", upright=True))))
    '\\\\frac{\\\\mathit{row\\\\_sums}}{\\\\operatorname{x}}'
    """
    return _latex(formula)


def _mathml(f: Formula) -> str:
    match f:
        case Name(text, upright):
            return f"<mi{_UPRIGHT * upright}>{escape(_LETTERS.get(text, text))}</mi>"
        case Number(text):
            return f"<mn>{escape(text)}</mn>"
        case Sign("", _):
            return '<mspace width="0.2em"/>'
        case Sign(text, fence):
            return f"<mo{_FENCE * fence}>{escape(text)}</mo>"
        case Row(parts):
            return f"<mrow>{''.join(map(_mathml, parts))}</mrow>"
        case Built("cases", parts):
            pairs = zip(parts[::2], parts[1::2], strict=True)
            rows = "".join(f"<mtr><mtd>{_mathml(a)}</mtd><mtd>{_mathml(b)}</mtd></mtr>" for a, b in pairs)
            return f"<mrow><mo{_FENCE}>{{</mo><mtable{_LEFT}>{rows}</mtable></mrow>"
        case Built(form, parts):
            return f"<{_MATHML[form]}>{''.join(map(_mathml, parts))}</{_MATHML[form]}>"
    raise TypeError(type(f).__name__)


def _latex(f: Formula) -> str:
    match f:
        case Name(text, upright):
            return _latex_name(text, upright)
        case Number(text):
            return text
        case Sign("|", True):
            return r"\vert "
        case Sign(text, _):
            return _SIGNS.get(text, text)
        case Row(parts):
            return "".join(map(_latex, parts))
        case Built("cases", parts):
            pairs = zip(parts[::2], parts[1::2], strict=True)
            return r"\begin{cases}" + r" \\ ".join(f"{_latex(a)} & {_latex(b)}" for a, b in pairs) + r"\end{cases}"
        case Built(form, parts):
            return _LATEX[form].format(*map(_latex, parts))
    raise TypeError(type(f).__name__)


def _latex_name(text: str, upright: bool) -> str:
    if text in _LETTERS:
        return f"\\{text} "
    plain = text.replace("_", r"\_")
    if upright:
        return f"\\operatorname{{{plain}}}"
    return plain if len(text) == 1 else f"\\mathit{{{plain}}}"
