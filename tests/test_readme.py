"""README and docs are true: their Python runs and prints what stands below it, their CUDA is the kernel's.

A `text` block right after a `python` block is what that one prints. A `cuda` block is an excerpt of the default
kernel's text, in which `...` stands for lines left out. `py` blocks need a GPU and are run where there is one; blocks
that run texts on the host need a C++ compiler, and are run where there is one; those on frameworks need torch.

The pictures of the guide to broken kernels, and of the gallery, are what the snippets before them draw; with
POLYVOLTA_REDRAW=1 in the environment they are drawn anew.
"""

import io
import linecache
import os
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

import polyvolta as pv
from polyvolta.cli.commands import main
from polyvolta.cuda.run import launch
from tests.cuda.host import COMPILER

ROOT = Path(__file__).resolve().parents[1]
DRAWN = ("docs/what_can_go_wrong.md", "docs/gallery.md")
"""Pages of whose pictures each is what `picture` is after the block before it."""
PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]


def blocks(page: str) -> list[tuple[str, str, bool]]:
    """(language, content, whether it directly follows another block) for each fenced block of a page."""
    return [part for part in parts(page) if part[0] != "picture"]


def parts(page: str) -> list[tuple[str, str, bool]]:
    """The page's blocks and, where they are drawn, between them its pictures: ("picture", file, False)."""
    found, end = [], -1
    text = (ROOT / page).read_text(encoding="utf-8")
    for m in re.finditer(r"^```(\w*)\n(.*?)^```\n|^!\[[^\]]+\]\((pictures/[\w/-]+\.svg)\)$", text, re.M | re.S):
        if m[3] is None:
            found.append((m[1], m[2], m.start() == end))
            end = m.end()
        elif page in DRAWN:
            found.append(("picture", m[3], False))
    return found


def is_drawn(page: str, file: str, picture: object) -> None:
    """A picture of a page is the one that its snippet has drawn."""
    path = (ROOT / page).parent / file
    if os.environ.get("POLYVOLTA_REDRAW"):
        path.write_text(str(picture), encoding="utf-8")
    assert str(picture) == path.read_text(encoding="utf-8"), f"POLYVOLTA_REDRAW=1 draws {file} anew"


@cache
def default_text() -> str:
    """The text of the kernel that all default options make."""
    M, N, K = pv.sizes("M N K")
    return pv.compile(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N), layout="col")).source


def of_language(page: str, language: str) -> list[str]:
    return [content for found, content, _ in blocks(page) if found == language]


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_and_print_what_stands_below_them(page, monkeypatch):
    monkeypatch.setattr(pv.targets, "_targets", dict(pv.targets._targets))  # what a page registers is forgotten
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed, language, shown = "", "", []
    for k, (kind, content, follows) in enumerate(parts(page)):
        if kind == "python" and COMPILER is None and re.search("tests.cuda.host|on_host|compile_c|wide", content):
            kind = "python, not run"
        if kind == "python" and "from_c(" in content and find_spec("pycparser") is None:
            kind = "python, not run"
        if kind == "python" and page == "docs/frameworks.md" and find_spec("torch") is None:
            kind = "python, not run"  # its first block imports torch
        if kind == "python":
            out, name = io.StringIO(), f"{page}, block {k}"
            linecache.cache[name] = len(content), None, content.splitlines(keepends=True), name  # as notebooks do
            with redirect_stdout(out):
                exec(compile(content, name, "exec"), namespace)
            printed = out.getvalue()
        elif kind == "text" and follows and language == "python":
            assert printed.splitlines() == content.splitlines()
        elif kind == "picture":
            is_drawn(page, content, namespace.pop("picture"))  # each one is shown once
            shown.append(content)
        language = kind
    assert page not in DRAWN or len(shown) == len(set(shown)) >= 5


@pytest.mark.parametrize("page", PAGES)
def test_blocks_for_a_gpu_run_where_there_is_one(page):
    namespace: dict[str, object] = {}
    for k, content in enumerate(of_language(page, "py")):
        if k == 0:
            exec(of_language(page, "python")[0], namespace)
        code = compile(content, page, "exec")
        library = re.search(r"^import (\w+)", content, re.M)[1]
        if launch.gpu_available() and find_spec(library):
            exec(code, namespace)


@pytest.mark.parametrize("page", PAGES)
def test_cuda_blocks_are_excerpts_of_the_kernels_text(page):
    for content in of_language(page, "cuda"):
        parts = re.split(r"^ *\.\.\.\n", content, flags=re.M)
        assert re.search(".*".join(map(re.escape, parts)), default_text(), re.S), "print it anew: polyvolta emit"


def commands(page: str) -> list[tuple[str, ...]]:
    """A page's command lines, without their comments, in words."""
    return [tuple(shlex.split(line, comments=True)) for line in "".join(of_language(page, "bash")).splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_command_lines_run(page, tmp_path, monkeypatch, capsys):
    """Those of a page that no page before it has."""
    monkeypatch.chdir(tmp_path)
    before = {line for other in PAGES[: PAGES.index(page)] for line in commands(other)}
    for line in (line for line in commands(page) if line not in before):
        program, *arguments = line
        if program == "python":
            assert (ROOT / arguments[0]).exists()
            continue
        assert program == "polyvolta"
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert not left.value.code, line
    capsys.readouterr()


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_checked(page):
    assert {kind for kind, _, _ in blocks(page)} <= {"python", "py", "text", "cuda", "bash", "sh"}


def test_the_test_command_is_the_one_that_ci_runs():
    marked = re.search(r"^<!-- test-command -->\n```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    shown = subprocess.run([str(ROOT / ".ci" / "run"), "--print"], capture_output=True, text=True, check=True)
    assert shown.stdout == marked[1]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert ((ROOT / page).parent / target).exists(), target
