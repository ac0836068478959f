"""The packet tests of the router, and one packet explained with the entries of the file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from play import main, readme, stf, trace  # noqa: E402
from lab import udp  # noqa: E402


def check():
    readme()
    played = stf('router')
    text, left = trace('router', 'entries.json', 1, udp('10.0.1.1', '10.9.9.9', 9))
    assert 'RouterIngress.via(router=0xa0002fe)' in text, text
    assert 'table RouterIngress.neighbours: meta.hop=0xa0002fe hits entry' in text, text
    assert 'table RouterEgress.ports: std.egress_port=0x2 hits entry' in text, text
    (port, frame), = left
    assert port == 2 and frame[:12].hex() == '0200000000fe020000000200', frame.hex()
    assert frame[22] == 63, 'the TTL is one less'
    text, left = trace('router', 'entries.json', 1, udp('10.0.1.1', '10.0.2.3', 9))
    assert not left and 'nearest: entry' in text, text
    return '%s; a trace names the three tables that decide' % played


if __name__ == '__main__':
    main(check)
