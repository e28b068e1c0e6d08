"""What an installation weighs: the distributions in the environment that runs this, largest first.

    python3 -m venv fresh && fresh/bin/pip install ".[nvrtc]" && fresh/bin/python benchmarks/weight.py

Sizes are those of the installed files, in MB of 10^6 bytes; byte code, which pip writes beside them, stands in a line
of its own, and pip and setuptools are left out, for they were there before.
"""

from importlib.metadata import Distribution, distributions
from pathlib import Path

BEFORE = ("pip", "setuptools")


def weight(found: Distribution) -> tuple[int, int]:
    """Bytes of a distribution's files, and of the byte code among them."""
    plain = compiled = 0
    for file in found.files or ():
        path = Path(str(file.locate()))
        if path.is_file():
            size = path.stat().st_size
            plain, compiled = (plain, compiled + size) if path.suffix == ".pyc" else (plain + size, compiled)
    return plain, compiled


def main() -> None:
    """The table."""
    rows = {f"{d.metadata['Name']} {d.version}": weight(d) for d in distributions()
            if d.metadata["Name"] not in BEFORE}  # fmt: skip
    for name, (plain, _) in sorted(rows.items(), key=lambda row: -row[1][0]):
        print(f"{plain / 1e6:8.1f} MB  {name}")
    print(f"{sum(plain for plain, _ in rows.values()) / 1e6:8.1f} MB  together")
    print(f"{sum(compiled for _, compiled in rows.values()) / 1e6:8.1f} MB  byte code")


if __name__ == "__main__":
    main()
