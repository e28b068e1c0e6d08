"""What can be wrong with a schedule or a transformation of one: PV3xx."""

from __future__ import annotations

from polyvolta.sets import PolyvoltaError


class BadPath(PolyvoltaError, LookupError):
    """A path that leads to no node, or to a node of another kind."""

    id = "PV301"


class IllegalTransformation(PolyvoltaError):
    """A transformation that a dependence forbids; names the dependence and two instances."""

    id = "PV302"


class BadTile(PolyvoltaError, ValueError):
    """Tile sizes that are not positive, too few or too many."""

    id = "PV303"


class NotScannable(PolyvoltaError):
    """A tree for which no loops can be written: unbounded, or not a function of its loops."""

    id = "PV304"
