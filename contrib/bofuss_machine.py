"""State machines in the data plane, from Python: OpenState, BEBA, packet generation, and OPP.

    from bofuss_machine import Machine, install, match, output

    machine = Machine(lookup=['ipv4_src'])              # one state for each source address
    machine.on(match(state=0, udp_dst=5001), machine.set_state(1, idle=5))
    machine.on(match(state=1, tcp_dst=22), output(2))
    machine.on(match(), machine.set_state(0), priority=1)

    install(datapath, machine)                          # in an os-ken or Ryu application

    switch = Switch.accept(6653)                        # or in a plain script
    install(switch, machine)
    switch.barrier()                                    # raises what the switch refused

Open Packet Processor has variables, conditions and update functions besides:

    machine = Machine(lookup=['eth_src'], dialect=OPP)  # each source may send 1,000 packets
    machine.add(condition(0, fd(0), '<', gd(0)), set_global_variable(0, 1000))
    machine.on(match(condition0=1), machine.let(fd(0), 'sum', fd(0), 1), output(2))

All functions return bytes of OpenFlow 1.3, in network byte order, and need the standard library
alone. Names are those of the specifications. A value is a number, an address as text or bytes; with
a mask it is a pair. Times are seconds. Wrong names and values raise ValueError.
"""

import ipaddress
import queue
import socket
import struct
import threading
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

VERSION = 4
EXPERIMENTER = 0xBEBABEBA
BOFUSS = 0x626F66  # of instructions that only this switch has
NO_BUFFER = ANY = 0xFFFFFFFF
ALL_BITS = 0xFFFFFFFF
WHOLE = 0xFFFF

# Message types, and the ports with a meaning of their own.
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, EXPERIMENTER_MESSAGE = 0, 1, 2, 3, 4
FEATURES_REQUEST, FEATURES_REPLY, PACKET_IN, PACKET_OUT = 5, 6, 10, 13
FLOW_MOD, GROUP_MOD = 14, 15
MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 18, 19, 20, 21
IN_PORT, TABLE, FLOOD, CONTROLLER = 0xFFFFFFF8, 0xFFFFFFF9, 0xFFFFFFFB, 0xFFFFFFFD

# The most unasked messages that wait in a Switch, and what stands for the end of its connection.
MOST_WAITING, CLOSED = 10_000, -1
# The flag of a multipart reply after which another comes, and the type that has a longer head.
REPLY_MORE, EXPERIMENTER_MULTIPART = 1, 0xFFFF

# Group types.
ALL, SELECT, INDIRECT, FAST_FAILOVER = range(4)

OPENSTATE, BEBA, OPP = 'openstate', 'beba', 'opp'

Value = Union[int, str, bytes]
Masked = Union[Value, Tuple[Value, Value]]


class Field(NamedTuple):
    """A match field: its OXM number, the bytes of its value, and what a match must also have."""
    number: int
    size: int
    needs: Tuple[str, int] = ('', 0)
    experimenter: int = 0


_IPV4, _ARP, _MPLS = ('eth_type', 0x0800), ('eth_type', 0x0806), ('eth_type', 0x8847)
_IPV6, _TCP, _UDP = ('eth_type', 0x86DD), ('ip_proto', 6), ('ip_proto', 17)
FIELDS: Dict[str, Field] = {
    'in_port': Field(0, 4), 'metadata': Field(2, 8), 'eth_dst': Field(3, 6),
    'eth_src': Field(4, 6), 'eth_type': Field(5, 2), 'vlan_vid': Field(6, 2),
    'vlan_pcp': Field(7, 1), 'ip_dscp': Field(8, 1, _IPV4), 'ip_ecn': Field(9, 1, _IPV4),
    'ip_proto': Field(10, 1, _IPV4), 'ipv4_src': Field(11, 4, _IPV4),
    'ipv4_dst': Field(12, 4, _IPV4), 'tcp_src': Field(13, 2, _TCP), 'tcp_dst': Field(14, 2, _TCP),
    'udp_src': Field(15, 2, _UDP), 'udp_dst': Field(16, 2, _UDP),
    'arp_op': Field(21, 2, _ARP), 'arp_spa': Field(22, 4, _ARP), 'arp_tpa': Field(23, 4, _ARP),
    'arp_sha': Field(24, 6, _ARP), 'arp_tha': Field(25, 6, _ARP),
    'ipv6_src': Field(26, 16, _IPV6), 'ipv6_dst': Field(27, 16, _IPV6),
    'mpls_label': Field(34, 4, _MPLS), 'mpls_tc': Field(35, 1, _MPLS),
    'mpls_bos': Field(36, 1, _MPLS),
    'tcp_flags': Field(42, 2, _TCP, experimenter=0x4F4E4600),  # of ONF's extensions to 1.3
    'global_state': Field(0, 4, experimenter=EXPERIMENTER),
    'state': Field(1, 4, experimenter=EXPERIMENTER),
    **{'condition%d' % i: Field(2 + i, 1, experimenter=EXPERIMENTER) for i in range(8)},
    'timestamp': Field(10, 4, experimenter=EXPERIMENTER),
    'random': Field(11, 2, experimenter=EXPERIMENTER),
    'pkt_len': Field(12, 2, experimenter=EXPERIMENTER),
}
# Fields whose bytes in a key are as in the packet; those of all others are little-endian.
AS_IN_PACKET = {'eth_dst', 'eth_src', 'ipv4_src', 'ipv4_dst', 'arp_op', 'arp_spa', 'arp_tpa',
                'arp_sha', 'arp_tha', 'ipv6_src', 'ipv6_dst'}


class Action(bytes):
    """An action, encoded."""


class Instruction(bytes):
    """An instruction, encoded."""


def to_bytes(value: Value, size: int) -> bytes:
    """A value as `size` bytes."""
    if isinstance(value, int):
        try:
            return value.to_bytes(size, 'big')
        except OverflowError:
            raise ValueError('%d does not fit in %d bytes' % (value, size)) from None
    if isinstance(value, str):
        if size == 6:
            value = bytes.fromhex(value.replace(':', ''))
        else:
            value = ipaddress.ip_address(value).packed
    if len(value) != size:
        raise ValueError('%r does not have %d bytes' % (value, size))
    return bytes(value)


def field(name: str) -> Field:
    """The field of a name."""
    try:
        return FIELDS[name]
    except KeyError:
        raise ValueError('no field is called %r' % name) from None


def header(name: str, has_mask: bool = False) -> int:
    """The OXM header of a field, 32 bits. An experimenter field's length counts its number."""
    one = field(name)
    size = one.size * (2 if has_mask else 1) + (4 if one.experimenter else 0)
    return (0xFFFF if one.experimenter else 0x8000) << 16 | one.number << 9 | has_mask << 8 | size


def oxm(name: str, value: Masked) -> bytes:
    """A field and its value as OXM."""
    one = field(name)
    parts = value if isinstance(value, tuple) else (value,)
    start = struct.pack('!I', header(name, len(parts) == 2))
    if one.experimenter:
        start += struct.pack('!I', one.experimenter)
    return start + b''.join(to_bytes(part, one.size) for part in parts)


def match(**fields: Masked) -> bytes:
    """The OXM fields of a match, each after those that it needs: `match(state=1, tcp_dst=22)`.

    IP fields are IPv4's unless `eth_type` is given.
    """
    ordered: Dict[str, Masked] = {}

    def add(name: str, value: Masked) -> None:
        needs, wanted = field(name).needs
        if needs and needs not in ordered:
            add(needs, fields.get(needs, wanted))
        ordered[name] = value

    for name, value in fields.items():
        if name not in ordered:
            add(name, value)
    return b''.join(oxm(name, value) for name, value in ordered.items())


def padded_match(oxms: bytes) -> bytes:
    """The structure ofp_match, padded to 8 bytes."""
    return _pad(struct.pack('!HH', 1, 4 + len(oxms)) + oxms)


def key(**values: Value) -> bytes:
    """The bytes of a flow's key, with its fields in the order of the scope."""
    parts = []
    for name, value in values.items():
        one = field(name)
        part = to_bytes(value, one.size)
        parts.append(part if name in AS_IN_PACKET else part[::-1])
        parts.append(bytes(4 if one.experimenter else 0))
    return b''.join(parts)


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)


# --- messages -------------------------------------------------------------------------------------

def message(kind: int, body: bytes = b'', xid: int = 0) -> bytes:
    """A message of OpenFlow 1.3."""
    return struct.pack('!BBHI', VERSION, kind, 8 + len(body), xid) + body


def experimenter(exp_type: int, body: bytes) -> bytes:
    """A message of the experimenter of these extensions."""
    return message(EXPERIMENTER_MESSAGE, struct.pack('!II', EXPERIMENTER, exp_type) + body)


def state_mod(command: int, payload: bytes) -> bytes:
    """STATE_MOD."""
    return experimenter(0, bytes([command, 0]) + payload)


def table_config(table: int, stateful: bool = True) -> bytes:
    """Makes a table stateful, or no longer."""
    return state_mod(0, bytes([table, stateful]))


def extractor(table: int, fields: Sequence[str], update: bool = False, bit: int = 0,
              dialect: str = BEBA, biflow: bool = False) -> bytes:
    """Sets the lookup scope, or the update scope; with `bit` the one of actions with `bit`.

    With `biflow` (OPP) both directions of a conversation have the same key.
    """
    if not 1 <= len(fields) <= 6:
        raise ValueError('a scope has 1 to 6 fields')
    more = b'' if dialect == OPENSTATE else bytes([bit, 0, 0, 0])
    words = struct.pack('!%dI' % (len(fields) + 1), len(fields), *map(header, fields))
    return state_mod(2 if update else 1, bytes([table, biflow, 0, 0]) + more + words)


def set_flow_state(table: int, flow: bytes, state: int, mask: int = ALL_BITS, hard: float = 0,
                   hard_to: int = 0, idle: float = 0, idle_to: int = 0) -> bytes:
    """Gives the flow with this key in the update scope a state, from the controller."""
    timers = _timers(hard, hard_to, idle, idle_to)
    return state_mod(3, struct.pack('!B3xIII', table, len(flow), state, mask) + timers + flow)


def del_flow_state(table: int, flow: bytes) -> bytes:
    """Forgets a flow's state."""
    return state_mod(4, struct.pack('!B3xI', table, len(flow)) + flow)


def global_state_mod(state: int, mask: int = ALL_BITS) -> bytes:
    """Changes bits of the global state."""
    return state_mod(5, struct.pack('!II', state, mask))


def reset_global_state() -> bytes:
    """Makes the global state 0."""
    return state_mod(6, b'')


def add_template(template: int, packet: bytes) -> bytes:
    """Adds or replaces a packet to be generated."""
    return experimenter(1, struct.pack('!BxI4x', 0, template) + packet)


def del_template(template: int) -> bytes:
    """Deletes a packet to be generated."""
    return experimenter(1, struct.pack('!BxI4x', 1, template))


def flow_mod(oxms: bytes, *parts: bytes, table: int = 0, priority: int = 10, cookie: int = 0,
             command: int = 0) -> bytes:
    """Adds an entry. Its actions are applied in their order; instructions may stand among them."""
    actions = b''.join(part for part in parts if isinstance(part, Action))
    instructions = b''.join(part for part in parts if isinstance(part, Instruction))
    if actions:
        instructions = struct.pack('!HH4x', 4, 8 + len(actions)) + actions + instructions
    head = struct.pack('!QQBBHHHIIIH2x', cookie, 0, table, command, 0, 0, priority, NO_BUFFER,
                       ANY, ANY, 0)
    return message(FLOW_MOD, head + padded_match(oxms) + instructions)


def group_mod(group: int, kind: int, buckets: Iterable[Sequence[Action]],
              command: int = 0) -> bytes:
    """Adds a group of a type, or modifies it (command 1). Buckets of SELECT have weight 1."""
    body = b''
    for actions in buckets:
        joined = b''.join(actions)
        weight = 1 if kind == SELECT else 0
        body += struct.pack('!HHII4x', 16 + len(joined), weight, ANY, ANY) + joined
    return message(GROUP_MOD, struct.pack('!HBxI', command, kind, group) + body)


def packet_out(packet: bytes, *actions: Action, in_port: int = CONTROLLER) -> bytes:
    """Sends a packet from the controller."""
    joined = b''.join(actions)
    head = struct.pack('!IIH6x', NO_BUFFER, in_port, len(joined))
    return message(PACKET_OUT, head + joined + packet)


def _timers(hard: float, hard_to: int, idle: float, idle_to: int) -> bytes:
    return struct.pack('!4I', hard_to, idle_to, _microseconds(hard), _microseconds(idle))


# --- actions and instructions ---------------------------------------------------------------------

def output(port: int) -> Action:
    """Sends the packet to a port; to CONTROLLER the whole packet."""
    return Action(struct.pack('!HHIH6x', 0, 16, port, WHOLE if port == CONTROLLER else 0))


def group(number: int) -> Action:
    """Gives the packet to a group."""
    return Action(struct.pack('!HHI', 22, 8, number))


def set_field(**one: Value) -> Action:
    """Writes a field: `set_field(eth_dst='02:00:00:00:00:01')`."""
    (name, value), = one.items()
    body = oxm(name, value)
    size = 4 + len(body) + -(4 + len(body)) % 8
    return Action(_pad(struct.pack('!HH', 25, size) + body))


def push_mpls() -> Action:
    """Adds an MPLS header."""
    return Action(struct.pack('!HHH2x', 19, 8, 0x8847))


def pop_mpls(eth_type: int = 0x0800) -> Action:
    """Takes an MPLS header off; below it is a packet of this type."""
    return Action(struct.pack('!HHH2x', 20, 8, eth_type))


def _beba_action(kind: int, body: bytes) -> Action:
    head = struct.pack('!HHII4x', 0xFFFF, 16 + len(body), EXPERIMENTER, kind)
    return Action(head + body)


def set_state(table: int, state: int, mask: int = ALL_BITS, hard: float = 0, hard_to: int = 0,
              idle: float = 0, idle_to: int = 0, bit: int = 0,
              scope: Optional[Sequence[str]] = None) -> Action:
    """Gives the packet's flow in a table's update scope a state.

    After `hard` seconds, or `idle` seconds without a packet, it goes over to `hard_to` or
    `idle_to`. With `bit` the flow is that of the scope of this bit. With `scope` the action is
    OPP's, and its fields make the key, unless they are none.
    """
    start = struct.pack('!IIB3x', state, mask, table)
    body = start + _timers(hard, hard_to, idle, idle_to) + bytes([bit, 0, 0, 0])
    if scope is not None:
        body += _pad(struct.pack('!4x%dI' % (len(scope) + 1), len(scope), *map(header, scope)))
    return _beba_action(0, body)


def set_global_state(state: int, mask: int = ALL_BITS) -> Action:
    """Changes bits of the global state."""
    return _beba_action(1, struct.pack('!II', state, mask))


def inc_state(table: int) -> Action:
    """Counts the state of the packet's flow up."""
    return _beba_action(2, struct.pack('!B7x', table))


def goto(table: int) -> Instruction:
    """Goes on in a table."""
    return Instruction(struct.pack('!HHB3x', 1, 8, table))


def write_metadata(value: int, mask: int = 0xFFFFFFFFFFFFFFFF) -> Instruction:
    """Writes bits of the metadata."""
    return Instruction(struct.pack('!HH4xQQ', 2, 24, value, mask))


def packet_gen(template: int, *actions: Action) -> Instruction:
    """Makes a packet of a template and applies actions to it."""
    joined = b''.join(actions)
    return Instruction(struct.pack('!HHII4xI4x', 0xFFFF, 24 + len(joined), EXPERIMENTER, 0,
                                   template) + joined)


class Copy(NamedTuple):
    """What a packet made of a template gets: `bits` of a field of the packet that hit the entry.

    Without `bits`, all bytes of the source; fields that have no whole bytes, such as vlan_vid, need
    them. Offsets are the bits below, from the least significant one on.
    """
    source: str
    destination: str
    bits: Optional[int] = None
    source_offset: int = 0
    destination_offset: int = 0


def packet_gen_copy(template: int, copies: Iterable[Copy], *actions: Action) -> Instruction:
    """Makes a packet of a template, copies fields into it, and applies actions to it."""
    joined = b''
    n_copies = 0
    for one in copies:
        bits = 8 * field(one.source).size if one.bits is None else one.bits
        joined += struct.pack('!II3H2x', header(one.source), header(one.destination), bits,
                              one.source_offset, one.destination_offset)
        n_copies += 1
    joined += b''.join(actions)
    return Instruction(struct.pack('!HHIIIH6x', 0xFFFF, 24 + len(joined), BOFUSS, 18, template,
                                   n_copies) + joined)


# --- Open Packet Processor ------------------------------------------------------------------------

class Operand(NamedTuple):
    """What a condition or an update function works on."""
    kind: int
    number: int


FLOW_VARIABLE, GLOBAL_VARIABLE, HEADER_FIELD, CONSTANT = range(4)
COMPARISONS = ['>', '<', '>=', '<=', '==', '!=']
FUNCTIONS = ['sum', 'sub', 'mul', 'div', 'avg', 'var', 'ewma', 'poly_sum']
STATE_SOURCE = 2


def fd(number: int) -> Operand:
    """A variable of the packet's flow, 0 to 5."""
    return Operand(FLOW_VARIABLE, number)


def gd(number: int) -> Operand:
    """A variable of the table, 0 to 7."""
    return Operand(GLOBAL_VARIABLE, number)


def hf(number: int) -> Operand:
    """The field of header field extractor 0 to 7."""
    return Operand(HEADER_FIELD, number)


def header_extractor(number: int, name: str, table: int = 0) -> bytes:
    """Makes a field an operand, `hf(number)`."""
    return state_mod(7, struct.pack('!BB2xI', table, number, header(name)))


def condition(number: int, one: Operand, comparison: str, other: Operand, table: int = 0) -> bytes:
    """Has `condition0` to `condition7` say how two operands compare."""
    types = one.kind << 6 | other.kind << 4
    return state_mod(8, struct.pack('!6B2x', table, number, COMPARISONS.index(comparison), types,
                                    one.number, other.number))


def set_global_variable(number: int, value: int, mask: int = ALL_BITS, table: int = 0) -> bytes:
    """Gives a variable of a table a value."""
    return state_mod(9, struct.pack('!BB2xII', table, number, value, mask))


def set_flow_variable(number: int, flow: bytes, value: int, mask: int = ALL_BITS,
                      table: int = 0) -> bytes:
    """Gives a variable of the flow with this key a value."""
    head = struct.pack('!BB2xIII', table, number, len(flow), value, mask)
    return state_mod(10, head + flow)


def set_data_var(table: int, result: Operand, function: str, *operands: Union[Operand, int],
                 coefficients: Sequence[int] = (), bit: int = 0,
                 scope: Sequence[str] = ()) -> Action:
    """Computes a variable of the flow or the table. A number as operand is a constant, 0 to 255.

    `avg`: the result is the number of samples, operands are sample and average. `var`: the same,
    and the variance. `ewma`: operands are the result before, the weight's code and the sample.
    """
    full = [one if isinstance(one, Operand) else Operand(CONSTANT, one) for one in operands]
    types = sum(one.kind << 14 - 2 * place for place, one in enumerate(full))
    types |= (result.kind == GLOBAL_VARIABLE) << 7
    numbers = bytes(one.number for one in full).ljust(4, b'\0')
    factors = struct.pack('!4b', *[*coefficients, 0, 0, 0, 0][:4])
    body = struct.pack('!HBBB3x', types, table, FUNCTIONS.index(function), result.number)
    body += numbers + factors + struct.pack('!IB3x', len(scope), bit)
    return _beba_action(3, body + _pad(struct.pack('!%dI' % len(scope), *map(header, scope))))


def write_context(source: Union[Operand, str], name: str) -> Action:
    """Writes a variable, or the flow's `'state'`, to a field of the packet."""
    kind, number = (STATE_SOURCE, 0) if isinstance(source, str) else source
    return _beba_action(4, struct.pack('!BB2xI', kind, number, header(name)))


# --- a machine ------------------------------------------------------------------------------------

class Machine:
    """The machine of one table: scopes, and entries that are its transitions."""

    def __init__(self, lookup: Sequence[str], update: Optional[Sequence[str]] = None,
                 bit_update: Optional[Sequence[str]] = None, table: int = 0,
                 dialect: str = BEBA, biflow: bool = False) -> None:
        """The update scope is the lookup scope unless it is given."""
        if dialect == OPENSTATE and bit_update:
            raise ValueError('OpenState has no second update scope')
        self.table = table
        self.dialect = dialect
        self.messages: List[bytes] = [
            table_config(table),
            extractor(table, lookup, dialect=dialect, biflow=biflow),
            extractor(table, update or lookup, update=True, dialect=dialect, biflow=biflow),
        ]
        if bit_update:
            self.messages.append(extractor(table, bit_update, update=True, bit=1, biflow=biflow))

    def set_state(self, state: int, **more: Any) -> Action:
        """`set_state` for this machine's table and dialect."""
        if self.dialect == OPP:
            more.setdefault('scope', ())
        return set_state(self.table, state, **more)

    def let(self, result: Operand, function: str, *operands: Union[Operand, int],
            **more: Any) -> Action:
        """`set_data_var` for this machine's table."""
        return set_data_var(self.table, result, function, *operands, **more)

    def add(self, *messages: bytes) -> None:
        """Adds messages, as conditions are."""
        self.messages += messages

    def inc_state(self) -> Action:
        """`inc_state` for this machine's table."""
        return inc_state(self.table)

    def on(self, oxms: bytes, *parts: bytes, priority: int = 10) -> None:
        """Adds a transition: what it matches, then its actions and instructions."""
        self.messages.append(flow_mod(oxms, *parts, table=self.table, priority=priority))


def install(switch: Any, *parts: Union[Machine, bytes]) -> None:
    """Sends machines and messages to whatever has `send(bytes)`: a datapath of os-ken, a Switch."""
    for part in parts:
        for one in part.messages if isinstance(part, Machine) else [part]:
            switch.send(one)


# --- reports --------------------------------------------------------------------------------------

# Bytes of a record, in the two dialects in which all have the same.
OPENSTATE_RECORD, OPP_RECORD = 112, 136


class State(NamedTuple):
    """A flow's state as the switch reports it; `seconds` since its last transition."""
    table: int
    key: bytes
    state: int
    seconds: float
    variables: Tuple[int, ...] = ()


def states_request(table: int, state: Optional[int] = None, oxms: bytes = b'',
                   and_delete: bool = False, xid: int = 0) -> bytes:
    """Asks for the states of a table: all, or those that are `state`, or of flows that match."""
    body = struct.pack('!BB2xI', table, state is not None, state or 0) + padded_match(oxms)
    return _multipart(2 if and_delete else 0, body, xid)


def short_states_request(table: int, and_delete: bool = False, xid: int = 0) -> bytes:
    """Asks for the states of a table in BEBA's short form, without times."""
    body = struct.pack('!BB2xI', table, 0, 0) + padded_match(b'')
    return _multipart(4 if and_delete else 3, body, xid)


def global_state_request(xid: int = 0) -> bytes:
    """Asks for the global state."""
    return _multipart(1, b'', xid)


def global_variables_request(table: int = 0, xid: int = 0) -> bytes:
    """Asks for the eight variables of a table (OPP)."""
    return _multipart(3, struct.pack('!7xB', table), xid)


def _multipart(exp_type: int, body: bytes, xid: int) -> bytes:
    head = struct.pack('!HH4xII', 0xFFFF, 0, EXPERIMENTER, exp_type)
    return message(MULTIPART_REQUEST, head + body, xid)


def packet_in_data(body: bytes) -> bytes:
    """The packet of a packet-in."""
    match_length, = struct.unpack_from('!2xH', body, 16)
    return body[16 + match_length + -match_length % 8 + 2:]


def parse_states(records: bytes) -> List[State]:
    """The states of a reply's records, without those that stand for flows without one.

    The length of a record tells its dialect.
    """
    found = []
    while records:
        length, table, key_length = struct.unpack_from('!HBB', records)
        seconds, nanoseconds = struct.unpack_from('!II', records, 4)
        state_at, key_at = 28, 32
        variables: Tuple[int, ...] = ()
        if length in (OPENSTATE_RECORD, OPP_RECORD):
            key_length, = struct.unpack_from('!I', records, 40)
            state_at, key_at = 92, 44
        if length == OPP_RECORD:
            variables = struct.unpack_from('!6I', records, 96)
        state, = struct.unpack_from('!I', records, state_at)
        if key_length:
            flow = records[key_at:key_at + key_length]
            found.append(State(table, flow, state, seconds + nanoseconds / 1e9, variables))
        records = records[length:]
    return found


def parse_short_states(records: bytes) -> List[Tuple[bytes, int]]:
    """Key and state of each record in BEBA's short form."""
    found = []
    while records:
        length, key_length, state = struct.unpack_from('!HxBI', records)
        if key_length:
            found.append((records[8:8 + key_length], state))
        records = records[length:]
    return found


# --- the connection of a plain script -------------------------------------------------------------

class Refused(Exception):
    """The switch answered with an error; `code` is the experimenter's if `kind` is 0xffff."""

    def __init__(self, body: bytes) -> None:
        self.kind, self.code = struct.unpack_from('!HH', body)
        Exception.__init__(self, 'error %d, code %d' % (self.kind, self.code))


class Switch:
    """An OpenFlow 1.3 connection to one switch, for a script without a framework.

    A thread reads what comes, and answers echo requests.
    """

    def __init__(self, sock: socket.socket) -> None:
        """Greets the switch, and asks for its datapath id and the number of this connection."""
        self.socket = sock
        self.xid = 0
        self.errors: List[bytes] = []
        self.replies: 'queue.Queue[Tuple[int, bytes]]' = queue.Queue()
        self.unasked: 'queue.Queue[Tuple[int, bytes]]' = queue.Queue()
        self.sending, self.asking = threading.Lock(), threading.Lock()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.send(message(HELLO))
        self.reader.start()
        features = self.ask(message(FEATURES_REQUEST))
        self.datapath_id, self.auxiliary_id = struct.unpack_from('!Q5xB', features)

    @classmethod
    def accept(cls, port: int = 6653, host: str = '127.0.0.1') -> 'Switch':
        """Waits for one switch."""
        return next(cls.listen(port, host))

    @classmethod
    def listen(cls, port: int = 6653, host: str = '127.0.0.1') -> Iterator['Switch']:
        """Waits for switches, one after another."""
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((host, port))
            server.listen()
            while True:
                sock, _ = server.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                yield cls(sock)

    def send(self, data: bytes) -> None:
        """Sends a message."""
        with self.sending:
            self.socket.sendall(data)

    def _read(self) -> None:
        stream = self.socket.makefile('rb')
        try:
            while True:
                start = stream.read(8)
                if len(start) < 8:
                    break
                _, kind, length, xid = struct.unpack('!BBHI', start)
                self._take(kind, xid, stream.read(length - 8))
        except OSError:
            pass
        for waiting in (self.replies, self.unasked):
            waiting.put((CLOSED, b''))

    def _take(self, kind: int, xid: int, body: bytes) -> None:
        if kind == ECHO_REQUEST:
            self.send(message(ECHO_REPLY, body, xid))
        elif xid and xid == self.xid:
            self.replies.put((kind, body))
        elif kind == ERROR:
            self.errors.append(body)
        elif self.unasked.qsize() < MOST_WAITING:
            self.unasked.put((kind, body))

    def ask(self, request: bytes) -> bytes:
        """Sends a request and gives its reply's body; those of a multipart are joined.

        Raises Refused, and ConnectionError if the connection has closed.
        """
        with self.asking:
            self.xid += 1
            self.send(request[:4] + struct.pack('!I', self.xid) + request[8:])
            parts = []
            while True:
                kind, body = self.replies.get()
                if kind == CLOSED:
                    self.replies.put((CLOSED, b''))  # for the next request
                    raise ConnectionError('the switch has closed the connection')
                if kind == ERROR:
                    raise Refused(body)
                if kind != MULTIPART_REPLY:
                    return body
                of, flags = struct.unpack_from('!HH', body)
                parts.append(body[16 if of == EXPERIMENTER_MULTIPART else 8:])
                if not flags & REPLY_MORE:
                    return b''.join(parts)

    def barrier(self) -> None:
        """Waits until the switch has done what it was sent. Raises Refused."""
        self.ask(message(BARRIER_REQUEST))
        if self.errors:
            raise Refused(self.errors.pop(0))

    def states(self, table: int = 0, state: Optional[int] = None, oxms: bytes = b'',
               and_delete: bool = False) -> List[State]:
        """The states of a table, see `states_request`."""
        return parse_states(self.ask(states_request(table, state, oxms, and_delete)))

    def global_state(self) -> int:
        """The global state."""
        state: int = struct.unpack_from('!4xI', self.ask(global_state_request()))[0]
        return state

    def global_variables(self, table: int = 0) -> Tuple[int, ...]:
        """The eight variables of a table (OPP)."""
        return struct.unpack('!8I', self.ask(global_variables_request(table)))

    def messages(self) -> Iterator[Tuple[int, bytes]]:
        """Type and body of what the switch sends unasked, until it closes the connection.

        At most MOST_WAITING wait to be taken; further ones are lost.
        """
        while True:
            kind, body = self.unasked.get()
            if kind == CLOSED:
                self.unasked.put((CLOSED, b''))  # for the next iteration
                return
            yield kind, body

    def wait(self) -> None:
        """Waits until the switch closes the connection."""
        self.reader.join()
