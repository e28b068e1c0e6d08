"""The package as a whole: what importing it costs, its floors, and that CI runs what the README says."""

import ast
import dis
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import networkx as nx
import pytest

import polyvolta

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "polyvolta"
HEAVY = (
    *("numpy", "sympy", "networkx", "numba", "llvmlite", "matplotlib", "rich", "typer", "cuda"),
    *("torch", "pandas", "IPython", "ipywidgets", "ml_dtypes", "distributed", "nvidia", "pygments", "sqlite3"),
)


def modules_after(code: str) -> set[str]:
    """The top-level modules that `code` loads in a fresh interpreter, beyond those of its start."""
    script = f"import sys; before = {{*sys.modules}}\n{code}\nprint(*{{*sys.modules}} - before, sep='\\n')"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_polyvolta_imports_nothing_heavy():
    assert not modules_after("import polyvolta; dir(polyvolta); polyvolta.__version__") & set(HEAVY)


def test_writing_an_expression_imports_nothing_heavy():
    code = """import polyvolta as pv
M, N, K = pv.sizes("M N K")
pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)) + 1)"""
    loaded = modules_after(code)
    assert "polyvolta" in loaded
    assert not loaded & set(HEAVY)


def test_compiling_proving_interpreting_and_drawing_import_what_that_needs():
    """numpy alone, as docs/install.md says: sympy, networkx and the rest are imported where an expression, a DAG or a
    GPU is asked for, and neither what draws terminals nor what runs on a GPU is needed. In one process."""
    code = """import polyvolta as pv
import numpy as np
M, N, K = pv.sizes("M N K")
options = pv.Options(block_tile=(32, 32, 8), warp_tile=(32, 32, 8), macro_mma="m16n16k8")
C = pv.relu(pv.tensor("A", (M, K)) @ pv.tensor("B", (K, N)) + 0.5 * pv.tensor("bias", (N,)))
kernel = pv.compile(C, target="sm_70", options=options)
repr(kernel), str(kernel.graph), kernel.source, str(kernel.schedule)
assert kernel.verify(("bounds", "bank_conflicts")).ok
kernel.interpret(*(np.ones(shape, np.float16) for shape in ((8, 8), (8, 8), (8,))), observe=("races",))
str(pv.pictures.pipeline(kernel, tiles=2))"""
    loaded = modules_after(code)
    assert {"polyvolta", "numpy"} <= loaded
    assert loaded & set(HEAVY) <= {"numpy"}


def test_the_public_names_are_there_listed_and_the_same_each_time():
    assert set(polyvolta.__all__) <= set(dir(polyvolta))
    for name in polyvolta.__all__:
        assert getattr(polyvolta, name) is getattr(polyvolta, name)
    assert polyvolta.sets.Set("{ [i] : 0 <= i < 3 }").count() == 3


LISTING = ("polyvolta", "polyvolta.sets", "polyvolta.sched", "polyvolta.graph", "polyvolta.torch")


def test_what_a_package_imports_for_itself_is_not_listed():
    for package in map(import_module, LISTING):
        listed = {n for n in dir(package) if not n.startswith("__")}
        modules = {n for n in listed if f"{package.__name__}.{n}" in sys.modules}
        assert listed - modules == set(package.__all__) - modules, package


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(AttributeError, match="did you mean 'tensor'"):
        polyvolta.tensr  # noqa: B018
    assert not hasattr(polyvolta, "__wrapped__")


def test_type_checkers_see_the_names_that_users_do():
    """The TYPE_CHECKING block, `__all__` and the table of homes name the same things in the same places."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    guarded = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {alias.asname: node.module for node in guarded.body if isinstance(node, ast.ImportFrom)
            for alias in node.names}  # fmt: skip
    parents = {n: home.rpartition(".")[0] for n, home in polyvolta._SUBPACKAGES.items()}
    assert seen == {**polyvolta._HOMES, **parents}
    assert sorted(polyvolta.__all__) == sorted(seen)


LAZY = ("sets", "sched", "sched/passes", "sched/program", "sched/dependence")


@pytest.mark.parametrize("room", LAZY)
def test_type_checkers_see_the_names_of_a_room_that_users_do(room):
    package = import_module(f"polyvolta.{room.replace('/', '.')}")
    tree = ast.parse((PACKAGE / room / "__init__.py").read_text())
    guarded = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {}
    for node in guarded.body:
        assert isinstance(node, ast.ImportFrom)
        if node.names[0].name == "*":  # all of another room's
            inner = import_module(node.module)
            seen |= {name: f"{node.module}.{home}" for name, home in inner._HOMES.items()}
        else:
            assert all(alias.name == alias.asname for alias in node.names)
            seen |= {alias.asname: node.module for alias in node.names}
    assert seen == {name: f"{package.__name__}.{home}" for name, home in package._HOMES.items()}
    assert sorted(package.__all__) == sorted(seen)
    assert set(package.__all__) <= set(dir(package))


def test_a_name_of_a_room_is_no_module_whatever_was_imported_before():
    """Importing a module binds its name in the package above it, where a function of the same name would be hidden.

    All modules of all rooms are imported, in one process."""
    packages = [f"polyvolta.{room.replace('/', '.')}" for room in LAZY]
    code = f"""from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
rooms = [import_module(name) for name in {packages}]
for room in rooms:
    for module in walk_packages(room.__path__, room.__name__ + "."):
        import_module(module.name)
for room in rooms:
    assert room.__all__
    for name in room.__all__:
        assert not isinstance(getattr(room, name), ModuleType), (room, name)"""
    assert "polyvolta" in modules_after(code)


ORDER = ("display", "sets", "graph", "sched", "cuda", "compiler", "tuner", "evaluation")
FLOORS = {floor: set(ORDER[: n + 1]) for n, floor in enumerate(ORDER)}
FLOORS["torch"] = FLOORS["compiler"] | {"torch"}


@cache
def imports(path: Path) -> set[str]:
    """The absolute names of all that a module imports, anywhere in it: `a.b` and `a.b.name`.

    Read from its byte code, which is there already; calls that import from the text of those modules that have some.
    """
    package = ".".join(path.relative_to(ROOT).parent.parts)
    found, calls = set(), False
    for code in codes(SourceFileLoader(path.stem, str(path)).get_code(path.stem)):
        calls |= not {"import_module", "__import__"}.isdisjoint(code.co_names)
        if IMPORT in code.co_code[::2]:
            ops = [op for op in dis.get_instructions(code) if op.opname != "EXTENDED_ARG"]
            for level, names, op in zip(ops, ops[1:], ops[2:]):
                if op.opcode == IMPORT:
                    above = package.rsplit(".", level.argval - 1)[0] + "." if level.argval else ""
                    base = f"{above}{op.argval}".rstrip(".")
                    found |= {base, *(f"{base}.{name}" for name in names.argval or ())}
    for node in ast.walk(ast.parse(path.read_text(), str(path))) if calls else ():
        if isinstance(node, ast.Call) and _called(node.func) in ("import_module", "__import__"):
            found |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return found


IMPORT = dis.opmap["IMPORT_NAME"]


def codes(code: CodeType) -> Iterator[CodeType]:
    """A module's code, and that of its classes and functions."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes(inner)


def _called(function: ast.expr) -> str:
    """The last word of what is called."""
    return getattr(function, "attr", getattr(function, "id", ""))


def is_at(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def modules(floor: str) -> list[Path]:
    return sorted((PACKAGE / floor).rglob("*.py"))


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_point_down_only(floor):
    allowed = ["polyvolta.version", *(f"polyvolta.{f}" for f in FLOORS[floor])]
    for path in modules(floor):
        upward = {n for n in imports(path) if is_at(n, "polyvolta") and not any(is_at(n, a) for a in allowed)}
        assert not upward, f"{path.relative_to(ROOT)} imports {sorted(upward)}"


CIRCLES = (
    {"polyvolta.sets.values.relation"},  # Set and Map: their methods are functions of other modules, which know them
    {"polyvolta.sched.tree", "polyvolta.sched.program.model"},  # Schedule and Program likewise
    {"polyvolta.cuda.pictures.roles.timeline"},  # Timeline draws itself
)


def circles(edges: list[tuple[str, str]]) -> list[set[str]]:
    return [c for c in nx.strongly_connected_components(nx.DiGraph(edges)) if len(c) > 1]


def is_shown(module: str) -> bool:
    """Whether a module says how classes of the room above it show themselves."""
    return module.split(".")[-2] == "shown"


def test_no_modules_import_each_other_but_classes_and_their_methods():
    names = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in PACKAGE.rglob("*.py")}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    edges = [(a, b) for a, path in names.items() for b in imports(path) & names.keys() if not is_at(a, b)]
    found = circles([(a, b) for a, b in edges if not is_shown(b)])
    assert sorted(map(sorted, (c & set().union(*CIRCLES) for c in found))) == sorted(map(sorted, CIRCLES))
    showing = [{m for m in c if not is_shown(m)} for c in circles(edges) if any(map(is_shown, c))]
    assert showing
    for those in showing:  # classes of one room, which know nothing above it
        assert len({m.rpartition(".")[0] for m in those}) == 1, those


def test_a_room_has_no_more_files_than_a_reader_looks_through():
    for room in {path.parent for path in PACKAGE.rglob("*.py")}:
        files = [path.name for path in room.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 14, f"{room.relative_to(ROOT)}: {len(files)} files side by side"


def test_imports_reads_every_form_of_import(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "polyvolta" / "sched" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import numba.cuda\nfrom ..cuda import target\nfrom . import tree\ndef f():\n"
        "    from polyvolta.graph.dag import Graph\n    import_module('cuda.core')\n"
    )
    assert imports(path) >= {"numba.cuda", "polyvolta.cuda.target", "polyvolta.sched.tree",
                             "polyvolta.graph.dag.Graph", "cuda.core"}  # fmt: skip


BINDINGS = ("cuda/run/", "cuda/numba_helpers.py")


def test_numba_and_cuda_bindings_are_imported_in_one_room_alone():
    """Those that run kernels, and those for users of numba; the interpreter may use numba's CPU compiler."""
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(BINDINGS):
            continue
        bad = {n for n in imports(path) if is_at(n, "cuda") or is_at(n, "numba_cuda") or is_at(n, "numba.cuda")}
        if not name == "cuda/machine/interpreter.py":
            bad |= {n for n in imports(path) if is_at(n, "numba")}
        assert not bad, f"{name} imports {sorted(bad)}"


def test_errors_have_ids_of_their_own():
    for floor in FLOORS:
        for path in modules(floor):
            if path.name == "errors.py":
                __import__(".".join(path.relative_to(ROOT).with_suffix("").parts))
    classes, queue = [], [polyvolta.PolyvoltaError]
    while queue:
        classes.append(queue.pop())
        queue += classes[-1].__subclasses__()
    ids = [c.id for c in classes]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"PV\d{3}", i) for i in ids)
    assert all(c.__doc__ for c in classes)


def readme_commands() -> list[str]:
    """The README's one-line shell blocks."""
    return re.findall(r"^```sh\n(.+)\n```$", (ROOT / "README.md").read_text(), re.M)


def test_the_readme_has_two_commands_that_make_their_own_environments():
    demo, tests = readme_commands()
    assert ".venv-demo" in demo
    assert demo.endswith("polyvolta demo")
    assert ".venv-test" in tests
    assert "-m pytest" in tests
    for command in (demo, tests):
        assert subprocess.run(["sh", "-n", "-c", command]).returncode == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_ci_runs_exactly_the_readmes_test_command():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    shown = subprocess.run(["bash", script, "--print"], capture_output=True, text=True, check=True).stdout
    assert shown == readme_commands()[1] + "\n"
    assert "pytest" not in script.read_text()


def test_the_version_is_the_projects():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == polyvolta.__version__
    assert (PACKAGE / "py.typed").exists()
