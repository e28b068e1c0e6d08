"""The version of the package, for whatever is kept under it."""

VERSION = "0.1.0"
