"""What a package says of where it is from: links of the README, and project.urls.

A package index shows the README away from its repository, where links to files of it lead nowhere. Whoever builds a
release says where the repository is hosted, `POLYVOLTA_REPOSITORY=https://... python -m build`, as hosted CI does; then
these links are absolute, and `[tool.polyvolta.urls]` of pyproject.toml become project.urls. Where nobody says it,
nothing is guessed: links become the paths that they lead to, and there are no URLs.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[(?P<text>[^\]]+)\]\((?!https?:|#)(?P<path>[^)\s]+)\)")


def far_from_home(text: str, repository: str | None) -> str:
    """A page of the repository's root as it can be shown anywhere.

    >>> far_from_home("see [tour.md](docs/tour.md#copies), [x](#y)", "https://host.example/polyvolta")
    'see [tour.md](https://host.example/polyvolta/blob/HEAD/docs/tour.md#copies), [x](#y)'
    >>> far_from_home("see [tour.md](docs/tour.md#copies) and [the tour](docs/tour.md)", None)
    'see `docs/tour.md` and the tour (`docs/tour.md`)'
    """

    def link(m: re.Match[str]) -> str:
        if repository:
            return f"{m[1]}[{m['text']}]({repository}/{'raw' if m[1] else 'blob'}/HEAD/{m['path']})"
        path = m["path"].partition("#")[0]
        return f"`{path}`" if path.endswith(m["text"]) else f"{m['text']} (`{path}`)"

    return LINK.sub(link, text)


class CustomMetadataHook(MetadataHookInterface):
    """Adds `readme` and `urls`, which pyproject.toml declares as dynamic."""

    def update(self, metadata: dict[str, object]) -> None:
        """Add both to a package's metadata."""
        repository = os.environ.get("POLYVOLTA_REPOSITORY", "").rstrip("/") or None
        root = Path(self.root)
        page = (root / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": far_from_home(page, repository)}
        if repository:
            tables = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
            urls = tables["tool"]["polyvolta"]["urls"]
            metadata["urls"] = {name: url.format(repository=repository) for name, url in urls.items()}
