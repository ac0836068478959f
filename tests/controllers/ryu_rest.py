"""ryu's ofctl_rest: ryu_rest.py OPENFLOW_PORT REST_PORT"""
import sys

import eventlet.wsgi

# ryu imports a name that eventlet no longer has.
eventlet.wsgi.ALREADY_HANDLED = object()

from ryu.cmd import manager  # noqa: E402: only now can it be imported

manager.main(["--ofp-tcp-listen-port", sys.argv[1], "--ofp-listen-host", "127.0.0.1",
              "--wsapi-port", sys.argv[2], "--wsapi-host", "127.0.0.1", "ryu.app.ofctl_rest"])
