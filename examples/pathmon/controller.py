"""The edge writes path and class of a flow into a tag, and each switch counts tags."""

from typing import Dict, List

from rules import run

INGRESS, EGRESS, HOST_PORT = 1, 4, 10
PATHS: Dict[int, List[int]] = {1: [1, 2, 4], 2: [1, 3, 4], 3: [1, 2, 3, 4]}  # by tag
LINKS = [(1, 2), (2, 4), (1, 3), (3, 4), (2, 3)]
CLASSES = {0: '', 5: ',tp_dst=5060'}  # by priority in the tag: all other UDP, and calls
EDGE, MONITOR, FORWARD = range(3)


def tag(path):
    """The VLAN of a path, as OpenFlow writes it: with the bit of a tag that is there."""
    return 0x1000 | path


def cookie(path, kind):
    """The number under which packets of a path and a class are counted."""
    return 16 * path + kind


def rules(switch):
    """One table that counts a few tags, and one that forwards; the edge adds and removes tags."""
    found = ['table=%d,priority=1,actions=goto_table:%d' % (EDGE, MONITOR)]
    for path, hops in PATHS.items():
        for kind, more in CLASSES.items() if switch == INGRESS else ():
            found.append('table=%d,priority=%d,in_port=%d,udp,nw_dst=10.9.%d.0/24%s,'
                         'actions=push_vlan:0x8100,set_field:%d->vlan_vid,set_field:%d->vlan_pcp,'
                         'goto_table:%d' % (EDGE, 10 + kind, HOST_PORT, path, more, tag(path), kind,
                                            MONITOR))
        if switch not in hops:
            continue
        for kind in CLASSES:
            found.append('cookie=%d,table=%d,dl_vlan=%d,dl_vlan_pcp=%d,actions=goto_table:%d' % (
                cookie(path, kind), MONITOR, path, kind, FORWARD))
        way = 'pop_vlan,output:%d' % HOST_PORT
        if switch != EGRESS:
            way = 'output:%d' % hops[hops.index(switch) + 1]
        found.append('table=%d,dl_vlan=%d,actions=%s' % (FORWARD, path, way))
    return found


if __name__ == '__main__':
    run({switch: rules(switch) for switch in (1, 2, 3, 4)})
