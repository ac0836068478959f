"""Drivers of ports that are not Ethernet cards: radios, ROADMs, OLTs and the like.

    from bofuss_driver import Driver

    class Radio(Driver):
        def on_attach(self):                            # also when the switch has restarted
            self.report(values={'channel': 36, 'signal_dbm': -60}, settable=['channel'])

        def on_set(self, values):                       # a controller wants this
            tune(values['channel'])
            self.report(values=values)                  # it is so now

    radio = Radio('s1', port=1)                         # a switch by its name, or its driver socket
    radio.start()                                       # in a thread; or radio.run()
    radio.event('association', station='02:00:00:00:00:01', signal_dbm=-61)

A value is an integer, with its unit in the name, or a word of letters, digits and `_-.:/+@#`. The
optical properties have the names and units of OpenFlow 1.5.1 (MHz, dBm * 10). Methods may be called
from any thread. See docs/drivers.md for the lines that are exchanged, and their limits.
"""

import json
import os
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any, Dict, Mapping, Optional, Sequence, Union

Value = Union[int, str]
# `None` removes a value.
Change = Optional[Value]
Line = Dict[str, Any]

# How long to wait before the switch is looked for again.
RETRY_SECONDS = .2
# How long the switch may take to read what it is sent.
PATIENCE_SECONDS = 10


class Gone(Exception):
    """The switch is not there, or no more."""


def socket_of(name: str) -> str:
    """The driver socket of a running switch, by its name. Raises Gone."""
    user = os.environ.get('SUDO_UID', str(os.getuid()))
    own = os.environ.get('XDG_RUNTIME_DIR', '/nowhere')
    folders = ('/run/bofuss', '/run/bofuss-' + user, own + '/bofuss', '/tmp/bofuss-' + user)
    for folder in folders:
        path = Path(folder) / (name + '.driver')
        if path.is_socket():
            return str(path)
    raise Gone('no switch %s runs' % name)


class Driver:
    """The driver of one port: subclass it, and override what the switch says."""

    def __init__(self, switch: str, port: Union[int, str], rules: bool = False) -> None:
        """`switch` is a name, or the path of a driver socket; `port` a number, or the name of an
        interface. With `rules`, the driver is told the flow entries for packets from the port."""
        self.switch, self.port, self.rules = switch, port, rules
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self._ends = False

    # --- what the switch says -----------------------------------------------------------------

    def on_attach(self) -> None:
        """The switch knows the driver: the time to report everything."""

    def on_set(self, values: Dict[str, Value]) -> None:
        """A controller wants these values; also after `on_attach`, if one has wanted them before."""

    def on_optical_mod(self, change: Line) -> None:
        """A controller configures the optical port: `configure`, `freq_lmda`, `tx_pwr`, ..."""

    def on_rule(self, command: str, flow: str) -> None:
        """An entry was added, modified or deleted (`add`, `modify`, `modify_strict`, `delete`): the
        text of `dpctl`."""

    def on_error(self, sentence: str) -> None:
        """The switch has refused a line; nothing has changed."""
        print('driver of port %s: %s' % (self.port, sentence), flush=True)

    # --- what the driver says -----------------------------------------------------------------

    def report(self, values: Optional[Mapping[str, Change]] = None,
               settable: Optional[Sequence[str]] = None,
               counters: Optional[Mapping[str, Change]] = None, link: Optional[str] = None,
               **optical: Optional[Line]) -> None:
        """Says something of the port; what is left out stays as it is. `optical` and
        `optical_stats` are objects with the specification's names. Does nothing without a switch:
        `on_attach` reports again."""
        line: Line = {'values': values, 'settable': settable, 'counters': counters, 'link': link}
        self.say({**{name: said for name, said in line.items() if said is not None}, **optical})

    def event(self, name: str, **details: Value) -> None:
        """Tells controllers of an event."""
        self.say({'event': name, 'details': details})

    def say(self, line: Line) -> None:
        """Sends a line as it is."""
        with self._lock:
            if self._socket is not None:
                try:
                    self._socket.sendall(json.dumps(line).encode() + b'\n')
                except OSError:
                    self._socket = None  # the reader finds the end

    # --- the connection -----------------------------------------------------------------------

    def start(self) -> None:
        """Serves in a thread, which ends with the process."""
        threading.Thread(target=self.run, daemon=True).start()

    def stop(self) -> None:
        """Leaves the switch: the port is then as its interface is."""
        self._ends = True
        with self._lock:
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        """Serves until `stop`, and looks for the switch again when it has gone."""
        while not self._ends:
            try:
                self._serve()
            except (Gone, OSError):
                time.sleep(RETRY_SECONDS)

    def _serve(self) -> None:
        path = self.switch if '/' in self.switch else socket_of(self.switch)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            patience = struct.pack('ll', PATIENCE_SECONDS, 0)  # a struct timeval
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
            with self._lock:
                self._socket = sock
            try:
                self.say({'port': self.port, 'rules': self.rules})
                for line in sock.makefile('r', encoding='utf-8'):
                    self._obey(json.loads(line))
            finally:
                with self._lock:
                    self._socket = None
        raise Gone('the switch has ended')

    def _obey(self, line: Line) -> None:
        if 'error' in line:
            self.on_error(line['error'])
        if 'port' in line:
            self.on_attach()
        if 'set' in line:
            self.on_set(line['set'])
        if 'optical_mod' in line:
            self.on_optical_mod(line['optical_mod'])
        if 'rule' in line:
            self.on_rule(line['rule'], line['flow'])
