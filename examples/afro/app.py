"""An application: shortest paths between hosts. It knows nothing of failures."""

from collections import deque

from bofuss import oflib, sim

# Of IEEE 802, for experiments: the type of frames that find links.
PROBE_TYPE = bytes.fromhex('88b5')
PROBE_ADDRESSES = bytes.fromhex('ffffffffffff 02feed000000')
PRIORITY = 1


class Forwarding(sim.Controller):
    """Finds links once, by frames that it sends through them; then learns where hosts are. The first
    packet to a host installs the path to it."""

    def __init__(self):
        self.switches = {}  # by name
        self.ports = {}     # by switch: its ports' numbers
        self.links = {}     # where each end of a link leads: (switch, port) by (switch, port)
        self.hosts = {}     # (switch, port) by address

    def on_connect(self, switch):
        self.switches[switch.name] = switch
        yield oflib.flow_from_text('priority=0,actions=controller')
        yield oflib.MultipartRequest('PORT_DESC')

    def on_message(self, switch, message):
        if isinstance(message, oflib.MultipartReply) and message.type == 'PORT_DESC':
            numbers = [port.port_no for port in message.body]
            self.ports[switch.name] = [n for n in numbers if n <= oflib.PortNo.MAX]
            # Also by those that were asked before: their neighbours may have connected only now.
            for name, ports in self.ports.items():
                for port in ports:
                    probe = PROBE_ADDRESSES + PROBE_TYPE + ('%s %d' % (name, port)).encode()
                    self.switches[name].send(packet_out(port, probe.ljust(60)))

    def on_packet_in(self, switch, packet):
        frame, here = packet.data, (switch.name, packet.match['in_port'])
        if frame[12:14] == PROBE_TYPE:
            name, port = frame[14:].decode().split()
            self.links[name, int(port)] = here
            return
        dst, src = frame[:6], frame[6:12]
        if here not in self.links and self.hosts.setdefault(src, here) != here:
            return  # it was flooded through a link that is not found yet
        if dst in self.hosts:
            self.install(switch.name, dst)
            name, port = self.hosts[dst]
            self.switches[name].send(packet_out(port, frame))
        else:
            self.flood(here, frame)

    def flood(self, here, frame):
        """Sends a frame out of each port that leads to no switch, but not back."""
        for name, ports in self.ports.items():
            for port in ports:
                if (name, port) not in self.links and (name, port) != here:
                    self.switches[name].send(packet_out(port, frame))

    def install(self, first, dst):
        """Installs a shortest path from a switch to a host."""
        last, last_port = self.hosts[dst]
        hops = self.towards(last)
        name = first
        while name in hops or name == last:
            port = last_port if name == last else hops[name]
            self.switches[name].send(oflib.flow_from_text(
                'priority=%d,dl_dst=%s,actions=output:%d' % (PRIORITY, dst.hex(':'), port)))
            if name == last:
                return
            name = self.links[name, port][0]

    def towards(self, last):
        """The port of each other switch that leads to one by a shortest path."""
        hops, waiting = {}, deque([last])
        while waiting:
            far = waiting.popleft()
            for (name, port), (neighbour, _) in sorted(self.links.items()):
                if neighbour == far and name != last and name not in hops:
                    hops[name] = port
                    waiting.append(name)
        return hops


def packet_out(port, frame):
    """A message that sends a frame out of a port."""
    return oflib.PacketOut(in_port='CONTROLLER', actions='output:%d' % port, data=frame)
