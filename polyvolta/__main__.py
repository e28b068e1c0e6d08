"""`python -m polyvolta` is the command line."""

from polyvolta.cli.commands import main

if __name__ == "__main__":
    main()
