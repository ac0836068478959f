"""Holds contrib/bofuss_qflow.py to the vectors of testdata/extensions/openqflow.txt."""

import ipaddress
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / 'contrib'), str(ROOT / 'tests')]
import bofuss_machine as m  # noqa: E402
import bofuss_qflow as q  # noqa: E402
from machine import XID, vectors  # noqa: E402


def number(address):
    """An address as a number."""
    return int(ipaddress.ip_address(address))


IN_VLAN = q.FlowTuple(number('10.0.0.1'), number('10.0.1.2'), 1, 0x1007, q.IPV4, 1000, 7, 17)
IPV6 = q.FlowTuple(number('fd00::1'), number('fd00::2'), 2, 0, q.IPV6, 5, 6, 6)
ARP = q.FlowTuple(0x020000000001, 0xFFFFFFFFFFFF, 3, eth_type=0x806)
SUBNET = q.FlowTuple(destination=number('10.0.1.0'), eth_type=q.IPV4)
SUBNET_MASK = q.FlowTuple(destination=0xFFFFFF00, eth_type=0xFFFF)
CAP = q.qos_record(cap=500, scope=q.SCOPE_FLOW)
CALL = q.qos_record(rate=64, priority=3, scope=q.SCOPE_FLOW)
# What controllers send, in the order of the file; flow-mods are held to it by their instructions.
SENT = [
    q.key_mod(1, ipv4_src=24, ipv6_src=64, vlan=0xFFF),
    q.delete_key(1),
    q.port_key(2, 1),
    q.write(IN_VLAN, qos=CAP, registers=(1, 2, 3, 4)),
    q.write(IPV6, forward=q.forward_record(4), gap_us=500),
    q.write(ARP, copy_bytes=2000),
    q.write(IN_VLAN, gives_back=True),
    q.notify(),
    q.limits(),
    q.add_signature(1, b'P2P', after_bytes=1000000, inspect_bytes=65536, qos=CAP),
    q.add_signature(2, b'\x80', offset=2, qos=CALL, forward=q.forward_record(3, 2)),
    q.delete_signature(2),
    q.links(2, 3),
    q.set_discipline(2, 'hfair'),
    q.flows(SUBNET, SUBNET_MASK),
    q.multipart(q.AGGREGATES),
]
RULES = [
    q.forward(2, 3),
    q.forward(2, m.ANY, m.set_field(eth_dst='02:00:00:00:00:05')),
    q.forward(m.ANY),
    q.qos(rate=4000, priority=3, weight=2, cap=5000, key=1, scope=q.SCOPE_FLOW),
]


def main():
    sent, rules = iter(SENT), iter(RULES)
    for text, data in vectors(ROOT / 'testdata/extensions/openqflow.txt'):
        kind = data[1]
        if kind == m.FLOW_MOD:
            assert data.endswith(bytes(next(rules))), text
        elif 'qflow_report' in text:
            (flow,) = q.reports(kind, data[8:])
            assert (flow.tuple, flow.bytes, flow.reason) == (IN_VLAN, 6400, 'idle'), flow
            assert flow.qos == CALL, flow
            assert (flow.drop_cause, flow.share_kbps, flow.eta_us) == ('too-early', 32, 1500), flow
        elif kind == m.MULTIPART_REPLY and 'qflow_flows' in text:
            (flow,) = q.records(data[24:])
            assert (flow.out_port, flow.packets) == (2, 100), flow
        elif kind != m.MULTIPART_REPLY and 'qflow_copy' not in text:
            ours = next(sent)
            assert ours[:4] + XID + ours[8:] == data, text
    assert not list(sent) and not list(rules), 'vectors are missing'


if __name__ == '__main__':
    main()
