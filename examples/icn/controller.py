"""Requests for named content are forwarded by the longest prefix of their name."""

import struct

from bofuss_machine import EXPERIMENTER_MESSAGE, FIELDS, Field, flow_mod, match, message, output
from rules import run

PORT = 9695
# Spare fields of the switch that get their places here: a type, then 32 bits, of which each
# component of a name gives eight by its hash.
PLACES = ['spare0=udp:64:8,udp_dst=%d' % PORT, 'spare1=udp:72:32,mask,udp_dst=%d' % PORT]
EXPERIMENTER, FIELD_MAP, ADD, SPARE_BYTES = 0x626F6D, 1, 0, 16
FIELDS['icn_type'] = Field(0, SPARE_BYTES, ('udp_dst', PORT), EXPERIMENTER)
FIELDS['icn_name'] = Field(1, SPARE_BYTES, ('udp_dst', PORT), EXPERIMENTER)
INTEREST = 5
# The producer of names by prefix; the one of the longest prefix counts.
PRODUCERS = {('video',): 2, ('video', 'live'): 3, ('news',): 4}
DEFAULT = 5


def component(text):
    """Eight bits of a component of a name."""
    found = 0
    for byte in text.encode():
        found = (found * 31 + byte) % 251
    return found + 1


def name(components):
    """The 32 bits of a name of up to four components."""
    parts = [component(one) for one in components[:4]]
    return int.from_bytes(bytes(parts).ljust(4, b'\0'), 'big')


def field_map(place):
    """The message that gives a spare field its place."""
    head = struct.pack('!IIB', EXPERIMENTER, FIELD_MAP, ADD)
    return message(EXPERIMENTER_MESSAGE, head + place.encode())


def routes():
    """An entry for each prefix, of a priority that is its length."""
    for prefix, producer in PRODUCERS.items():
        mask = 0xFFFFFFFF << 32 - 8 * len(prefix) & 0xFFFFFFFF
        yield flow_mod(match(icn_type=INTEREST, icn_name=(name(prefix), mask)), output(producer),
                       priority=10 + len(prefix))
    yield flow_mod(match(icn_type=INTEREST), output(DEFAULT), priority=1)


if __name__ == '__main__':
    run({1: [*map(field_map, PLACES), *routes()]})
