"""A command line in this process."""

import pytest

from polyvolta.cli.commands import main


@pytest.fixture
def cli(capsys, monkeypatch):
    """Runs a command line in this process: (exit code, stdout, stderr)."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", None)  # what the first import found in the environment

    def run(*argv: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(argv)
        code = left.value.code or 0
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run
