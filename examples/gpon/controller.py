"""Services of four ONUs as rules, and the bandwidth that each ONU is assured."""

import json

from ports import port_set, port_values
from rules import run

ONUS, UPLINK = (1, 2, 3, 4), 5
SERVICES = {'internet': 5001, 'voice': 5002}


def cookie(onu, service):
    """The cookie of the rule for a service of an ONU."""
    return 10 * onu + list(SERVICES).index(service)


def rule(onu, service):
    """Packets of a service of an ONU go upstream."""
    return 'cookie=%d,in_port=%d,udp,tp_dst=%d,actions=output:%d' % (
        cookie(onu, service), onu, SERVICES[service], UPLINK)


def assure(switches, onu, bytes_a_cycle):
    """Sets how many bytes of each cycle an ONU gets whatever others send."""
    port_set(switches[1], int(onu), assured_bytes=int(bytes_a_cycle))


def values(switches):
    """Prints what the OLT says of its ports."""
    print('VALUES', json.dumps(port_values(switches[1])), flush=True)


if __name__ == '__main__':
    run({1: []}, {'assure': assure, 'values': values})
