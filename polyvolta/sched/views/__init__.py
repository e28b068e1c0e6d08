"""Schedule trees as text and pictures, and what changed from one to the next."""

from polyvolta.sched.views.diff import Diff, diff

__all__ = ["Diff", "diff"]
