# As of torch: what comes from it is `Any`, installed or not.
from typing import Any

def __getattr__(name: str) -> Any: ...
