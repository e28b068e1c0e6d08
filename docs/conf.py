"""The site: `sphinx-build -W --keep-going docs build/site`, with the extra `site` and without a network.

Guides are the Markdown pages of this folder as they are, so that they read the same on the repository's host. What only
the site has (sections, the API reference) is reStructuredText beside them. Notebooks are taken as they lie in
`notebooks/`; those without outputs are run.
"""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

from sphinx.application import Sphinx  # noqa: E402

import polyvolta as pv  # noqa: E402

project = "polyvolta"
author = "the polyvolta authors"
project_copyright = "the polyvolta authors, MIT licence"
release = version = pv.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "docstrings",  # of _ext/, in place of napoleon: docstrings here have little markup and much that looks like it
    "errors_by_id",
    "mathml",
]
exclude_patterns = ["_ext", "_templates", "notebooks/README.md", "**.ipynb_checkpoints"]
templates_path = ["_templates"]
nitpicky = False  # types of other libraries have no pages here

# Markdown and notebooks. Headings have the anchors that the repository's host gives them.
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]  # in notebooks
nb_execution_mode = "auto"
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))  # of their kernels

# The API reference: a page for each name of api/*.rst. Those of names that are gone go, too.
shutil.rmtree(ROOT / "docs" / "api" / "generated", ignore_errors=True)
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
maximum_signature_line_length = 88
default_role = "py:obj"


def _apart(names: Counter[str], rooms: dict[str, list[str]]) -> dict[str, str]:
    """Files of names that differ in case alone, for file systems that don't tell these apart: `Scan` beside `scan`."""
    return {f"{room}.{n}": f"{room}.{n}-class" for room, listed in rooms.items() for n in listed
            if n != n.lower() and names[f"{room}.{n}".lower()] > 1}  # fmt: skip


_rooms = {"polyvolta": pv.__all__, "polyvolta.sets": pv.sets.__all__, "polyvolta.sched": pv.sched.__all__}
autosummary_filename_map = _apart(Counter(f"{r}.{n}".lower() for r, ns in _rooms.items() for n in ns), _rooms)

# Looks
html_theme = "pydata_sphinx_theme"
html_title = "polyvolta"
html_context = {"default_mode": "auto"}
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "gallery": [], "citing": []}
html_theme_options = {
    "logo": {"text": "polyvolta", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Where the repository is hosted is said by whoever builds: hosted CI does, and nothing here guesses it.
if repository := os.environ.get("POLYVOLTA_REPOSITORY"):
    html_theme_options["icon_links"] = [
        {"name": "Source", "url": repository, "icon": "fa-brands fa-git-alt", "type": "fontawesome"}
    ]

linkcheck_timeout = 20
linkcheck_retries = 2


# Pages of the repository's root, with links that lead from where they stand on the site
ROOT_PAGES = {
    "site/contributing": "CONTRIBUTING.md",
    "site/changelog": "CHANGELOG.md",
    "site/security": "SECURITY.md",
    "site/conduct": "CODE_OF_CONDUCT.md",
}


def _found(app: Sphinx, docname: str, source: list[str]) -> None:
    """The text of a page of the root in place of the line that stands for it; notebooks where there are any."""
    if page := ROOT_PAGES.get(docname):
        app.env.note_dependency(str(ROOT / page))
        text = (ROOT / page).read_text(encoding="utf-8").replace("](docs/", "](../")
        for name, there in ROOT_PAGES.items():
            text = text.replace(f"]({there}", f"]({name.removeprefix('site/')}.md")
        source[0] = text
    elif docname == "site/notebooks" and not any((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        source[0] = source[0].partition(".. toctree::")[0]  # a pattern that nothing matches is a warning


def setup(app: Sphinx) -> None:
    """What this file adds to the build."""
    app.connect("source-read", _found)
