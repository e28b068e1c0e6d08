"""Reports as data frames of pandas, which is imported here alone, and when a report is asked for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from polyvolta.sets.errors import PolyvoltaError

if TYPE_CHECKING:
    from pandas import DataFrame


class NoPandas(PolyvoltaError, ImportError):
    """A data frame was asked for, and pandas isn't installed."""

    id = "PV231"


def frame(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """A data frame of those columns, a row for each mapping; of no rows as well.

    Raises
    ------
    NoPandas
    """
    try:
        from pandas import DataFrame
    except ImportError as missing:
        raise NoPandas("a data frame needs pandas, which isn't installed", where=str(missing),
                       hint="pip install pandas") from missing  # fmt: skip
    return DataFrame(list(rows), columns=list(columns))
