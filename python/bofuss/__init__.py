"""The bofuss switch, for Python.

`Switch` is a switch in your own program, `P4Switch` one with a P4 program; the modules `switch` and `p4`
explain them. `oflib` is the OpenFlow language, `client` controls live switches, `sim` simulates networks,
`mininet` has switches for Mininet, and `machine` state machines in the data plane.
"""

from bofuss._native import P4Switch, Switch, __version__

__all__ = ["P4Switch", "Switch", "__version__"]
