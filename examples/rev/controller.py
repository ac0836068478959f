"""Keys and rules for three switches in a line, reports of them, and what the reports must say."""

import json
import struct

from bofuss_machine import EXPERIMENTER_MESSAGE, MULTIPART_REQUEST, message
from rules import accept, install, run_commands

REV = 0x626F76
KEY, FLOWS = 2, 4  # types of a message and of a multipart
HOST_PORT = 10
# The flows by their UDP ports, and each switch's ingress and egress port.
UDP_PORTS = {1: 5001, 2: 5002, 3: 5003}
PATH = {1: (HOST_PORT, 2), 2: (1, 3), 3: (2, HOST_PORT)}
TABLE, PRIORITY = 0, 10
RECORD = struct.Struct('!H3Q')  # length, flow, packets, sum
HEAD_BYTES = 24  # of a multipart reply before its records
# What a report for each packet would take: a message with a flow and a MAC, without a length.
BYTES_FOR_ONE = 16 + RECORD.size - 2
MASK = 2**64 - 1


def key(switch):
    """The key of a switch. In earnest, keys are random and secret."""
    return bytes(range(16 * switch, 16 * switch + 16))


def cookie(switch, flow):
    """The cookie of a rule."""
    return 100 * switch + flow


def rule(switch, flow, port=None, priority=PRIORITY):
    """The text of a rule; an attacker may choose its port and its priority."""
    in_port, out_port = PATH[switch]
    return ('cookie=%d,table=%d,priority=%d,in_port=%d,udp,tp_dst=%d,'
            'actions=rev_output(port=%d,flow=%d)' % (cookie(switch, flow), TABLE, priority, in_port,
                                                     UDP_PORTS[flow], port or out_port, flow))


def rotate(word, bits):
    """A word of 64 bits, rotated to the left."""
    return (word << bits | word >> (64 - bits)) & MASK


def siphash(secret, data):
    """SipHash-2-4, as its paper has it (J.-P. Aumasson, D. J. Bernstein, INDOCRYPT 2012)."""
    k0, k1 = struct.unpack('<2Q', secret)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    words = struct.unpack('<%dQ' % (len(padded) // 8), padded)
    for number, word in enumerate((*words, None)):
        v2 ^= 0xFF if word is None else 0
        v3 ^= word or 0
        for _ in range(4 if word is None else 2):
            v0, v2 = (v0 + v1) & MASK, (v2 + v3) & MASK
            v1, v3 = rotate(v1, 13) ^ v0, rotate(v3, 16) ^ v2
            v0 = rotate(v0, 32)
            v2, v0 = (v2 + v1) & MASK, (v0 + v3) & MASK
            v1, v3 = rotate(v1, 17) ^ v2, rotate(v3, 21) ^ v0
            v2 = rotate(v2, 32)
        v0 ^= word or 0
    return v0 ^ v1 ^ v2 ^ v3


def mac(switch, flow, packet):
    """The MAC of a packet, if the switch enforces the rule that it was given."""
    head = struct.pack('!QHBII', cookie(switch, flow), PRIORITY, TABLE, *PATH[switch])
    return siphash(key(switch), head + packet.ljust(60, b'\0'))


def alarms(report, expected):
    """Switch and flow of each sum that is not as expected, in the order of the path."""
    return [(switch, flow) for switch, flow in sorted(expected)
            if report.get((switch, flow), (0, 0)) != expected[switch, flow]]


def report(switches):
    """Prints the bytes of the reports, and packets and sum of each flow of each switch."""
    found, size = [], 0
    request = message(MULTIPART_REQUEST, struct.pack('!HH4xII', 0xFFFF, 0, REV, FLOWS))
    for number, switch in sorted(switches.items()):
        records = switch.ask(request)
        size += HEAD_BYTES + len(records)
        found += [(number, *RECORD.unpack_from(records, at)[1:])
                  for at in range(0, len(records), RECORD.size)]
    print('REPORT', json.dumps([size, found]), flush=True)


if __name__ == '__main__':
    connected = accept(len(PATH))
    for number, switch in connected.items():
        head = struct.pack('!II', REV, KEY)
        install(switch, message(EXPERIMENTER_MESSAGE, head + key(number)),
                *(rule(number, flow) for flow in UDP_PORTS))
    print('READY', flush=True)
    run_commands(connected, {'report': report})
