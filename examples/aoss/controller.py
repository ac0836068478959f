"""AOSS's controller: one firewall rule on each switch, before any packet, and nothing more."""

from rules import run

SWITCHES = [1, 2, 3, 4]
FIREWALL = 'priority=9,tcp,tcp_dst=80,actions=drop'

if __name__ == '__main__':
    run({switch: [FIREWALL] for switch in SWITCHES})
