"""StateSec: the switch counts, the controller looks at the entropy, the switch drops."""

import math
import time

from bofuss_machine import (Machine, Switch, flow_mod, goto, install, match, output,
                            parse_short_states, set_flow_state, short_states_request)

SERVERS_AT = 3
INTERVAL_SECONDS = .5
SOURCES, DESTINATIONS, FILTER = range(3)
KNOWN = 1
# An attack: the entropy of destinations is lower, and that of sources higher, by this many bits
# than on average before.
LOWER_BITS, HIGHER_BITS = 1, .5
# Intervals before anything may be called an attack, and the share of an interval in the average.
LEARNED, SHARE = 4, .5


def messages():
    """Two tables count packets by address; the third knows the sources of peaceful times."""
    parts = []
    for table, field in ((SOURCES, 'ipv4_src'), (DESTINATIONS, 'ipv4_dst')):
        counting = Machine(lookup=[field], table=table)
        counting.on(match(eth_type=0x0800), counting.inc_state(), goto(table + 1))
        parts.append(counting)
    known = Machine(lookup=['ipv4_src'], table=FILTER)
    known.on(match(), output(SERVERS_AT))
    return parts + [known]


def mitigation(victim):
    """Sources that nobody knew in peace reach the victim no more."""
    return flow_mod(match(ipv4_dst=victim, state=0), table=FILTER, priority=20)


def entropy(counts):
    """In bits, of the distribution that packets have over keys."""
    total = sum(counts)
    return -sum(count / total * math.log2(count / total) for count in counts)


def pull(switch, table):
    """Packets of each address since the last time, and how long the report was."""
    report = switch.ask(short_states_request(table, and_delete=True))
    return dict(parse_short_states(report)), len(report)


def watch(switch):
    """Until there is an attack: pulls counters, and tells the switch who is known."""
    usual, intervals, seen = None, 0, set()
    reported = 0
    while True:
        time.sleep(INTERVAL_SECONDS)
        sources, more = pull(switch, SOURCES)
        destinations, even_more = pull(switch, DESTINATIONS)
        reported += more + even_more
        if not sources or not destinations:
            continue
        now = (entropy(sources.values()), entropy(destinations.values()))
        intervals += 1
        if intervals == LEARNED:
            print('LEARNED', flush=True)
        if intervals > LEARNED and now[0] > usual[0] + HIGHER_BITS and (
                now[1] < usual[1] - LOWER_BITS):
            victim = max(destinations, key=destinations.get)
            install(switch, mitigation(victim))
            switch.barrier()
            return victim, reported
        usual = now if usual is None else tuple(
            SHARE * new + (1 - SHARE) * old for new, old in zip(now, usual))
        install(switch, *(set_flow_state(FILTER, source, KNOWN) for source in set(sources) - seen))
        seen |= set(sources)


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, *messages())
    switch.barrier()
    print('READY', flush=True)
    victim, reported = watch(switch)
    print('ATTACK', '.'.join(map(str, victim)), reported, flush=True)
    switch.wait()
