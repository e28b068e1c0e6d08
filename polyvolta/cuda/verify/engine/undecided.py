"""What a prover says that has no exact answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyvolta.cuda.errors import CudaError
from polyvolta.cuda.ir.walk import IrPath


class Undecided(CudaError):
    """Something that the symbolic machine has no exact answer for; nothing is proved then.

    Attributes
    ----------
    path : the statement of the IR at which the machine stood, if it ran.
    findings : the counter-examples (`symbolic.Refutation`) up to there; they hold whatever is not decided.
    """

    id = "PV539"
    path: IrPath | None = None
    findings: Mapping[str, Any] = {}  # noqa: RUF012
