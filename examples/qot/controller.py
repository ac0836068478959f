"""Estimates the quality of lightpaths from the powers of optical ports, and sets up those that are
good enough. OpenFlow 1.5."""

import itertools
import math
import socket
import sys

from bofuss import oflib

VERSION = 6
SWITCHES, HOST_PORT = 5, 10
# The estimate: OSNR of a span, in dB, is 58 + power at its begin - loss - noise figure, with a
# bandwidth of 12.5 GHz (0.1 nm) at 1550 nm.
REFERENCE_DB, NOISE_FIGURE_DB = 58, 5.5
# The least OSNR of each modulation, in dB.
REQUIRED_DB = {'qpsk': 14.5, '8qam': 19, '16qam': 22}
# The first channel of the grid, and its steps, in MHz.
FIRST_MHZ, GRID_MHZ = 191_300_000, 50_000


def osnr(spans):
    """The OSNR in dB of a path; a span is the power at its begin in dBm, and its loss in dB."""
    noise = sum(10 ** -((REFERENCE_DB + power - loss - NOISE_FIGURE_DB) / 10)
                for power, loss in spans)
    return -10 * math.log10(noise)


def signed(number):
    """A power of 16 bits."""
    return number - 65536 if number > 32767 else number


class Roadm:
    """A connection to a switch."""

    def __init__(self, sock):
        self.socket, self.framer, self.xid = sock, oflib.Framer(), 0
        self.send(HELLO)
        self.received = self.messages()
        features = self.ask(oflib.FeaturesRequest())
        self.datapath_id = features.datapath_id

    def messages(self):
        """What comes; echo requests are answered."""
        for data in iter(lambda: self.socket.recv(1 << 16), b''):
            for one in self.framer.feed(data):
                if isinstance(one, oflib.EchoRequest):
                    self.send(oflib.EchoReply(one.data), one.xid)
                else:
                    yield one
        raise ConnectionError('the switch has gone')

    def send(self, one, xid=None):
        if not isinstance(one, bytes):
            self.xid += 1
            one.version, one.xid = VERSION, self.xid if xid is None else xid
            one = one.encode()
        self.socket.sendall(one)

    def ask(self, request):
        """The answer to a request."""
        self.send(request)
        asked = self.xid
        for one in self.received:
            if isinstance(one, oflib.ErrorMsg):
                raise ValueError(oflib.ERRORS[one.type, one.code, one.experimenter].code_name)
            if one.xid == asked:
                return one

    def do(self, *changes):
        """Makes changes, and waits until they are made."""
        for change in changes:
            self.send(change)
        self.ask(oflib.BarrierRequest())

    def port(self, number):
        """The description of a port."""
        return self.ask(oflib.MultipartRequest('PORT_DESC', {'port_no': number})).body[0]

    def powers(self, number):
        """Powers sent and received at an optical port, in dBm."""
        stats = self.ask(oflib.MultipartRequest('PORT_STATS', {'port_no': number})).body[0].optical
        return signed(stats.tx_pwr) / 10, signed(stats.rx_pwr) / 10

    def configure(self, number, **change):
        """Configures an optical port."""
        port = self.port(number)
        self.do(oflib.PortMod(port_no=number, hw_addr=port.hw_addr, optical=change))


HELLO = bytes([VERSION, 0, 0, 8, 0, 0, 0, 0])


def spans(roadms, first, last):
    """Power and loss of each span of a path, as the ROADMs measure them."""
    for here in range(first, last):
        sent, _ = roadms[here].powers(here + 1)
        _, received = roadms[here + 1].powers(here)
        yield sent, sent - received


def rules(first, last, channel):
    """The rules of a lightpath, by switch: packets have the channel as a VLAN."""
    vlan = 'dl_vlan=%d' % channel
    yield first, ('in_port=%d,udp,nw_dst=10.2.0.%d,actions=push_vlan:0x8100,'
                  'set_field:%d->vlan_vid,output:%d' % (HOST_PORT, last, 0x1000 | channel,
                                                        first + 1))
    for here in range(first + 1, last):
        yield here, 'in_port=%d,%s,actions=output:%d' % (here - 1, vlan, here + 1)
    yield last, 'in_port=%d,%s,actions=pop_vlan,output:%d' % (last - 1, vlan, HOST_PORT)


class Controller:
    """The ROADMs of a row, and the channels that lightpaths have."""

    def __init__(self, roadms):
        self.roadms, self.channels = roadms, itertools.count(1)

    def power(self, dbm):
        """Sets the power of all ports towards the next ROADM."""
        tenths = round(float(dbm) * 10) % 2**32  # as 32 bits with a sign
        for here in range(1, SWITCHES):
            self.roadms[here].configure(here + 1, configure='TX_PWR', tx_pwr=tenths)

    def request(self, first, last, modulation):
        """Accepts or rejects a lightpath, and sets up one that is accepted."""
        first, last = int(first), int(last)
        found = osnr(spans(self.roadms, first, last))
        if found < REQUIRED_DB[modulation]:
            return 'REJECTED %.2f' % found
        channel = next(self.channels)
        for here in range(first, last):
            self.roadms[here].configure(here + 1, configure='TX_TUNE|USE_FREQ',
                                        freq_lmda=FIRST_MHZ + channel * GRID_MHZ)
        for here, text in rules(first, last, channel):
            self.roadms[here].do(oflib.flow_from_text(text))
        return 'ACCEPTED %.2f %d' % (found, channel)

    def clear(self):
        """Removes all lightpaths."""
        for roadm in self.roadms.values():
            roadm.do(oflib.flow_from_text('', 'delete'))


def main():
    roadms = {}
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(('127.0.0.1', 6653))
        server.listen()
        for _ in range(SWITCHES):
            roadm = Roadm(server.accept()[0])
            roadms[roadm.datapath_id] = roadm
    controller = Controller(roadms)
    print('READY', flush=True)
    for line in sys.stdin:
        verb, *words = line.split()
        try:
            answer = getattr(controller, verb)(*words)
        except ValueError as refusal:
            answer = 'REFUSED %s' % refusal
        if answer:
            print('ANSWER', answer, flush=True)
        print('READY', flush=True)


if __name__ == '__main__':
    main()
