# What comes from pycparser is `Any`, installed or not.
from typing import Any

def __getattr__(name: str) -> Any: ...
