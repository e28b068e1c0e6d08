"""The site without its generator: links, the reading order, names of the API reference, what a package says of itself.

`sphinx-build -W --keep-going docs build/site` makes it, and hosted CI does; what breaks it most often is cheap to see
here.
"""

import doctest
import re
import sys
from importlib import import_module, util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import polyvolta as pv

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *DOCS.glob("notebooks/*.md"), *ROOT.glob(".github/*.md")])
FENCED = re.compile(r"^(```|~~~).*?^\1$", re.M | re.S)
LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)")


def loaded(path: Path) -> ModuleType:
    """A module that is no part of the package."""
    spec = util.spec_from_file_location(path.stem, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors(page: Path) -> set[str]:
    """The anchors that a repository's host, and the site, give to a page's headings."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} (.+?)\s*#*$", FENCED.sub("", page.read_text(encoding="utf-8")), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {slug if not k else f"{slug}-{k}" for slug, count in found.items() for k in range(count + 1)}


def test_anchors_are_those_of_a_host(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A `b_c`, d's\n```\n# no heading\n```\n## Two\n## Two\n")
    assert anchors(page) == {"a-b_c-ds", "two", "two-1"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        if re.match(r"https?:", path):
            continue
        there = page if not path else (page.parent / path)
        assert there.exists(), f"{page.name}: {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.name}: {target}"


def toctree(page: Path) -> list[Path]:
    """The pages of a site's section in order, as files; those below them follow each."""
    found = []
    for block in re.findall(r"^\.\. toctree::\n((?:   .*\n|\n)+)", page.read_text(encoding="utf-8") + "\n", re.M):
        for name in re.findall(r"^   ([^:\s]\S*)$", block, re.M):
            base = (page.parent / name).resolve()
            if "*" in name:
                continue
            below = next(p for p in (base.with_name(base.name + e) for e in (".md", ".rst")) if p.exists())
            found += [below, *(toctree(below) if below.suffix == ".rst" else ())]
    return found


def test_every_page_has_its_place_on_the_site_and_in_the_readme():
    reached = toctree(DOCS / "index.rst")
    assert len(reached) == len(set(reached))
    pages = {p for p in DOCS.rglob("*.*") if p.suffix in (".md", ".rst")}
    apart = {DOCS / "index.rst", DOCS / "notebooks" / "README.md"}
    out = {p for p in pages if {"_templates", "generated", "jupyter_execute"} & {*p.relative_to(DOCS).parts}}
    assert set(reached) == pages - apart - out
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Documentation")[2]
    listed = [(ROOT / path).resolve() for path in LINK.findall(section)]
    guides = [p for p in toctree(DOCS / "site" / "guides.rst") if p.parent == DOCS]
    assert [p for p in listed if p in guides] == guides
    assert {*DOCS.glob("*.md")} <= {*listed}


ROOMS = ("polyvolta", "polyvolta.sets", "polyvolta.sched", "polyvolta.pictures")


def documented() -> dict[str, set[str]]:
    """By module the names in the tables of docs/api."""
    found: dict[str, set[str]] = {}
    for page in sorted((DOCS / "api").glob("*.rst")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1].replace("polyvolta.cuda.pictures", "polyvolta.pictures")
            elif re.fullmatch(r"   \w+", line) and module:
                assert line.strip() not in found.setdefault(module, set()), line
                found[module].add(line.strip())
    return found


def test_the_api_reference_has_every_public_name_and_no_other():
    found = documented()
    for module, names in found.items():
        home = pv.pictures if module == "polyvolta.pictures" else import_module(module)
        assert not [name for name in names if not hasattr(home, name)], module
    for room in ROOMS:
        home = pv.pictures if room == "polyvolta.pictures" else import_module(room)
        public = {n for n in home.__all__ if not isinstance(getattr(home, n), ModuleType)}
        errors = {n for n in public if isinstance(getattr(home, n), type) and issubclass(getattr(home, n), Exception)}
        assert found[room] - {"targets"} == public - errors - {"targets", "PwMultiAff"}


def test_docstrings_become_restructured_text():
    ext = loaded(DOCS / "_ext" / "docstrings.py")
    assert doctest.testmod(ext).attempted and not doctest.testmod(ext).failed
    text = """What *it* is, of `x_`.

    >>> 1
    1

Parameters
----------
a, b : two
    lines.

Raises
------
BadOption : none.
"""
    assert [line for line in ext.restructured(text.splitlines()) if line.strip()] == [
        r"What \*it\* is, of `x_`.",
        "::",
        "    >>> 1",
        "    1",
        ":Parameters:",
        "    ``a``, ``b``",
        "        two",
        "        lines.",
        ":Raises:",
        "    :py:exc:`~.BadOption`",
        "        none.",
    ]


def test_a_package_says_where_it_is_from_only_if_somebody_said_so(monkeypatch):
    interface = SimpleNamespace(MetadataHookInterface=object)  # the build's library, which tests do without
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    build = loaded(ROOT / "hatch_build.py")
    assert doctest.testmod(build).attempted and not doctest.testmod(build).failed
    hook = build.CustomMetadataHook()
    hook.root = str(ROOT)
    monkeypatch.delenv("POLYVOLTA_REPOSITORY", raising=False)
    hook.update(alone := {})
    assert "urls" not in alone
    assert not [x for x in LINK.findall(alone["readme"]["text"]) if not x.startswith("https:")]
    home = "https://host.example/polyvolta"
    monkeypatch.setenv("POLYVOLTA_REPOSITORY", home + "/")
    hook.update(hosted := {})
    links = [x.removeprefix(f"{home}/blob/HEAD/") for x in LINK.findall(hosted["readme"]["text"])]
    assert all((ROOT / x.partition("#")[0]).is_file() for x in links if not x.startswith("https://arxiv.org"))
    assert len(links) > 20
    assert hosted["urls"]["Issues"] == home + "/issues"


def test_what_is_cited_is_this_version():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", cited, re.M)[1] == pv.__version__
    assert f"{{{pv.__version__}}}" in (DOCS / "citing.md").read_text(encoding="utf-8")


def test_hosted_ci_runs_the_projects_own_commands():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    steps = re.findall(r"- run: (.+)$", workflow, re.M)
    (site,) = re.findall(r"`(sphinx-build [^`]+)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {".ci/run", ".ci/run --demo", site} <= set(steps)
    assert "pytest" not in workflow
