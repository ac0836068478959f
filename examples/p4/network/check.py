"""The network of README.md: its assertions, equal runs, a trace, and captures of each link."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from play import bofuss, main, readme  # noqa: E402


def check():
    readme()
    with tempfile.TemporaryDirectory() as folder:
        once, again = Path(folder, 'once'), Path(folder, 'again')
        bofuss('sim', 'network.toml', '--events', str(once), '--pcap', folder)
        captured = sorted(path.name for path in Path(folder).glob('*.pcapng'))
        assert captured == ['%s.pcapng' % link for link in ('f1-h2', 'h1-s1', 'r1-f1', 's1-r1')], captured
        bofuss('sim', 'network.toml', '--events', str(again))
        assert once.read_bytes() == again.read_bytes(), 'equal runs are equal'
        count = len(once.read_text().splitlines())
    return 'a router and a firewall in P4 beside an OpenFlow switch, twice the same %d events' % count


if __name__ == '__main__':
    main(check)
