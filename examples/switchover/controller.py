"""Two paths from switch 1 to switch 4: active/standby by a fast failover group, or active/active by
a select group whose buckets watch their ports."""

from rules import run

STANDBY_TO, ACTIVE_TO = '10.9.0.1', '10.9.0.2'
STANDBY, ACTIVE = 1, 2
PATHS = [2, 3]
FIRST, LAST, HOST_PORT = 1, 4, 10


def rules():
    """The groups at the first switch; all others pass packets on."""
    buckets = ''.join(',bucket=watch_port:%d,output:%d' % (path, path) for path in PATHS)
    found = {path: ['in_port=%d,actions=output:%d' % (FIRST, LAST)] for path in PATHS}
    found[FIRST] = ['add-group group_id=%d,type=ff%s' % (STANDBY, buckets),
                    'add-group group_id=%d,type=select%s' % (ACTIVE, buckets),
                    'ip,nw_dst=%s,actions=group:%d' % (STANDBY_TO, STANDBY),
                    'ip,nw_dst=%s,actions=group:%d' % (ACTIVE_TO, ACTIVE)]
    found[LAST] = ['actions=output:%d' % HOST_PORT]
    return found


if __name__ == '__main__':
    run(rules())
