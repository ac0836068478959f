"""The packet tests of the firewall, and a packet that is explained with the entries of the file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from play import main, readme, stf, trace  # noqa: E402
from lab import udp  # noqa: E402


def check():
    readme()
    played = stf('firewall')
    inner, outer = '10.0.0.1', '10.0.0.2'
    text, left = trace('firewall', 'entries.json', 2, udp(outer, inner, 4000, from_port=53))
    assert not left and 'scalars.metadata.at_one = 0x0' in text, text
    assert 'drop: drop_ingress' in text, text
    text, left = trace('firewall', 'entries.json', 1, udp(inner, outer, 53))
    assert [port for port, _ in left] == [2], text
    assert 'FirewallIngress.seen_one[' in text, text
    return '%s; a trace shows the cells that decide' % played


if __name__ == '__main__':
    main(check)
