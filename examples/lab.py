"""A laboratory for the examples: switches, hosts in namespaces, raw frames, and what is counted.

    with Lab(hosts=2, controller='controller.py') as lab:
        lab.send(1, frames)
        at_host_2 = lab.arrived()[2]

`main(check)` runs an example in network and process namespaces of its own, which go with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple, Union

ROOT = Path(__file__).resolve().parent.parent
# Where bofuss_machine.py is: in the tree, or next to the examples as they are installed.
MODULES = ROOT / 'contrib' if (ROOT / 'contrib').exists() else ROOT
INSIDE = '--inside'
CONTROLLER_PORT, METRICS_PORT = 6653, 9100
HOST_PORT = 10
# How long one thing may take, and a whole check.
PATIENCE_SECONDS, MOST_SECONDS = 20, 120
CLONE_NEWNET = 0x40000000
# Of linux/if_packet.h, linux/if_ether.h and asm-generic/socket.h.
PACKET_OUTGOING, ETH_P_ALL, SO_RCVBUFFORCE = 4, 3, 33
SOL_PACKET, PACKET_AUXDATA, TP_STATUS_VLAN_VALID, ABOUT_BYTES = 263, 8, 1 << 4, 64
# Frames that are sent before the switch must have taken all: half the slots that its ring has at
# first, and what a host's socket holds in a user namespace.
WINDOW = 128
# The shortest frame of Ethernet, without its checksum.
MIN_FRAME_BYTES = 60
# Runs a command in namespaces of its own as root, where there is no setup.sh: from an installation.
ALONE = ['unshare', '-nm', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-euc',
         'mount -t tmpfs run /run; mkdir /run/netns; ip link set lo up; "$@"', 'sh']
# How long a host is listened to for a frame too many.
SILENCE_SECONDS = .2


def main(check: Callable[[], str]) -> None:
    """Runs `check` in namespaces of its own, and prints the line that it returns."""
    if INSIDE not in sys.argv:
        setup = ROOT / 'xtask/setup.sh'
        alone = ['sh', str(setup), 'isolate'] if setup.exists() else ALONE
        os.execvp(alone[0], [*alone, sys.executable, *sys.argv, INSIDE])
    signal.alarm(MOST_SECONDS)  # ends this process, and so all others
    disable_ipv6()
    print('checked:', check(), flush=True)


def need(name: str, package: str) -> None:
    """Ends an example that needs a program which is missing; in continuous integration it fails."""
    if shutil.which(name):
        return
    what = '%s is missing; on Debian: apt install %s' % (name, package)
    if os.environ.get('CI'):
        sys.exit(what)
    print('skipped:', what)
    sys.exit()


def disable_ipv6() -> None:
    """Keeps the kernel from sending frames of its own in this thread's network namespace."""
    for one in ('all', 'default'):
        Path('/proc/sys/net/ipv6/conf/%s/disable_ipv6' % one).write_text('1')


def program(name: str) -> str:
    """A program of ours: from BOFUSS_BIN_DIR, as it was built, or as it is installed."""
    built = [ROOT / 'target' / kind / name for kind in ('release', 'debug')]
    chosen = os.environ.get('BOFUSS_BIN_DIR')
    found = [Path(chosen) / name] if chosen else [path for path in built if path.exists()]
    return str(found[0]) if found else name


# Where programs in Python, and this one, find modules: the package is where it was built.
FOLDERS = [str(MODULES), str(Path(__file__).resolve().parent)]
if os.path.isabs(program('bofuss')):
    FOLDERS.append(str(Path(program('bofuss')).resolve().parents[1] / 'python'))
sys.path += FOLDERS


def ip(line: str) -> None:
    """Runs `ip` with arguments separated by blanks."""
    subprocess.run(['ip', *line.split()], check=True)


def until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, 'in time: ' + what
        time.sleep(.002)


class Host:
    """A namespace with one interface, eth0, whose other end is a port of a switch."""

    def __init__(self, number: int, port: str) -> None:
        self.name = 'h%d' % number
        self.address = '10.0.0.%d' % number
        self.port = port
        self.mac = '02:00:00:00:00:%02x' % number
        ip('netns add %s' % self.name)
        self.inside(disable_ipv6)
        ip('link add %s type veth peer name eth0 address %s netns %s' % (port, self.mac, self.name))
        ip('link set %s up' % port)
        for line in ('link set lo up', 'address add %s/8 dev eth0' % self.address,
                     'link set eth0 up'):
            ip('-n %s %s' % (self.name, line))
        self.socket = self.inside(packet_socket)
        self.frames: List[bytes] = []

    def inside(self, work: Callable):
        """Calls a function in this host's network namespace."""
        return inside(self.name, work)

    def receive(self) -> None:
        """Puts what has arrived into `frames`."""
        self.frames += frames_of(self.socket)

    def run(self, *command: str) -> str:
        """Runs a command in this host, and gives what it prints."""
        command = ('ip', 'netns', 'exec', self.name, *command)
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def start(self, *command: str) -> subprocess.Popen:
        """Starts a command in this host; what it prints is text in a pipe."""
        return start('ip', 'netns', 'exec', self.name, *command, stdout=subprocess.PIPE, text=True)


def frames_of(sock: socket.socket) -> List[bytes]:
    """The frames that have come in through a socket's interface since this was last asked."""
    sock.setblocking(False)
    found = []
    try:
        while True:
            frame, about, _, address = sock.recvmsg(1 << 16, ABOUT_BYTES)
            if address[2] != PACKET_OUTGOING:
                found.append(with_tag(frame, about))
    except BlockingIOError:
        return found


def with_tag(frame: bytes, about: Sequence[Tuple[int, int, bytes]]) -> bytes:
    """A frame with the VLAN tag that the kernel has taken off, as tpacket_auxdata says."""
    for _, _, data in about:
        status, _, _, _, _, tag, kind = struct.unpack('IIIHHHH', data)
        if status & TP_STATUS_VLAN_VALID:
            return frame[:12] + struct.pack('!HH', kind, tag) + frame[12:]
    return frame


def packet_socket(interface: str = 'eth0') -> socket.socket:
    """A socket for whole frames of an interface, here or in the namespace that this is called in."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.bind((interface, 0))
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    except PermissionError:  # in a user namespace; what the kernel allows holds a window
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    return sock


def inside(name: str, work: Callable):
    """Calls a function in a network namespace, given by its name."""
    with open('/run/netns/' + name) as there, open('/proc/self/ns/net') as here:
        enter(there.fileno())
        try:
            return work()
        finally:
            enter(here.fileno())


def enter(namespace: int) -> None:
    """Moves this thread into a network namespace, given by its file."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'setns')


def end_with_parent() -> None:
    """Has the process that calls it end when the one that started it does."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def start(*command: str, **more) -> subprocess.Popen:
    """Starts a program that ends with this one."""
    before = os.environ.get('PYTHONPATH', '').split(os.pathsep)
    folders = os.pathsep.join(filter(None, [*FOLDERS, *before]))
    environment = {**os.environ, 'PYTHONPATH': folders}
    return subprocess.Popen(command, preexec_fn=end_with_parent, env=environment, **more)


def is_listening() -> bool:
    """Whether a controller waits for switches."""
    return ':%04X 00000000:0000 0A' % CONTROLLER_PORT in Path('/proc/net/tcp').read_text()


def link(one: int, other: int) -> None:
    """A cable between two switches, each of whose ports has the number of the other switch. In the
    middle is a bridge that repeats what comes, LLDP too, so that it can be cut with both carriers
    up."""
    middle = 'm%d-%d' % (one, other)
    ip('link add %s type bridge ageing_time 0 group_fwd_mask 0xfff8' % middle)
    ip('link set %s up' % middle)
    for end, far in ((one, other), (other, one)):
        port, inner = 's%d-%d' % (end, far), 'w%d-%d' % (end, far)
        ip('link add %s type veth peer name %s' % (port, inner))
        ip('link set %s master %s up' % (inner, middle))
        ip('link set %s up' % port)


def cut(one: int, other: int) -> None:
    """Has a cable lose all frames in silence."""
    ip('link set w%d-%d nomaster' % (one, other))


def repair(one: int, other: int) -> None:
    """Has it carry frames again."""
    ip('link set w%d-%d master m%d-%d' % (one, other, one, other))


def unplug(one: int, other: int) -> None:
    """Takes the carrier of both ends of a cable."""
    for end, far in ((one, other), (other, one)):
        ip('link set w%d-%d down' % (end, far))


def plug(one: int, other: int) -> None:
    """Gives it back."""
    for end, far in ((one, other), (other, one)):
        ip('link set w%d-%d up' % (end, far))


class Lab:
    """Switches, hosts and a controller.

    `hosts` is how many hosts one switch has, host n at port n; or the switch of each host, and then
    `links` are the pairs of switches that a cable joins. The first host of a switch is at port
    HOST_PORT there, and others follow.
    """

    def __init__(self, hosts: Union[int, Dict[int, int]], controller: str,
                 options: Sequence[str] = (), links: Sequence[Tuple[int, int]] = ()) -> None:
        if isinstance(hosts, int):
            places = {i: (1, i) for i in range(1, hosts + 1)}
        else:
            at = list(hosts.values())
            places = {host: (switch, HOST_PORT + at[:i].count(switch))
                      for i, (host, switch) in enumerate(hosts.items())}
        self.hosts = {i: Host(i, 's%d-%d' % place) for i, place in places.items()}
        ports: Dict[int, List[int]] = {switch: [] for switch, _ in places.values()}
        for switch, port in places.values():
            ports[switch].append(port)
        for one, other in links:
            link(one, other)
            ports.setdefault(one, []).append(other)
            ports.setdefault(other, []).append(one)
        script = Path(sys.argv[0]).resolve().parent / controller
        self.controller = start(sys.executable, str(script), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        until(is_listening, 'the controller listens')
        self.switches = {
            number: start(program('bofuss'), 'run', '--name', 's%d' % number, '--dpid', str(number),
                          '--log', 'warn', '--fail-mode', 'secure', '--tables', '8',
                          '--metrics', str(METRICS_PORT + number),
                          '--controller', 'tcp:127.0.0.1:%d' % CONTROLLER_PORT, *options,
                          *('--port=%d=s%d-%d' % (port, number, port) for port in numbers))
            for number, numbers in ports.items()
        }
        self.wait_for('READY')
        self.resume()

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_) -> None:
        for process in (*self.switches.values(), self.controller):
            process.kill()
            process.wait()
        for host in self.hosts.values():
            ip('link del ' + host.port)
            ip('netns del ' + host.name)

    def wait_for(self, word: str) -> str:
        """The controller's next line that begins with a word."""
        for line in self.controller.stdout:
            if line.startswith(word):
                return line.rstrip()
        raise AssertionError('the controller ended before it printed ' + word)

    def tell(self, line: str) -> None:
        """Gives the controller a line, and waits until it has done what the line says."""
        self.controller.stdin.write(line + '\n')
        self.controller.stdin.flush()
        self.wait_for('READY')

    def counters(self, switch: int) -> Dict[int, int]:
        """The packets that entries of each cookie have matched, from a controller of `rules.py`."""
        self.controller.stdin.write('counters %d\n' % switch)
        self.controller.stdin.flush()
        found = json.loads(self.wait_for('COUNTERS').partition(' ')[2])
        self.wait_for('READY')
        return {int(cookie): packets for cookie, packets in found.items()}

    def metric(self, *parts: str) -> int:
        """The sum of the samples whose lines begin with `bofuss_` and the first part and have the
        others."""
        lines = []
        for number in self.switches:
            address = 'http://127.0.0.1:%d/metrics' % (METRICS_PORT + number)
            with urllib.request.urlopen(address) as answer:
                lines += answer.read().decode().splitlines()
        lines = [line for line in lines if line.startswith('bofuss_' + parts[0])]
        assert lines, 'there is no metric ' + parts[0]
        chosen = [line for line in lines if all(part in line for part in parts)]
        return sum(int(float(line.split()[-1])) for line in chosen)

    def received_by_switch(self) -> int:
        """Frames that the switches have taken from the ports of hosts."""
        ports = [tuple(host.port[1:].split('-')) for host in self.hosts.values()]
        return sum(self.metric('port_receive_packets_total', 'switch="s%s"' % switch,
                               'port="%s"' % port) for switch, port in ports)

    def messages(self) -> int:
        """OpenFlow messages between switches and controller so far; echoes are not counted."""
        return self.metric('openflow_messages_total')

    def resume(self) -> None:
        """Forgets what the hosts' kernels have sent and received; to be called before `send` if
        they did."""
        self.arrived()
        self.sent = self.received_by_switch()

    def send(self, sender: int, frames: Sequence[bytes], answered: bool = False) -> None:
        """Sends frames from a host; its switch receives all of them, and if each is `answered` by the
        kernel of another host all answers."""
        for first in range(0, len(frames), WINDOW):
            window = frames[first:first + WINDOW]
            for frame in window:
                self.hosts[sender].socket.send(frame)
            self.sent += len(window) * (2 if answered else 1)
            until(lambda: self.received_by_switch() >= self.sent, 'the switch receives the frames')
            for host in self.hosts.values():
                host.receive()

    def wait_for_frame(self, is_wanted: Callable[[bytes], bool]) -> None:
        """Waits until a frame that is wanted arrives at a host; all that arrive are forgotten."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            for host in self.hosts.values():
                host.receive()
                frames, host.frames = host.frames, []
                if any(map(is_wanted, frames)):
                    return
        raise AssertionError('a frame does not arrive')

    def arrived(self) -> Dict[int, List[bytes]]:
        """The frames that have arrived at each host since this was last asked."""
        time.sleep(SILENCE_SECONDS)
        found = {}
        for number, host in self.hosts.items():
            host.receive()
            found[number], host.frames = host.frames, []
        return found


# --- frames ---------------------------------------------------------------------------------------

def mac_bytes(text: str) -> bytes:
    """A MAC address."""
    return bytes.fromhex(text.replace(':', ''))


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    total = sum(struct.unpack('!%dH' % ((len(data) + 1) // 2), data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source: str, destination: str, protocol: int, payload: bytes,
         macs: Sequence[str] = ('02:aa:00:00:00:01', '02:aa:00:00:00:02')) -> bytes:
    """An Ethernet frame with an IPv4 packet; `macs` are its source and destination."""
    addresses = socket.inet_aton(source) + socket.inet_aton(destination)
    head = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + addresses
    head = head[:10] + struct.pack('!H', checksum(head)) + head[12:]
    frame = mac_bytes(macs[1]) + mac_bytes(macs[0]) + b'\x08\x00' + head + payload
    return frame.ljust(MIN_FRAME_BYTES, b'\0')


def arp_request(mac: str, address: str, wanted: str) -> bytes:
    """An ARP request: who has an address?"""
    body = struct.pack('!HHBBH', 1, 0x0800, 6, 4, 1) + mac_bytes(mac) + socket.inet_aton(address)
    body += bytes(6) + socket.inet_aton(wanted)
    frame = b'\xff' * 6 + mac_bytes(mac) + b'\x08\x06' + body
    return frame.ljust(MIN_FRAME_BYTES, b'\0')


def udp(source: str, destination: str, port: int, payload: bytes = b'', from_port: int = 4000,
        **more) -> bytes:
    """A UDP datagram without a checksum."""
    head = struct.pack('!HHHH', from_port, port, 8 + len(payload), 0)
    return ipv4(source, destination, 17, head + payload, **more)


def tcp(source: str, destination: str, port: int, payload: bytes = b'', from_port: int = 4000,
        flags: int = 2, **more) -> bytes:
    """A TCP segment, a SYN unless `flags` say otherwise."""
    head = struct.pack('!HHIIBBHHH', from_port, port, 0, 0, 5 << 4, flags, 65535, 0, 0) + payload
    pseudo = (socket.inet_aton(source) + socket.inet_aton(destination)
              + struct.pack('!HH', 6, len(head)))
    head = head[:16] + struct.pack('!H', checksum(pseudo + head)) + head[18:]
    return ipv4(source, destination, 6, head, **more)
