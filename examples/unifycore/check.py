"""200 sessions, and TCP, over a bridge of Linux that learns addresses: it sees those of tunnels."""

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import ACCESS, GATEWAY, SESSIONS, address, end  # noqa: E402
from streams import data, digest, download  # noqa: E402

BRIDGE = 'm%d-%d' % (ACCESS, GATEWAY)
SIZE = 8 << 20
# The largest ICMP payload in a frame of 1,500 bytes.
FULL_PING = 1472


def learned():
    """The addresses that the bridge has learned."""
    said = subprocess.run(['bridge', 'fdb', 'show', 'br', BRIDGE], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return {line.split()[0] for line in said.splitlines() if 'permanent' not in line}


def check():
    content = data(SIZE)
    with lab.Lab(hosts={1: ACCESS, 2: GATEWAY}, controller='controller.py',
                 links=[(ACCESS, GATEWAY)]) as laboratory:
        mobile, internet = laboratory.hosts.values()
        lab.ip('link set %s type bridge ageing_time 30000' % BRIDGE)
        mobile.run('ping', '-n', '-c', '1', '-W', '5', '-M', 'do', '-s', str(FULL_PING),
                   internet.address)
        start = time.monotonic()
        received = download(internet, mobile, internet.address, 8080, content)
        seconds = time.monotonic() - start
        assert received == content, 'other bytes arrive'
        laboratory.resume()
        frames = [lab.udp(address(session), '10.9.0.1', 2152, macs=(mobile.mac, internet.mac))
                  for session in range(1, SESSIONS)]
        laboratory.send(1, frames)
        arrived = laboratory.arrived()[2]
        macs = learned()
    tunnels = {end(ACCESS, session) for session in range(SESSIONS)} | {end(GATEWAY, 0)}
    assert arrived == frames, 'frames leave the tunnels as they came'
    assert macs == tunnels, 'the bridge knows ends of tunnels: %s' % (macs ^ tunnels)
    return ('%d sessions over a learning bridge, which knows %d addresses of tunnels and none of '
            'hosts; full frames fit; %d MB of TCP with the same SHA-256 (%s) at %.0f Mb/s' % (
                SESSIONS, len(macs), SIZE >> 20, digest(received), SIZE * 8e-6 / seconds))


if __name__ == '__main__':
    lab.main(check)
