"""Four hosts ping each other; then 20,000 frames of 500 addresses that move, beside a model."""

import itertools
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp  # noqa: E402

PORTS = [1, 2, 3, 4]
ADDRESSES = ['02:bb:00:00:%02x:%02x' % divmod(i, 256) for i in range(500)]
OURS = b'\x02\xbb'  # how all of them begin
# Addresses move from port to port: each burst comes from one of them.
BURSTS, BURST = 100, 200


class Model:
    """A learning switch."""

    def __init__(self):
        self.port_of = {}

    def ports(self, in_port, source, destination):
        """The ports out of which a frame goes."""
        self.port_of[source] = in_port
        known = self.port_of.get(destination)
        return [port for port in PORTS if port != in_port and known in (None, port)]


def check():
    choice = random.Random(1)
    with Lab(hosts=len(PORTS), controller='controller.py') as lab:
        before = lab.messages()
        pairs = list(itertools.permutations(lab.hosts.values(), 2))
        for one, other in pairs:
            one.run('ping', '-n', '-c', '1', '-W', '5', other.address)
        lab.resume()
        model, expected = Model(), {port: [] for port in PORTS}
        for _ in range(BURSTS):
            in_port, frames = choice.choice(PORTS), []
            for _ in range(BURST):
                macs = choice.sample(ADDRESSES, 2)
                frames.append(udp('10.1.0.1', '10.1.0.2', choice.randrange(1 << 16), macs=macs))
                for port in model.ports(in_port, *macs):
                    expected[port].append(frames[-1])
            lab.send(in_port, frames)
        # The hosts' kernels may still send frames of their own.
        arrived = {port: [frame for frame in frames if frame[6:8] == OURS]
                   for port, frames in lab.arrived().items()}
        assert lab.messages() == before, 'no message to or from the controller'
        entries = lab.metric('table_entries')
    assert arrived == expected, 'each frame leaves through the ports of the model'
    copies = sum(map(len, expected.values()))
    return ('%d pings; %d frames leave %d times as a model says; %d entries, 0 controller '
            'messages') % (len(pairs), BURSTS * BURST, copies, entries)


if __name__ == '__main__':
    main(check)
