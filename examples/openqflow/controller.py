"""Rules, records and signatures of OpenQFlow, once; from then on the switch classifies flows itself."""

from bofuss_qflow import SCOPE_FLOW, add_signature, forward_record, qos_record
from rules import run

# The link of all flows, and the one of calls, which subscribers share fairly.
LINK, CALLS_LINK = 2, 3
RATES = {LINK: '20M', CALLS_LINK: '10M'}
OPTIONS = ['--extension', 'openqflow.table=0', '--extension', 'openqflow.forwarding=1',
           '--extension', 'openqflow.qos=2']
for link, rate in RATES.items():
    OPTIONS += ['--discipline', '%d=hfair' % link, '--queue', '%d:0:max=%s' % (link, rate)]
# A flow is looked at once it has this many bytes, in as many more as these.
AFTER_BYTES, INSPECT_BYTES = 1_000_000, 65_536
# What payloads have behind a number of four bytes, and what their flows get, in kb/s.
P2P, P2P_CAP = b'P2P!', 500
CALL, CALL_RATE = b'CALL', 4_500
# Destinations by the link that rules send them to.
SERVERS, BUSY = '10.9.0.0/24', '10.9.1.0/24'


def signatures():
    """Peer-to-peer traffic is limited; calls get their link, and a rate there."""
    limited = qos_record(cap=P2P_CAP, scope=SCOPE_FLOW)
    granted = qos_record(rate=CALL_RATE, priority=3, scope=SCOPE_FLOW)
    yield add_signature(1, P2P, 4, AFTER_BYTES, INSPECT_BYTES, qos=limited)
    yield add_signature(2, CALL, 4, AFTER_BYTES, INSPECT_BYTES, qos=granted,
                        forward=forward_record(CALLS_LINK, LINK))


def rules():
    """Where flows go that nothing else is known of."""
    for subnet, port in ((SERVERS, LINK), (BUSY, CALLS_LINK)):
        yield 'table=1,priority=1,ip,nw_dst=%s,actions=qflow_forward(port=%d)' % (subnet, port)


if __name__ == '__main__':
    run({1: [*rules(), *signatures()]})
