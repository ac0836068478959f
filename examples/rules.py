"""A controller whose rules are texts, as those of `dpctl`, for any number of switches.

    run({1: ['add-group group_id=7,type=all,bucket=output:1', 'in_port=2,actions=group:7']})

Without a verb, a text is that of a flow to be added. Lines on standard input are commands:
`SWITCH TEXT` for a further rule, and `counters SWITCH`, which prints COUNTERS and the packets that
entries of each cookie have matched, as JSON.
"""

import collections
import itertools
import json
import struct
import sys

from bofuss import oflib
from bofuss_machine import MULTIPART_REPLY, VERSION, Switch, message

VERBS = {
    'add-flow': (oflib.flow_from_text, 'add'), 'mod-flows': (oflib.flow_from_text, 'modify'),
    'del-flows': (oflib.flow_from_text, 'delete'), 'add-group': (oflib.group_from_text, 'add'),
    'mod-group': (oflib.group_from_text, 'modify'), 'del-group': (oflib.group_from_text, 'delete'),
    'add-meter': (oflib.meter_from_text, 'add'), 'mod-meter': (oflib.meter_from_text, 'modify'),
}
FLOW_STATS = 1


def encoded(rule):
    """The message of a rule."""
    verb, _, text = rule.partition(' ')
    if verb not in VERBS:
        verb, text = 'add-flow', rule
    parse, command = VERBS[verb]
    change = parse(text, command)
    change.version = VERSION
    return change.encode()


def install(switch, *rules):
    """Sends rules, and waits until the switch has them."""
    for rule in rules:
        switch.send(rule if isinstance(rule, bytes) else encoded(rule))
    switch.barrier()


def flow_stats(switch, match=''):
    """The entries that a match covers, with their counters."""
    request = oflib.MultipartRequest('FLOW', oflib.FlowStatsRequest(match=match))
    request.version = VERSION
    records = switch.ask(request.encode())
    head = struct.pack('!HH4x', FLOW_STATS, 0)
    return oflib.decode(message(MULTIPART_REPLY, head + records)).body


def counters(switch):
    """Packets by cookie."""
    packets = collections.Counter()
    for entry in flow_stats(switch):
        packets[entry.cookie] += entry.packet_count
    return packets


def accept(count):
    """Waits for so many switches, and gives them by their datapath ids."""
    return {switch.datapath_id: switch for switch in itertools.islice(Switch.listen(6653), count)}


def run(rules, commands=None):
    """Installs the rules of each switch, and carries out what standard input says.

    `commands` are more verbs: each is called with the switches and the words after it.
    """
    switches = accept(len(rules))
    for number, texts in rules.items():
        install(switches[number], *texts)
    print('READY', flush=True)
    run_commands(switches, commands)


def run_commands(switches, commands=None):
    """Carries out what standard input says."""
    for line in sys.stdin:
        first, _, rest = line.strip().partition(' ')
        if first == 'counters':
            print('COUNTERS', json.dumps(counters(switches[int(rest)])), flush=True)
        elif commands and first in commands:
            commands[first](switches, *rest.split())
        else:
            install(switches[int(first)], rest)
        print('READY', flush=True)
