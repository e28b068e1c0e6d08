"""`python -m polyvolta`, and `polyvolta`: the command line, whose modules take half a second to load."""

import sys


def main() -> None:
    """Load the command line and run it; Ctrl-C ends the process with 130 meanwhile, too."""
    try:
        from polyvolta.cli import commands

        commands.main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
