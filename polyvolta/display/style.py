"""The style sheet of everything that shows itself.

Every rule is below `.pv`, and outweighs what Jupyter, VS Code and the usual sites say of tables and code. All colours
are mixed from the page's own colour of text, `currentColor`, so nothing has to be known about themes.
"""

from __future__ import annotations

import re

MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
HUES = {
    "keyword": "#8250df", "type": "#0a6ebd", "call": "#b35900", "number": "#0f8378", "string": "#2a8a4a",
    "comment": "#808080", "command": "#b5377c",
}  # fmt: skip
"""What words of a program are, and their hues, of middle lightness: mixed with the colour of text they suit a page."""
SIGNS = {"good": "#2a8a4a", "bad": "#d1382f", "unsure": "#a06a00"}
"""What is said of proofs and the like, in colours that are mixed likewise."""

_RULES = """
.pv{color:inherit;line-height:1.5;max-width:100%;text-align:left}
.pv>*{margin:.35em 0}
.pv pre,.pv code,.pv .pv-mono{font-family:MONO;font-size:.92em;line-height:1.45;color:inherit;background:none;
border:0;padding:0;margin:0}
.pv pre{white-space:pre;overflow-x:auto;max-width:100%}
.pv pre code{font-size:1em}
.pv .pv-box{border:1px solid color-mix(in srgb,currentColor 18%,transparent);border-radius:6px;padding:.6em .9em;
background:color-mix(in srgb,currentColor 4%,transparent);max-height:36em;overflow:auto}
.pv .pv-head{margin:.5em 0 .25em}
.pv .pv-faint{opacity:.66}
.pv .pv-scroll{overflow-x:auto;max-width:100%}
.pv table{border-collapse:collapse;border:0;margin:.3em 0;font-size:inherit;color:inherit;table-layout:auto;width:auto;
max-width:none}
.pv tr,.pv tr:nth-child(odd),.pv tr:nth-child(even),.pv tr:hover{background:none}
.pv th,.pv td{text-align:left;vertical-align:top;padding:.16em 1.2em .16em 0;border:0;white-space:normal;
max-width:60em;color:inherit;font-size:inherit}
.pv thead th{border-bottom:1px solid color-mix(in srgb,currentColor 30%,transparent);font-weight:600}
.pv tbody th{font-weight:400;opacity:.66;white-space:nowrap}
.pv .pv-n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.pv caption{caption-side:top;text-align:left;font-weight:600;color:inherit;padding:.2em 0}
.pv details{margin:.3em 0;padding:0;border:0;background:none}
.pv summary{cursor:pointer;padding:0;margin:0;font-weight:inherit;background:none}
.pv .pv-fold>summary{font-weight:600}
.pv .pv-fold>:not(summary){margin-left:1.1em}
.pv math{font-size:1.12em;font-family:'Latin Modern Math','STIX Two Math','Cambria Math','DejaVu Math TeX Gyre',math}
.pv mtd{text-align:left}
.pv .pv-math{margin:.45em 0;overflow-x:auto;overflow-y:hidden}
.pv svg{max-width:100%;height:auto;display:block}
.pv .pv-steps{display:flex;flex-wrap:wrap;gap:.25em .35em;align-items:baseline;position:relative}
.pv .pv-steps>input{position:absolute;opacity:0;width:1px;height:1px;margin:0}
.pv .pv-steps>label{cursor:pointer;padding:.08em .6em;border-radius:1em;
border:1px solid color-mix(in srgb,currentColor 22%,transparent);margin:0;font-weight:400}
.pv .pv-steps>input:checked+label{background:color-mix(in srgb,currentColor 16%,transparent);font-weight:600}
.pv .pv-steps>input:focus-visible+label{outline:2px solid color-mix(in srgb,currentColor 55%,transparent)}
.pv .pv-steps>.pv-step{display:none;order:1;flex:0 0 100%;min-width:0;max-width:100%}
.pv .pv-steps>input:checked+label+.pv-step{display:block}
.pv .pv-turn label{cursor:pointer;padding:0 .9em 0 0;text-decoration:underline dotted}
.pv .pv-tree{overflow-x:auto;max-width:100%;padding-left:1.2em;font-family:MONO;font-size:.92em;line-height:1.45}
.pv .pv-tree details{margin:0}
.pv .pv-tree code{white-space:pre;display:inline-block;vertical-align:top;font-size:1em}
.pv .pv-tree .pv-leaf{white-space:nowrap}
.pv .pv-tree summary{white-space:nowrap;list-style:none;line-height:inherit}
.pv .pv-tree summary::-webkit-details-marker{display:none}
.pv .pv-tree summary .pv-in::after{content:'▾';display:inline-block;width:1.2em;margin-left:-1.2em;opacity:.6}
.pv .pv-tree details:not([open])>summary .pv-in::after{content:'▸'}
.pv .pv-tree summary:hover{background:color-mix(in srgb,currentColor 6%,transparent)}
.pv .pv-new{background:color-mix(in srgb,currentColor 13%,transparent)}
.pv .pv-gone{opacity:.5;text-decoration:line-through}
"""
_WORDS = "".join(f".pv .pv-{name}{{color:color-mix(in srgb,{hue} 72%,currentColor)}}\n" for name, hue in HUES.items())
_SAID = "".join(f".pv .pv-{name}{{color:color-mix(in srgb,{hue} 78%,currentColor)}}\n" for name, hue in SIGNS.items())
_COMMENT = ".pv .pv-comment{font-style:italic}\n"

SHEET = re.sub(r"\n(?!\.)", "", _RULES.strip().replace("MONO", MONO) + "\n" + _WORDS + _SAID + _COMMENT).strip()
SHEET = SHEET.replace(".pv ", ".pv.pv ").replace(".pv>", ".pv.pv>")  # twice, so that it outweighs what a page says
"""All rules, one a line."""
