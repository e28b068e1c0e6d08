"""The notebooks of docs/notebooks: cells run, in one namespace and without Jupyter, and so do solutions.

Assertions in cells hold; what a cell ends with has an HTML form; the paper's trees are those that were typed from it.
What is committed has neither outputs nor anything of a machine.
"""

import ast
import json
import linecache
import re
from pathlib import Path
from typing import Any

import pytest

import polyvolta as pv
from polyvolta.cuda import mutants
from tests.sched.passes import test_kernel_fusion as fused
from tests.sched.test_figures import FIGURES
from tests.sched.test_fused_figures import MM_MM_ADD

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
CHEAP = ("1_integer_sets", "2_schedules_of_a_stencil", "6_own_pass_and_target")
SOLUTION = re.compile(r"^<details><summary>Solution</summary>\n\n(.*?)^</details>$", re.M | re.S)
CODE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)

TREES = {
    "figure_3": FIGURES["initial"],
    "figure_4": FIGURES["warp_tiled"],
    "figure_5": FIGURES["mapped"],
    "figure_6": FIGURES["strip_mined"],
    "figure_7": FIGURES["contracted"],
    "figure_9": fused.SPLIT_K_TILED,
    "figure_10": fused.SPLIT_K_PARAMETRIC,
    "figure_12": fused.INITIAL,
    "figure_13": fused.BLOCK_TILE,
    "figure_14": fused.SEPARATION,
    "figure_15": fused.WARP_TILE_STRIP_MINED,
    "figure_17": MM_MM_ADD,
}
"""The paper's trees by their numbers, as typed from it."""


def cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def run(code: str, name: str, namespace: dict[str, Any]) -> Any:
    """What a cell ends with; None if with a statement."""
    linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name  # as notebooks do
    tree = ast.parse(code, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def run_through(path: Path) -> dict[str, Any]:
    """Runs all cells, and each solution after what stands above it; the names that the cells leave."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    solved: dict[str, Any] = {}
    shown = 0
    for n, cell in enumerate(cells(path), 1):
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            value = run(text, f"{path.name}, cell {n}", namespace)
            if value is not None:
                html = value._repr_html_()
                assert html.startswith("<") and html.rstrip().endswith(">"), f"cell {n}"
                shown += 1
        else:
            for code in CODE.findall(text):
                solved |= namespace
                run(code, f"{path.name}, solution in cell {n}", solved)
    assert shown >= 10
    return namespace


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch):
    """What a notebook registers is forgotten."""
    monkeypatch.setattr(pv.targets, "_targets", dict(pv.targets._targets))
    monkeypatch.setattr(mutants, "MUTANTS", dict(mutants.MUTANTS))


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.stem in CHEAP], ids=lambda p: p.stem)
def test_cells_and_solutions_run(path):
    run_through(path)


def test_the_papers_trees_are_those_typed_from_it():
    found = run_through(ROOT / "docs" / "notebooks" / "3_the_paper.ipynb")
    assert {name: str(found[name]) for name in TREES} == TREES


def test_each_of_the_papers_figures_has_its_place_in_the_code():
    texts = ["".join(cell["source"]) for cell in cells(ROOT / "docs" / "notebooks" / "3_the_paper.ipynb")]
    figures = [(re.findall(r"\*\*Figure (\d+)\.\*\*", text), text) for text in texts]
    numbers = [f"figure_{n}" for found, _ in figures for n in found]
    assert numbers == ["figure_1", "figure_2", *TREES]
    assert not [found for found, text in figures if found and "`polyvolta/" not in text]


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.stem[0] in "45"], ids=lambda p: p.stem)
def test_cells_and_solutions_on_proofs_run(path):
    run_through(path)


def test_there_are_six_and_each_is_linked():
    assert [p.stem[:2] for p in NOTEBOOKS] == [f"{n}_" for n in range(1, 7)]
    for page, folder in ((ROOT / "docs" / "notebooks.md", "notebooks/"), (NOTEBOOKS[0].parent / "README.md", "")):
        links = re.findall(rf"\]\({folder}(\w+)\.ipynb\)", page.read_text(encoding="utf-8"))
        assert links == [p.stem for p in NOTEBOOKS], page.name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_is_committed(path):
    """No outputs, no machine; ids that are unique; links and paths that lead somewhere; solutions that fold."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[\w-]{1,64}", i) for i in ids)
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in notebook["cells"] if "outputs" in c)
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    text = "\n\n".join("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    assert len(re.findall("^# ", CODE.sub("", text), re.M)) == 1
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        assert target.startswith("https:") or (path.parent / target).exists(), target
    for place in re.findall(r"`((?:polyvolta|examples)/[^`]+)`", text):
        assert (ROOT / place).exists(), place
    exercises = re.findall(r"^\*\*Exercise (\d)\.\*\*", text, re.M)
    assert exercises == [str(n) for n in range(1, len(exercises) + 1)] and len(exercises) >= 4
    assert len(SOLUTION.findall(text)) >= 4
