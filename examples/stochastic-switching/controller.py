"""Two select groups with the same weights: one draws for each packet, one hashes each flow."""

from rules import run

PACKETS_TO, FLOWS_TO = '10.9.0.1', '10.9.0.2'
# The algorithm of a group is the switch's own business: check.py starts it with these.
BY_PACKET, BY_FLOW = 1, 2
OPTIONS = ['--group-select', '%d=random' % BY_PACKET, '--group-select', '%d=hash' % BY_FLOW]
FIRST_PORT = 2
WEIGHTS = [5, 3, 2]


def group(verb, number, weights):
    """A group that shares packets among ports by weights."""
    buckets = ''.join(',bucket=weight:%d,output:%d' % (weight, FIRST_PORT + i)
                      for i, weight in enumerate(weights))
    return '%s group_id=%d,type=select%s' % (verb, number, buckets)


if __name__ == '__main__':
    run({1: [group('add-group', BY_PACKET, WEIGHTS), group('add-group', BY_FLOW, WEIGHTS),
             'ip,nw_dst=%s,actions=group:%d' % (PACKETS_TO, BY_PACKET),
             'ip,nw_dst=%s,actions=group:%d' % (FLOWS_TO, BY_FLOW)]})
