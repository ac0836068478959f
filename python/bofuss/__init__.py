"""The bofuss switch, for Python.

`Switch` is a switch in your own program; the module `switch` explains it. `oflib` is the OpenFlow language,
`client` controls live switches, `sim` simulates networks, `mininet` has switches for Mininet, and `machine`
state machines in the data plane.
"""

from bofuss._native import Switch, __version__

__all__ = ["Switch", "__version__"]
