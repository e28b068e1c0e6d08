"""The pictures of the guide to broken kernels, and of the gallery, are what their snippets draw.

With POLYVOLTA_REDRAW=1 in the environment they are drawn anew.
"""

import linecache
import os
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PART = re.compile(r"^```python\n(?P<code>.*?)^```\n|^!\[[^\]]+\]\((?P<file>pictures/[\w/-]+\.svg)\)$", re.M | re.S)


@pytest.mark.parametrize("page", ["what_can_go_wrong.md", "gallery.md"])
def test_the_pictures_are_what_the_snippets_draw(page, capsys):
    path = DOCS / page
    namespace: dict[str, object] = {"__name__": "__main__"}
    shown = []
    for k, part in enumerate(PART.finditer(path.read_text(encoding="utf-8"))):
        if code := part["code"]:
            name = f"{page}, part {k}"
            linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name  # as notebooks do
            exec(compile(code, name, "exec"), namespace)
            continue
        file, picture = path.parent / part["file"], str(namespace.pop("picture"))  # each one is shown once
        if os.environ.get("POLYVOLTA_REDRAW"):
            file.write_text(picture, encoding="utf-8")
        assert picture == file.read_text(encoding="utf-8"), f"POLYVOLTA_REDRAW=1 draws {part['file']} anew"
        shown.append(file.name)
    assert len(shown) == len(set(shown)) >= 5
