# pandas is imported where a report is asked for a data frame: what comes from it is `Any`, installed or not.
from typing import Any

def __getattr__(name: str) -> Any: ...
