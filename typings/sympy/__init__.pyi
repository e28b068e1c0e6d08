# sympy has no types that hold in every release: what comes from it is `Any`, installed or not. Only `Basic`, which all
# its expressions are, is a class, so that what takes one takes nothing else.
from typing import Any

class Basic:
    def __getattr__(self, name: str) -> Any: ...

def __getattr__(name: str) -> Any: ...
