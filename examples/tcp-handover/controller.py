"""A connection is moved to another server: the client's next request makes the controller open the
same connection there, and the switch shift the numbers of everything that follows."""

import struct

from bofuss_machine import (CONTROLLER, FLOOD, PACKET_IN, TABLE, flow_mod, match, output,
                            packet_in_data, packet_out, set_field)
from lab import checksum
from rules import accept, install, run_commands

CLIENT_AT, FRONT_AT, BACK_AT = 1, 2, 3
PORT = 8080
FRONT, BACK = '10.0.0.2', '10.0.0.3'
FRONT_MAC, BACK_MAC = '02:00:00:00:00:02', '02:00:00:00:00:03'
SYN, PSH = 2, 8
# A group to the client that draws for each packet: of 64 that the second server sends, one is lost.
LOSSY = 1
SWITCH_OPTIONS = ['--group-select', '%d=random' % LOSSY, '--seed', '1']
# Where a TCP header and its parts are in a frame.
TCP, SEQ, ACK, LENGTH, FLAGS, OPTIONS = 34, 38, 42, 46, 47, 54
NO_OPERATION, SCALE, TIME_STAMPS = 1, 3, 8


def rules():
    """Before: packets of the first server and to it pass. The controller gets the handshake, too,
    and a request in place of the first server."""
    both = [(CLIENT_AT, FRONT_AT), (FRONT_AT, CLIENT_AT)]
    return ['add-group group_id=%d,type=select,bucket=weight:63,output:%d,bucket=weight:1,actions=drop'
            % (LOSSY, CLIENT_AT), flow_mod(match(eth_type=0x0806), output(FLOOD)),
            *('priority=10,in_port=%d,ip,actions=output:%d' % way for way in both),
            'priority=10,in_port=%d,ip,actions=controller' % BACK_AT,
            *(flow_mod(match(in_port=here, tcp_flags=(SYN, SYN)), output(there), output(CONTROLLER),
                       priority=20) for here, there in both),
            flow_mod(match(in_port=CLIENT_AT, tcp_flags=(PSH, PSH)), output(CONTROLLER),
                     priority=20)]


def shifted(by):
    """After: what the second server sends has the numbers and the addresses of the first one."""
    return ['priority=30,in_port=%d,tcp,actions=add_tcp_ack(bytes=%d),set_field:%s->eth_dst,'
            'set_field:%s->ip_dst,output:%d' % (CLIENT_AT, -by % 2**32, BACK_MAC, BACK, BACK_AT),
            'priority=30,in_port=%d,tcp,actions=add_tcp_seq(bytes=%d),set_field:%s->eth_src,'
            'set_field:%s->ip_src,group:%d' % (BACK_AT, by, FRONT_MAC, FRONT, LOSSY),
            'priority=30,in_port=%d,ip,actions=drop' % FRONT_AT]


def options(packet):
    """Kind and bytes of each option of a TCP packet."""
    rest = packet[OPTIONS:TCP + (packet[LENGTH] >> 4) * 4]
    while rest and rest[0]:
        length = 1 if rest[0] == NO_OPERATION else rest[1]
        yield rest[0], rest[:length]
        rest = rest[length:]


def number(packet, at):
    """A number of four bytes."""
    return int.from_bytes(packet[at:at + 4], 'big')


def syn_again(first, request):
    """The client's SYN for the second server: with a number so that what the client sends needs no
    shift, and without time stamps, because those of two servers differ."""
    kept = b''.join(bytes([NO_OPERATION] * len(body)) if kind == TIME_STAMPS else body
                    for kind, body in options(first))
    kept = kept.ljust(len(kept) + -len(kept) % 4, b'\0')
    tcp = request[TCP:SEQ] + struct.pack('!IIBBHHH', (number(request, SEQ) - 1) % 2**32, 0,
                                         (20 + len(kept)) // 4 << 4, SYN, 65535, 0, 0) + kept
    pseudo = first[26:34] + struct.pack('!HH', 6, len(tcp))
    tcp = tcp[:16] + struct.pack('!H', checksum(pseudo + tcp)) + tcp[18:]
    head = first[14:16] + struct.pack('!H', 20 + len(tcp)) + first[18:24] + bytes(2) + first[26:34]
    head = head[:10] + struct.pack('!H', checksum(head)) + head[12:]
    return first[:14] + head + tcp


def next_packet(switch):
    """The packet of the next packet-in."""
    return next(packet_in_data(body) for kind, body in switch.messages() if kind == PACKET_IN)


def hand_over(switch):
    """Moves the connection that is made next, at its first request; returns the shift."""
    first, answer, request = (next_packet(switch) for _ in range(3))
    switch.send(packet_out(syn_again(first, request), set_field(eth_dst=BACK_MAC),
                           set_field(ipv4_dst=BACK), output(BACK_AT)))
    theirs = next_packet(switch)
    scales = [dict(options(one)).get(SCALE) for one in (answer, theirs)]
    if scales[0] != scales[1] or TIME_STAMPS in dict(options(answer)):
        raise ValueError('the servers do not agree in window scale, or have time stamps')
    by = (number(request, ACK) - number(theirs, SEQ) - 1) % 2**32
    install(switch, *shifted(by))
    # The request, shifted as what follows, also completes the handshake.
    switch.send(packet_out(request, output(TABLE), in_port=CLIENT_AT))
    return by


if __name__ == '__main__':
    switches = accept(1)
    install(switches[1], *rules())
    print('READY', flush=True)
    print('MOVED', hand_over(switches[1]), flush=True)
    run_commands(switches)
