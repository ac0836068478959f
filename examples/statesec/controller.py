"""StateSec: the switch counts four features, the controller looks at their entropy, the switch drops."""

import math
import time

from bofuss_machine import (Machine, Switch, flow_mod, goto, install, match, output,
                            parse_short_states, set_flow_state, short_states_request)

SERVERS_AT = 3
INTERVAL_SECONDS = .5
# The tables that count, and the feature that each counts by. The last table is the filter.
FEATURES = ['ipv4_src', 'ipv4_dst', 'udp_src', 'udp_dst']
SOURCES, DESTINATIONS, FROM_PORTS, TO_PORTS, FILTER = range(5)
KNOWN = 1
# The attacks: by how many bits the entropy of features must be higher, or lower if negative, than
# on average before; and the feature whose most frequent value names the culprit or the victim.
ATTACKS = {
    'SCAN': ({SOURCES: -.5, TO_PORTS: 1}, SOURCES),
    'FLOOD': ({SOURCES: .5, DESTINATIONS: -1}, DESTINATIONS),
}
# Intervals before anything may be called an attack, and the share of an interval in the average.
LEARNED, SHARE = 4, .5


def messages():
    """Four tables count packets by a feature; the last knows the sources of peaceful times."""
    parts = []
    for table, field in enumerate(FEATURES):
        counting = Machine(lookup=[field], table=table)
        counting.on(match(eth_type=0x0800, ip_proto=17), counting.inc_state(), goto(table + 1))
        parts.append(counting)
    known = Machine(lookup=['ipv4_src'], table=FILTER)
    known.on(match(), output(SERVERS_AT))
    return parts + [known]


def mitigation(attack, address):
    """A scanner is cut off; sources that nobody knew in peace reach a flooded victim no more."""
    if attack == 'SCAN':
        return flow_mod(match(ipv4_src=address), table=FILTER, priority=30)
    return flow_mod(match(ipv4_dst=address, state=0), table=FILTER, priority=20)


def entropy(counts):
    """In bits, of the distribution that packets have over keys."""
    total = sum(counts)
    return -sum(count / total * math.log2(count / total) for count in counts)


def pull(switch):
    """Packets by each feature since the last time, and how long the reports were."""
    reports = [switch.ask(short_states_request(table, and_delete=True)) for table in range(FILTER)]
    return [dict(parse_short_states(report)) for report in reports], sum(map(len, reports))


def attack_of(now, usual):
    """The attack that has changed the entropies as they are now; None in peace."""
    for attack, (signs, _) in ATTACKS.items():
        if all((now[feature] - usual[feature]) * (1 if bits > 0 else -1) > abs(bits)
               for feature, bits in signs.items()):
            return attack
    return None


def watch(switch):
    """Pulls counters, tells the switch who is known, and what it shall drop."""
    usual, intervals, reported = None, 0, 0
    seen, candidates, stopped = set(), set(), set()
    while True:
        time.sleep(INTERVAL_SECONDS)
        counts, more = pull(switch)
        reported += more
        if not all(counts):
            continue
        now = [entropy(count.values()) for count in counts]
        intervals += 1
        if intervals == LEARNED:
            print('LEARNED', flush=True)
        attack = attack_of(now, usual) if intervals > LEARNED else None
        if attack:
            of = counts[ATTACKS[attack][1]]
            address = max(of, key=of.get)
            if (attack, address) not in stopped:
                stopped.add((attack, address))
                install(switch, mitigation(attack, address))
                switch.barrier()
                print(attack, '.'.join(map(str, address)), reported, flush=True)
            candidates = set()
            continue
        usual = now if usual is None else [
            SHARE * new + (1 - SHARE) * old for new, old in zip(now, usual)]
        # Sources become known if the next interval is peaceful, too: an attack may begin in one.
        install(switch, *(set_flow_state(FILTER, source, KNOWN) for source in candidates - seen))
        seen |= candidates
        candidates = set(counts[SOURCES])


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, *messages())
    switch.barrier()
    print('READY', flush=True)
    watch(switch)
