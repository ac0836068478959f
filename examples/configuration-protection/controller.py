"""Messages by which a controller learns the network pass only when it has asked for them.

The command `probe` opens the port of switch 1 to switch 2, and has switch 2 send an LLDP frame there.
"""

import os
import queue
import struct

from bofuss_machine import (CONTROLLER, PACKET_IN, Machine, key, match, output, packet_in_data,
                            packet_out, set_flow_state)
from rules import run

LLDP = 0x88CC
CLOSED, EXPECTED = range(2)
WINDOW_SECONDS = 2
SILENCE_SECONDS = .3
WATCHED, FAR = 1, 2
MULTICAST = bytes.fromhex('0180c200000e')


def machine():
    """The state of a port: is a frame of LLDP expected from it? One passes, and closes it."""
    ports = Machine(lookup=['in_port'])
    ports.on(match(state=EXPECTED, eth_type=LLDP), ports.set_state(CLOSED), output(CONTROLLER),
             priority=20)
    ports.on(match(eth_type=LLDP), priority=15)
    return ports


def lldp(switch, port, nonce):
    """A frame that says which switch sent it, and a number that nobody can guess."""
    tlvs = b''.join(struct.pack('!H', kind << 9 | len(body)) + body for kind, body in (
        (1, b'\x07dpid:%d' % switch), (2, b'\x07%d' % port), (3, b'\0\x78'),
        (127, b'\0\x26\xe1\0' + nonce), (0, b'')))
    return (MULTICAST + b'\x02\0\0\0\0\xfe' + struct.pack('!H', LLDP) + tlvs).ljust(60, b'\0')


def open_port(switches):
    """Says that one frame is expected from switch 2, for a while."""
    switches[WATCHED].send(set_flow_state(0, key(in_port=FAR), EXPECTED, hard=WINDOW_SECONDS,
                                          hard_to=CLOSED))
    switches[WATCHED].barrier()


def probe(switches):
    """Opens the port and sends a frame to it; then says what came."""
    frame = lldp(FAR, WATCHED, os.urandom(8))
    open_port(switches)
    switches[FAR].send(packet_out(frame, output(WATCHED)))
    listen(switches, frame)


def listen(switches, expected=None):
    """Says what LLDP came, until none comes for a while: `CAME`, of those expected, of others."""
    found = []
    try:
        while True:
            kind, body = switches[WATCHED].unasked.get(timeout=SILENCE_SECONDS)
            if kind == PACKET_IN:
                found.append(packet_in_data(body))
    except queue.Empty:
        pass
    genuine = found.count(expected)
    print('CAME', genuine, len(found) - genuine, flush=True)


if __name__ == '__main__':
    ip = 'priority=5,ip,actions=output:%d' % FAR
    run({WATCHED: [*machine().messages, ip],
         FAR: ['in_port=%d,actions=output:10' % WATCHED, 'in_port=10,actions=output:%d' % WATCHED]},
        {'probe': probe, 'listen': listen, 'open': open_port})
