"""Three hosts at a switch that learns, a controller of P4Runtime, and a host that moves."""

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from play import HERE, readme, stf  # noqa: E402
from lab import Host, ip, main, mac_bytes, program, start, until  # noqa: E402

ADDRESS = '127.0.0.1:9559'
# How long frames that should not come are waited for.
SILENCE_SECONDS = .3


def frame(to, source, number):
    """A frame of an experiment, between hosts by their numbers."""
    macs = mac_bytes('02:00:00:00:00:%02x' % to) + mac_bytes('02:00:00:00:00:%02x' % source)
    return (macs + b'\x88\xb5' + bytes([number])).ljust(60, b'\0')


class Network:
    """A switch with the program, its controller, and a host at each of three ports."""

    def __init__(self):
        controller = program('examples/learning')
        assert Path(controller).exists(), 'cargo build -p bofuss-p4runtime --example learning'
        self.hosts = {number: Host(number, 's1-%d' % number) for number in (1, 2, 3)}
        self.switch = start(
            program('bofuss'), 'run', '--name', 's1', '--log', 'warn',
            '--p4', str(HERE / 'learning.json'), '--p4info', str(HERE / 'learning.p4info.txtpb'),
            '--p4-entries', str(HERE / 'entries.json'), '--p4runtime', ADDRESS,
            *('--port=%d=s1-%d' % (number, number) for number in self.hosts))
        self.controller = start(controller, ADDRESS,
                                str(HERE / 'learning.p4info.txtpb'),
                                stdout=subprocess.PIPE, text=True)
        self.wait_for('READY')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.controller, self.switch):
            process.kill()
            process.wait()
        for host in self.hosts.values():
            ip('link del ' + host.port)
            ip('netns del ' + host.name)

    def wait_for(self, line):
        """Waits until the controller prints a line."""
        found = self.controller.stdout.readline().rstrip()
        assert found == line, 'the controller says %r, and not %r' % (found, line)

    def sends(self, port, sent, *wanted):
        """Sends a frame from a port's host, and asserts at which ports it arrives."""
        for host in self.hosts.values():
            host.receive()
            host.frames = []
        self.hosts[port].socket.send(sent)

        def arrived():
            for host in self.hosts.values():
                host.receive()
            return [number for number, host in self.hosts.items() if sent in host.frames]

        until(lambda: set(arrived()) >= set(wanted), 'the frame arrives')
        time.sleep(SILENCE_SECONDS)
        assert arrived() == list(wanted), arrived()


def check():
    readme()
    played = stf('learning')
    with Network() as network:
        network.sends(1, frame(2, 1, 1), 2, 3)
        network.wait_for('02:00:00:00:00:01 is at port 1')
        network.sends(2, frame(1, 2, 2), 1)
        network.wait_for('02:00:00:00:00:02 is at port 2')
        network.sends(1, frame(2, 1, 3), 2)
        # Host 2 moves to port 3.
        network.sends(3, frame(1, 2, 4), 1)
        network.wait_for('02:00:00:00:00:02 is at port 3')
        network.sends(1, frame(2, 1, 5), 3)
        # And back: the entry for port 2 was removed, so the controller is told again.
        network.sends(2, frame(1, 2, 6), 1)
        network.wait_for('02:00:00:00:00:02 is at port 2')
        network.sends(1, frame(2, 1, 7), 2)
    return '%s; at ports, what a controller of P4Runtime has learned from 4 digests' % played


if __name__ == '__main__':
    main(check)
