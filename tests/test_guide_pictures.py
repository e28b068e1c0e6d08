"""The pictures of the guide to broken kernels are what its snippets draw.

With POLYVOLTA_REDRAW=1 in the environment they are drawn anew.
"""

import os
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "what_can_go_wrong.md"
PART = re.compile(r"^```python\n(?P<code>.*?)^```\n|^!\[[^\]]+\]\((?P<file>pictures/[\w-]+\.svg)\)$", re.M | re.S)


def test_the_pictures_are_what_the_snippets_draw(capsys):
    namespace: dict[str, object] = {"__name__": "__main__"}
    shown = []
    for part in PART.finditer(PAGE.read_text(encoding="utf-8")):
        if part["code"]:
            exec(compile(part["code"], str(PAGE), "exec"), namespace)
            continue
        file, picture = PAGE.parent / part["file"], str(namespace.pop("picture"))  # each one is shown once
        if os.environ.get("POLYVOLTA_REDRAW"):
            file.write_text(picture, encoding="utf-8")
        assert picture == file.read_text(encoding="utf-8"), f"POLYVOLTA_REDRAW=1 draws {part['file']} anew"
        shown.append(file.name)
    assert len(shown) == len(set(shown)) >= 5
