"""One of ryu's own applications: ryu_app.py OPENFLOW_PORT APPLICATION [OPTION...]"""
import sys

import eventlet.wsgi

# ryu imports a name that eventlet no longer has.
eventlet.wsgi.ALREADY_HANDLED = object()

from ryu.cmd import manager  # noqa: E402: only now can it be imported

manager.main(["--ofp-tcp-listen-port", sys.argv[1], "--ofp-listen-host", "127.0.0.1",
              *sys.argv[3:], sys.argv[2]])
