"""Prints the picture of a packet's trace that README.md shows."""

from __future__ import annotations

from bofuss import oflib
from bofuss.switch import Switch

# The entries of `bofuss demo`, with the wrong digit in port 3's.
ENTRIES = [
    "table=0,priority=10,arp,actions=goto_table:1",
    "table=0,priority=10,ip,nw_src=10.0.0.0/24,actions=goto_table:1",
    "table=1,priority=10,dl_dst=02:00:00:00:00:11,actions=output:1",
    "table=1,priority=10,dl_dst=02:00:00:00:00:22,actions=output:2",
    "table=1,priority=10,dl_dst=02:00:00:00:00:37,actions=output:3",
]
# An ICMP echo request from host 1 to host 3.
PACKET = (
    "in_port=1,icmp,dl_src=02:00:00:00:00:11,dl_dst=02:00:00:00:00:33,"
    "nw_src=10.0.0.1,nw_dst=10.0.0.3,icmp_type=8"
)


def main() -> None:
    switch = Switch(ports=3)
    controller = switch.connect_messages()
    for entry in ENTRIES:
        switch.message(controller, oflib.flow_from_text(entry))
    port, frame = oflib.packet_from_text(PACKET)
    print(switch.explain(port, frame).picture, end="")


main()
