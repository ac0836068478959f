"""The compiled module; `bofuss.oflib` has its names and their types."""

from typing import Any

__version__: str

def __getattr__(name: str) -> Any: ...
