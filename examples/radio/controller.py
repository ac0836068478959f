"""Moves the packets for a station to another radio: before its link goes, or after it has gone."""

import struct
import threading

from bofuss_machine import EXPERIMENTER_MESSAGE
from ports import parts, port_values
from bofuss.oflib import ExperimenterValue
from rules import accept, install, run_commands

WIRE, RADIOS = 1, (2, 3)
PORT_STATUS, PORT_STATE_AT, LINK_DOWN = 12, 8 + 36, 1


class Mobility:
    """Where packets for the station go, and what a radio's news change about it."""

    def __init__(self, switch):
        self.switch, self.scene, self.predicts, self.ports = switch, '', False, []

    def begin(self, scene, predicts):
        """Sends packets by the first radio."""
        self.scene, self.predicts = scene, predicts == 'predictive'
        self.send_by(RADIOS[0])

    def send_by(self, *ports):
        self.ports = ports
        outputs = ','.join('output:%d' % port for port in ports)
        install(self.switch, 'in_port=%d,udp,actions=%s' % (WIRE, outputs))

    def best_but(self, port):
        """The other radio with the best signal, as the drivers say."""
        signals = {other: said['signal_dbm'] for other, said in port_values(self.switch).items()
                   if other != port}
        return max(signals, key=signals.get)

    def event(self, port, event):
        """Does what a radio's event asks for."""
        if event == 'association':
            self.send_by(port)
        elif event == 'going-down' and self.predicts:
            other = self.best_but(port)
            # A station that is on one channel at a time will be heard of when it is there already.
            self.send_by(*((port, other) if self.scene == 'handover' else (other,)))

    def link_down(self, port):
        """A link has gone without a warning that was heeded."""
        if self.scene == 'trace' and port in self.ports:
            self.send_by(self.best_but(port))

    def listen(self):
        """Hears what the switch tells."""
        for kind, body in self.switch.messages():
            if kind == EXPERIMENTER_MESSAGE:
                value = ExperimenterValue.from_bytes('message', body)
                if value.name == 'port_event':
                    said = parts(str(value).partition('(')[2])
                    self.event(said['port'], said['event'])
            elif kind == PORT_STATUS:
                port, = struct.unpack_from('!I', body, 8)
                state, = struct.unpack_from('!I', body, PORT_STATE_AT)
                if state & LINK_DOWN:
                    self.link_down(port)


if __name__ == '__main__':
    connected = accept(1)
    mobility = Mobility(connected[1])
    threading.Thread(target=mobility.listen, daemon=True).start()
    print('READY', flush=True)
    run_commands(connected, {'begin': lambda _, *words: mobility.begin(*words)})
