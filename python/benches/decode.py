"""Compares the speed of decoding messages with os-ken's parser: `decode.py [ROUNDS]`.

First asserts that all values that both have are equal. Then both decode the same messages in turn, round by
round. For each kind of message, prints the median over the rounds of two ratios: for decoding alone, which
checks everything, and for decoding and reading every value. os-ken converts all values to Python's when it
decodes, bofuss when a message is first read.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable

from bofuss import oflib
from os_ken.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_3_parser

DATAPATH = ofproto_protocol.ProtocolDesc(version=4)
assert ofproto_v1_3_parser, "its import registers the parser"
FLOW = (
    "priority=100,idle_timeout=30,in_port=3,tcp,dl_src=02:00:00:00:00:01,nw_src=10.1.0.0/16,"
    "nw_dst=10.2.3.4,tp_dst=80,actions=set_field:02:00:00:00:00:02->dl_dst,dec_ttl,output:7,"
    "write_actions(group:9),goto_table:4"
)
# Members that only one side has, or that the two name differently.
APART = {"version", "more", "type", "experimenter", "ports", "miss", "features", "max_len"}
# Members that OpenFlow 1.4 and 1.5 added, which os-ken's messages of 1.3 do not have.
APART |= {"importance", "optical", "experimenters", "idle_time", "stats"}
APART |= {"pipeline_input", "pipeline_output", "recirculate"}


def samples() -> dict[str, bytes]:
    """A message of each kind that controllers receive or send most, by name."""
    flow = oflib.flow_from_text(FLOW)
    entry = {"match": flow.match, "instructions": flow.instructions, "packet_count": 1 << 40}
    entries = [oflib.FlowStats(priority=i, **entry) for i in range(100)]
    port = oflib.PortDesc(port_no=1, hw_addr="02:00:00:00:00:01", name="eth1", curr="1GB-FD|COPPER")
    counters = oflib.PortStats(1, 1000, 2000, 3000, 4000)
    messages = {
        "flow-mod": flow,
        "packet-in": oflib.PacketIn(0, 128, "ACTION", match="in_port=3", data=bytes(128)),
        "port-status": oflib.PortStatus("MODIFY", port),
        "echo-request": oflib.EchoRequest(b"12345678"),
        "flow statistics, 100 entries": oflib.MultipartReply("FLOW", entries),
        "port statistics, 48 ports": oflib.MultipartReply("PORT_STATS", [counters] * 48),
        "port descriptions, 48 ports": oflib.MultipartReply("PORT_DESC", [port] * 48),
    }
    return {name: message.encode() for name, message in messages.items()}


def os_ken(data: bytes) -> object:
    """Decodes a message with os-ken."""
    version, kind, length, xid = ofproto_parser.header(data)
    return ofproto_parser.msg(DATAPATH, version, kind, length, xid, data)


def compare(ours: object, theirs: object, at: str) -> int:
    """Asserts that all values that both have are equal; returns how many there are."""
    if isinstance(ours, list):
        assert len(ours) == len(theirs), at
        return sum(compare(a, b, f"{at}[]") for a, b in zip(ours, theirs))
    if isinstance(ours, oflib.Match):
        assert dict(ours) == dict(theirs.items()), at
        return len(ours)
    if isinstance(ours, oflib.ActionSetField):
        assert ours.field == (theirs.key, theirs.value), at
        return 2
    if not isinstance(ours, oflib.Record):
        theirs = theirs.rstrip(b"\0").decode() if isinstance(ours, str) and at.endswith("name") else theirs
        assert ours == theirs, f"{at}: {ours!r} is not {theirs!r}"
        return 1
    names = [name for name in ours.__match_args__ if name not in APART]
    return sum(compare(getattr(ours, name), getattr(theirs, name), f"{at}.{name}") for name in names)


def decode_and_read(data: bytes) -> object:
    """Decodes a message and reads one member, which converts all of them."""
    message = oflib.decode(data)
    message.xid
    return message


def seconds(decode: Callable[[bytes], object], data: bytes, times: int) -> float:
    # The processor time of this thread, because other programs may run.
    start = time.thread_time()
    for _ in range(times):
        decode(data)
    return (time.thread_time() - start) / times


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    gc.disable()
    worst = float("inf")
    for name, data in samples().items():
        values = compare(oflib.decode(data), os_ken(data), name)
        times = max(1, int(0.005 / seconds(os_ken, data, 3)))
        decoding, reading, ours = [], [], []
        for _ in range(rounds):
            theirs = seconds(os_ken, data, times)
            ours.append(seconds(oflib.decode, data, 10 * times))
            decoding.append(theirs / ours[-1])
            reading.append(theirs / seconds(decode_and_read, data, 10 * times))
        ratio = statistics.median(decoding)
        worst = min(worst, ratio)
        micros = 1e6 * statistics.median(ours)
        print(
            f"{name:30} {values:5} values equal {micros:7.2f} us {ratio:6.1f} x os-ken's rate,"
            f"  {statistics.median(reading):5.1f} x with every value read"
        )
    print(f"at least {worst:.1f} x os-ken's rate")
    return 0


if __name__ == "__main__":
    sys.exit(main())
