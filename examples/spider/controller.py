"""SPIDER on a ring of five switches, which detect failures and detour packets by themselves.

A line on standard input, the seconds `d1 d2 d3 d4 d5 d6 d7`, installs everything anew with these.
"""

import itertools
import sys
from typing import List, NamedTuple

from bofuss_machine import (IN_PORT, Machine, Switch, flow_mod, goto, install, match, output,
                            pop_mpls, push_mpls, set_field, set_state, write_metadata)

SWITCHES = [1, 2, 3, 4, 5]
HOST_PORT = 10  # a host's; the port to a switch has its number
HOSTS = {1: '02:dd:00:00:00:01', 3: '02:dd:00:00:00:03'}  # by switch

# Tables. The key of a port is in the metadata, so that it may be that of arrival or of departure.
ARRIVAL, LIFE, ROUTE, DETECT = range(4)

# States of a port in DETECT.
UP_NEED_HEARTBEAT, UP_REQUESTED, DOWN_NEED_PROBE, DOWN_PROBE_SENT, UP_WAIT = range(5)
UP, DOWN = [UP_NEED_HEARTBEAT, UP_REQUESTED, UP_WAIT], [DOWN_NEED_PROBE, DOWN_PROBE_SENT]


class Demand(NamedTuple):
    """Traffic to a host, its path, and the way around that begins at the first switch."""
    to: str
    path: List[int]
    detour: List[int]


DEMANDS = [Demand(HOSTS[3], [1, 2, 3], [1, 5, 4, 3]), Demand(HOSTS[1], [3, 2, 1], [3, 4, 5, 1])]
# A fault is a link of a demand's path, numbered from 17; of these numbers follow labels and states.
FAULTS = {(demand.to, link): 17 + number for number, (demand, link) in enumerate(
    (demand, link) for demand in DEMANDS for link in zip(demand.path, demand.path[1:]))}
F = len(FAULTS)
NORMAL = 0  # the state of a flow; the states of fault f are its number and these
SIGNALLED, RESOLVED, NEED_PROBE = F, 2 * F, 3 * F  # f itself: its packets take the detour
NORMAL_LABEL, HEARTBEAT_REQUEST, HEARTBEAT_REPLY = 16, 17 + 4 * F, 18 + 4 * F
DETOUR_TAG, PROBE_TAG = 3 * F, 0  # added to f: the labels of detoured packets, and of a probe


def label(number):
    return set_field(mpls_label=number)


def labelled(number, **more):
    return match(mpls_label=number, **more)


class Timers(NamedTuple):
    """In seconds: flowlets d1 to d4, probes d5, heartbeats d6 and d7."""
    d1: float
    d2: float
    d3: float
    d4: float
    d5: float
    d6: float
    d7: float


def ports_of(switch):
    """The ports to the neighbours on the ring."""
    return [SWITCHES[switch - 2], SWITCHES[switch % 5]]


def life(switch, d6):
    """Whatever comes in from a neighbour shows that its link works; requests are answered."""
    alive = set_state(DETECT, UP_WAIT, hard=d6, hard_to=UP_NEED_HEARTBEAT)
    parts = [flow_mod(match(), write_metadata(HOST_PORT), goto(ROUTE), table=ARRIVAL, priority=1)]
    for port in ports_of(switch):
        parts.append(flow_mod(match(in_port=port), write_metadata(port), goto(LIFE), table=ARRIVAL))
    return parts + [
        flow_mod(labelled(HEARTBEAT_REQUEST), alive, label(HEARTBEAT_REPLY), output(IN_PORT),
                 table=LIFE),
        flow_mod(labelled(HEARTBEAT_REPLY), alive, table=LIFE),
        flow_mod(match(), alive, goto(ROUTE), table=LIFE, priority=1),
    ]


def detection(switch, timers):
    """Before a packet leaves for a neighbour: does the link work? If it is unknown, ask."""
    ports = Machine(lookup=['metadata'], table=DETECT)
    requested = ports.set_state(UP_REQUESTED, hard=timers.d7, hard_to=DOWN_NEED_PROBE)
    probed = ports.set_state(DOWN_PROBE_SENT, hard=timers.d5, hard_to=DOWN_NEED_PROBE)
    for port in ports_of(switch):
        ask = [label(HEARTBEAT_REQUEST), output(port)]

        def on(state, number, *parts):
            ports.on(labelled(number, metadata=port, state=state), *parts)

        on(UP_WAIT, NORMAL_LABEL, output(port))
        on(UP_REQUESTED, NORMAL_LABEL, output(port))
        on(UP_NEED_HEARTBEAT, NORMAL_LABEL, output(port), *ask, requested)
        for (to, link), fault in FAULTS.items():
            if link != (switch, port):
                continue
            around = detour_from(switch, to, fault)
            ports.on(labelled(NORMAL_LABEL, metadata=port, state=DOWN_PROBE_SENT, eth_dst=to),
                     *around, priority=20)
            ports.on(labelled(NORMAL_LABEL, metadata=port, state=DOWN_NEED_PROBE, eth_dst=to),
                     *ask, *around, probed, priority=20)
            # A probe goes back if the link works again; if it does not, it asks.
            for state in UP:
                on(state, fault + PROBE_TAG, output(IN_PORT))
            on(DOWN_NEED_PROBE, fault + PROBE_TAG, *ask, probed)
    return ports


def detour_from(switch, to, fault):
    """What a switch does with a packet for a dead port: the first of the path knows the way around,
    any other sends it back, marked."""
    demand, = [demand for demand in DEMANDS if demand.to == to]
    here = demand.path[0] == switch
    return [label(fault + DETOUR_TAG), output(demand.detour[1] if here else IN_PORT)]


def routes(switch, timers):
    """The way of each demand through a switch; at the first of its path, the state of the flow."""
    flows = Machine(lookup=['eth_src', 'eth_dst'], table=ROUTE)
    for demand in DEMANDS:
        faults = [fault for (to, _), fault in FAULTS.items() if to == demand.to]
        if switch == demand.path[-1]:
            flows.on(match(eth_type=0x8847, eth_dst=demand.to), pop_mpls(), output(HOST_PORT))
        elif switch == demand.path[0]:
            ingress(flows, demand, faults, timers)
        elif switch in demand.path:
            port = demand.path[demand.path.index(switch) + 1]
            for number in [NORMAL_LABEL] + [fault + PROBE_TAG for fault in faults]:
                flows.on(labelled(number, eth_dst=demand.to), write_metadata(port), goto(DETECT))
        else:
            port = demand.detour[demand.detour.index(switch) + 1]
            for fault in faults:
                flows.on(labelled(fault + DETOUR_TAG, eth_dst=demand.to), output(port))
    return flows


def ingress(flows, demand, faults, timers):
    """The first switch of a path, where detours begin."""
    first, around = demand.path[1], demand.detour[1]

    def from_host(state, *parts):
        flows.on(match(eth_type=0x0800, eth_dst=demand.to, in_port=HOST_PORT, state=state),
                 push_mpls(), *parts)

    on_path = [label(NORMAL_LABEL), write_metadata(first), goto(DETECT)]
    from_host(NORMAL, *on_path)
    for fault in faults:
        detour = [label(fault + DETOUR_TAG), output(around)]
        probe = [label(fault + PROBE_TAG), output(first)]
        # A flow goes over to the detour in a gap between its packets, at the latest after d2.
        signalled = flows.set_state(fault + SIGNALLED, idle=timers.d1, idle_to=fault + NEED_PROBE,
                                    hard=timers.d2, hard_to=fault + NEED_PROBE)
        detoured = flows.set_state(fault, hard=timers.d5, hard_to=fault + NEED_PROBE)
        resolved = flows.set_state(fault + RESOLVED, idle=timers.d3, idle_to=NORMAL,
                                   hard=timers.d4, hard_to=NORMAL)
        from_host(fault + SIGNALLED, *on_path)
        from_host(fault + NEED_PROBE, *probe, *detour, detoured)
        from_host(fault, *detour)
        from_host(fault + RESOLVED, *detour)
        # Packets that the fault sent back go on from here, the first with a note of it.
        back = labelled(fault + DETOUR_TAG, eth_dst=demand.to, in_port=first)
        flows.on(back, output(around))
        flows.on(back + match(state=NORMAL), signalled, output(around), priority=20)
        flows.on(labelled(fault + PROBE_TAG, eth_dst=demand.to, in_port=first), resolved)


if __name__ == '__main__':
    switches = list(itertools.islice(Switch.listen(6653), len(SWITCHES)))
    print('READY', flush=True)
    for line in sys.stdin:
        timers = Timers(*map(float, line.split()))
        for switch in switches:
            number = switch.datapath_id
            install(switch, *life(number, timers.d6), routes(number, timers),
                    detection(number, timers))
            for table in (ROUTE, DETECT):
                switch.states(table, and_delete=True)
            switch.barrier()
        print('READY', flush=True)
