"""OpenQFlow from Python: rules, aggregate keys, reports of flows, and what engines change.

    from bofuss_machine import Switch, flow_mod, match
    from bofuss_qflow import (SCOPE_FLOW, flows, forward, key_mod, notify, qos, records, reports,
                              write)

    switch = Switch.accept(6653)
    switch.send(key_mod(1, ipv4_src=24))                      # subscribers are /24 of sources
    switch.send(flow_mod(match(eth_type=0x800), forward(2, failover=3), table=1))
    switch.send(flow_mod(match(eth_type=0x800), qos(weight=2, key=1), table=2))
    switch.send(notify())
    for kind, body in switch.messages():
        for flow in reports(kind, body):                      # an engine caps large flows
            if flow.bytes > 1000000:
                switch.send(write(flow.tuple, qos=qos_record(cap=500, scope=SCOPE_FLOW)))

All functions return bytes of OpenFlow 1.3, in network byte order, and need the standard library and
bofuss_machine. Rates are kb/s. Wrong values raise ValueError.
"""

import ipaddress
import struct
from typing import Iterator, List, NamedTuple, Optional, Tuple, Union

from bofuss_machine import (ANY, BOFUSS, EXPERIMENTER_MESSAGE, MULTIPART_REQUEST, Action,
                            Instruction, message)

# Types of the instructions, messages and multiparts.
SET_DISCIPLINE = 3
FORWARD, QOS = 32, 33
KEY_MOD, WRITE, NOTIFY, LIMITS, REPORT, COPY = 34, 35, 36, 37, 38, 39
SIGNATURE_MOD, LINKS_MOD = 40, 41
FLOWS, AGGREGATES, KEYS, SIGNATURES, LINKS = 32, 33, 34, 35, 36
# The multipart type of experimenters.
EXPERIMENTER_MULTIPART = 0xFFFF

BEST_EFFORT, GUARANTEED = 0, 1
SCOPE_AGGREGATE, SCOPE_FLOW = 0, 1
# The aggregate key of the output port; in a request, any.
PORT_KEY = 255
IPV4, IPV6 = 0x800, 0x86DD

REASONS = ('periodic', 'threshold', 'idle', 'evicted')
STATES = ('unresolved', 'pending', 'resolved')
DROP_CAUSES = ('none', 'pending', 'rule', 'no-rule', 'too-early', 'queue-full', 'port', 'other')
# Parts of a write.
HAS_FORWARD, HAS_QOS, HAS_REGISTERS, GIVES_BACK = 1, 2, 4, 8

TUPLE = struct.Struct('!16s16sIHHHHB3x')
RECORD = struct.Struct('!IBBBBQIIQQQQIIII')
QOS_RECORD = struct.Struct('!BBBBH2xII')


class FlowTuple(NamedTuple):
    """A microflow. Addresses are numbers; those of IPv4 and Ethernet in the low bits."""

    source: int = 0
    destination: int = 0
    in_port: int = 0
    vlan: int = 0
    eth_type: int = 0
    sport: int = 0
    dport: int = 0
    ip_proto: int = 0

    def pack(self) -> bytes:
        """48 bytes."""
        ends = [address.to_bytes(16, 'big') for address in self[:2]]
        return TUPLE.pack(*ends, *self[2:])

    @classmethod
    def unpack(cls, data: bytes) -> 'FlowTuple':
        """From 48 bytes."""
        source, destination, *rest = TUPLE.unpack(data)
        return cls(int.from_bytes(source, 'big'), int.from_bytes(destination, 'big'), *rest)


class Flow(NamedTuple):
    """What the switch tells of a flow."""

    tuple: FlowTuple
    out_port: int
    reason: str
    state: str
    key: int
    drop_cause: str
    age_ms: int
    idle_ms: int
    rate_kbps: int
    packets: int
    bytes: int
    dropped_packets: int
    dropped_bytes: int
    share_kbps: int
    guaranteed_kbps: int
    eta_us: int
    waiting: int
    qos: bytes
    registers: Tuple[int, ...]


def experimenter(exp_type: int, body: bytes) -> bytes:
    """A message of ours."""
    return message(EXPERIMENTER_MESSAGE, struct.pack('!II', BOFUSS, exp_type) + body)


def multipart(exp_type: int, body: bytes = b'') -> bytes:
    """A multipart request of ours."""
    head = struct.pack('!HH4xII', EXPERIMENTER_MULTIPART, 0, BOFUSS, exp_type)
    return message(MULTIPART_REQUEST, head + body)


def instruction(exp_type: int, body: bytes) -> Instruction:
    """An instruction of ours, padded to 8 bytes."""
    inner = struct.pack('!II', BOFUSS, exp_type) + body
    inner += bytes(-(len(inner) + 4) % 8)
    return Instruction(struct.pack('!HH', 0xFFFF, 4 + len(inner)) + inner)


def forward_record(port: int, failover: int = ANY, *actions: Action) -> bytes:
    """Where packets go; to ANY to drop them."""
    return struct.pack('!II4x', port, failover) + b''.join(actions)


def forward(port: int, failover: int = ANY, *actions: Action) -> Instruction:
    """The instruction of a forwarding rule."""
    return instruction(FORWARD, forward_record(port, failover, *actions))


def qos_record(rate: int = 0, priority: int = 0, weight: int = 1, cap: int = 0,
               key: int = PORT_KEY, scope: int = SCOPE_AGGREGATE) -> bytes:
    """A QoS record; one with a rate is guaranteed."""
    if weight < 1 or not 0 <= priority <= 3:
        raise ValueError('a weight is at least 1, a priority 0 to 3')
    service = GUARANTEED if rate else BEST_EFFORT
    return QOS_RECORD.pack(service, priority, key, scope, weight, rate, cap)


def qos(rate: int = 0, priority: int = 0, weight: int = 1, cap: int = 0, key: int = PORT_KEY,
        scope: int = SCOPE_AGGREGATE) -> Instruction:
    """The instruction of a QoS rule."""
    return instruction(QOS, qos_record(rate, priority, weight, cap, key, scope))


def prefix(bits: Union[int, str], width: int) -> bytes:
    """The mask of an address: a number of bits, or an address as text."""
    if isinstance(bits, str):
        return ipaddress.ip_address(bits).packed
    if not 0 <= bits <= width:
        raise ValueError(f'{bits} is no prefix of {width} bits')
    return ((1 << width) - (1 << (width - bits))).to_bytes(width // 8, 'big')


def key_mod(key: int, ipv4_src: Union[int, str] = 0, ipv4_dst: Union[int, str] = 0,
            ipv6_src: Union[int, str] = 0, ipv6_dst: Union[int, str] = 0, vlan: int = 0,
            sport: int = 0, dport: int = 0, ip_proto: int = 0) -> bytes:
    """Has a number stand for an aggregate key: bits of tuples that make an aggregate."""
    return experimenter(KEY_MOD, struct.pack('!BBBxIHHH2x', 0, key, ip_proto, ANY, vlan, sport, dport)
                        + prefix(ipv4_src, 32) + prefix(ipv4_dst, 32)
                        + prefix(ipv6_src, 128) + prefix(ipv6_dst, 128))


def delete_key(key: int) -> bytes:
    """Has a number stand for no aggregate key any more."""
    return experimenter(KEY_MOD, struct.pack('!BBxxIHHH2x', 1, key, ANY, 0, 0, 0) + bytes(40))


def port_key(port: int, key: int) -> bytes:
    """Gives an output port its aggregate key."""
    return experimenter(KEY_MOD, struct.pack('!BBxxIHHH2x', 2, key, port, 0, 0, 0) + bytes(40))


def notify(wanted: bool = True) -> bytes:
    """Asks for reports and copies, or for no more of them."""
    return experimenter(NOTIFY, bytes([wanted]))


def limits(push_ms: int = 5000, report_bytes: int = 1000000, report_kbps: int = ANY,
           report_share: int = 100) -> bytes:
    """Sets when flows are reported; the share is in thousandths of the port's rate."""
    values = (push_ms, report_bytes, report_kbps, report_share)
    return experimenter(LIMITS, struct.pack('!IQII', *values))


def write(flow: FlowTuple, forward: Optional[bytes] = None, qos: Optional[bytes] = None,
          registers: Optional[Tuple[int, int, int, int]] = None, gap_us: int = 0,
          copy_bytes: int = 0, gives_back: bool = False) -> bytes:
    """Changes a flow as an engine does: with records of forward_record and qos_record."""
    parts = GIVES_BACK * gives_back
    parts |= HAS_FORWARD * (forward is not None) | HAS_QOS * (qos is not None)
    parts |= HAS_REGISTERS * (registers is not None)
    body = flow.pack() + struct.pack('!B3xII4x4Q', parts, gap_us, copy_bytes,
                                     *(registers or (0, 0, 0, 0)))
    return experimenter(WRITE, body + (qos or b'') + (forward or b''))


def add_signature(number: int, pattern: bytes, offset: int = 0, after_bytes: int = 0,
                  inspect_bytes: int = ANY, forward: Optional[bytes] = None,
                  qos: Optional[bytes] = None) -> bytes:
    """Has a payload with the pattern at the offset give its flow a path and a class."""
    if not 1 <= len(pattern) <= 32:
        raise ValueError('a pattern has 1 to 32 bytes')
    parts = 1 * (forward is not None) | 2 * (qos is not None)
    body = struct.pack('!BBBBH2xQI4x32s', 0, number, parts, len(pattern), offset, after_bytes,
                       inspect_bytes, pattern)
    return experimenter(SIGNATURE_MOD, body + (qos or b'') + (forward or b''))


def delete_signature(number: int) -> bytes:
    """Takes a signature away."""
    return experimenter(SIGNATURE_MOD, bytes([1, number]) + bytes(54))


def links(*ports: int, gap_us: int = 500) -> bytes:
    """Names the ports that lead to the same place; none to move no flows."""
    return experimenter(LINKS_MOD, struct.pack('!I4x%dI' % len(ports), gap_us, *ports))


def set_discipline(port: int, name: str) -> bytes:
    """Chooses what orders the frames that wait at a port, as 'hfair'."""
    return experimenter(SET_DISCIPLINE, struct.pack('!I', port) + name.encode())


def flows(value: FlowTuple = FlowTuple(), mask: FlowTuple = FlowTuple(),
          key: int = PORT_KEY) -> bytes:
    """Asks for flows whose tuples have the value where the mask has ones."""
    return multipart(FLOWS, struct.pack('!HBx', 0, key) + value.pack() + mask.pack())


def records(data: bytes) -> Iterator[Flow]:
    """The flows of a report, or of a part of a reply, after experimenter and type."""
    while data:
        (length,) = struct.unpack_from('!H', data)
        item, data = data[2:length], data[length:]
        fields = RECORD.unpack_from(item, TUPLE.size)
        port, reason, state, key, cause, *counters = fields
        rest = item[TUPLE.size + RECORD.size:]
        yield Flow(FlowTuple.unpack(item[:TUPLE.size]), port, REASONS[reason], STATES[state], key,
                   DROP_CAUSES[cause], *counters, rest[:QOS_RECORD.size],
                   struct.unpack('!4Q', rest[QOS_RECORD.size:]))


def reports(kind: int, body: bytes) -> List[Flow]:
    """The flows of a message that the switch sent unasked; none if it is another one."""
    if kind != EXPERIMENTER_MESSAGE or body[:8] != struct.pack('!II', BOFUSS, REPORT):
        return []
    return list(records(body[8:]))
