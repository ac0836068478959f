"""The bofuss switch, for Python: `Switch`, and the modules `oflib`, `client`, `mininet`, `machine`."""

from bofuss._native import Switch, __version__

__all__ = ["Switch", "__version__"]
