"""Requests for named content are forwarded by the longest prefix of their name."""

from bofuss_machine import FIELDS, Field, flow_mod, match, output
from rules import run

PORT = 9695
# The field: a type, then 32 bits, of which each component of a name gives eight by its hash.
OPTIONS = ['--field', 'icn_type=udp:64:8,number=1,hex,udp_dst=%d' % PORT,
           '--field', 'icn_name=udp:72:32,number=2,mask,set,hex,udp_dst=%d' % PORT]
BOFUSS = 0x626F66
FIELDS['icn_type'] = Field(1, 1, ('udp_dst', PORT), BOFUSS)
FIELDS['icn_name'] = Field(2, 4, ('udp_dst', PORT), BOFUSS)
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


def routes():
    """An entry for each prefix, of a priority that is its length."""
    for prefix, producer in PRODUCERS.items():
        mask = 0xFFFFFFFF << 32 - 8 * len(prefix) & 0xFFFFFFFF
        yield flow_mod(match(icn_type=INTEREST, icn_name=(name(prefix), mask)), output(producer),
                       priority=10 + len(prefix))
    yield flow_mod(match(icn_type=INTEREST), output(DEFAULT), priority=1)


if __name__ == '__main__':
    run({1: list(routes())})
