"""Installs a firewall, address translation and routes: as three tables, or converted to the tables
of another switch. The command is its name."""

import ipaddress
from typing import List

from bofuss_machine import Refused, flow_mod, goto, match, output, set_field, write_metadata
from convert import WIDTH, Rule, divide, end_to_end
from rules import install, run

FIREWALL, TRANSLATION, ROUTES = range(3)
SOURCE_FIELDS, DESTINATION_FIELDS = ['ipv4_src', 'udp_dst'], ['ipv4_dst']


def net(text):
    """The value and the mask of a network."""
    network = ipaddress.ip_network(text)
    return int(network.network_address), int(network.netmask)


def port(number):
    return number, 0xFFFF


def tables() -> List[List[Rule]]:
    """The pipeline as it was written, in the order of priorities."""
    def to(table, **fields):
        return Rule(fields, {}, following=table)

    firewall = [to(TRANSLATION, ipv4_src=net('10.1.7.0/24'), udp_dst=port(53)),
                Rule({'ipv4_src': net('10.1.7.0/24')}, {}),
                Rule({'udp_dst': port(23)}, {}),
                to(TRANSLATION, ipv4_src=net('10.1.8.0/24')),
                to(TRANSLATION, udp_dst=port(80))]
    translation = [Rule({'ipv4_dst': net('10.9.0.%d/32' % i)},
                        {'ipv4_dst': net('10.%d.0.%d/32' % (20 + i % 3, i))[0]}, following=ROUTES)
                   for i in range(1, 9)] + [to(ROUTES)]
    routes = [Rule({'ipv4_dst': net('10.20.0.0/30')}, {}, port=2),
              Rule({'ipv4_dst': net('10.20.0.0/16')}, {}, port=3),
              Rule({'ipv4_dst': net('10.21.0.0/16')}, {}, port=4),
              Rule({'ipv4_dst': net('10.16.0.0/12')}, {}, port=2)]
    return [firewall, translation, routes]


def as_match(one):
    """The fields of a match, without masks that cover everything."""
    return {field: pair[0] if pair[1] == (1 << WIDTH[field]) - 1 else pair
            for field, pair in one.items()}


def entries(rules, table, metadata=None):
    """Flow-mods for rules in the order of their priority."""
    for number, rule in enumerate(rules):
        fields = {} if metadata is None else {'metadata': metadata}
        fields.update(eth_type=0x0800, **as_match(rule.match))
        parts = [set_field(**{field: value}) for field, value in rule.sets.items()
                 if rule.port is not None or rule.following is not None]
        parts += [] if rule.port is None else [output(rule.port)]
        parts += [] if rule.following is None else [goto(rule.following)]
        yield flow_mod(match(**fields), *parts, table=table, priority=5000 - number)


def divided(first_fields):
    """Table 0 writes the class of a packet into the metadata, and table 1 knows the rest."""
    classes, rules_of = divide(end_to_end(tables()), first_fields)
    for number, (one, rules) in enumerate(zip(classes, rules_of)):
        yield flow_mod(match(eth_type=0x0800, **as_match(one)), write_metadata(number + 1), goto(1),
                       priority=5000 - number)
        yield from entries(rules, table=1, metadata=number + 1)


WAYS = {
    'as-written': lambda: [entry for table, rules in enumerate(tables())
                           for entry in entries(rules, table)],
    'one-table': lambda: list(entries(end_to_end(tables()), table=0)),
    'source-first': lambda: list(divided(SOURCE_FIELDS)),
    'destination-first': lambda: list(divided(DESTINATION_FIELDS)),
}


def convert(switches, way):
    """Installs the rules in one way; prints how many entries there are, or that they are refused."""
    messages = WAYS[way]()
    try:
        for one in messages:
            install(switches[1], one)
        print('ENTRIES', len(messages), flush=True)
    except Refused:
        print('ENTRIES', 0, flush=True)


if __name__ == '__main__':
    run({1: []}, {'convert': convert})
