"""Four lessons, each with the rules that it is about.

The command `lesson NAME` deletes all rules and installs those of a lesson.
"""

from rules import install, run

# What is explained, and the rules.
LESSONS = {
    'priorities': [
        'priority=30,udp,nw_dst=10.9.0.0/24,udp_dst=53,actions=output:3',
        'priority=20,ip,nw_dst=10.9.0.0/24,actions=output:2',
        'priority=20,ip,nw_dst=10.9.1.0/255.255.255.1,actions=output:4',
        'priority=10,udp,actions=output:2,output:3',
    ],
    'tables': [
        'table=0,priority=20,ip,nw_src=10.1.0.0/255.255.255.3,actions=drop',
        'table=0,priority=10,ip,actions=write_metadata:1,write_actions(output:2),goto_table:1',
        'table=0,priority=10,arp,actions=write_actions(output:4),goto_table:1',
        'table=1,priority=20,ip,metadata=1,nw_dst=10.9.1.0/24,actions=write_actions(output:3)',
        'table=1,priority=20,ip,metadata=1,nw_dst=10.9.2.0/24,actions=clear_actions',
        'table=1,priority=10,actions=goto_table:2',
        'table=2,priority=10,tcp,actions=output:4',
    ],
    'headers': [
        'priority=20,tcp,nw_dst=10.9.0.0/24,actions=dec_ttl,set_field:02:00:00:00:09:09->eth_dst,'
        'output:2',
        'priority=20,udp,nw_dst=10.9.0.0/24,actions=output:2,set_field:192.0.2.1->ip_src,'
        'set_field:7000->udp_src,output:3',
        'priority=10,ip,nw_dst=10.9.1.0/24,actions=push_vlan:0x8100,set_field:0x1007->vlan_vid,'
        'output:4',
    ],
    'groups': [
        'add-group group_id=1,type=all,bucket=actions=output:2,'
        'bucket=actions=set_field:02:00:00:00:09:03->eth_dst,output:3',
        'add-group group_id=2,type=select,bucket=weight:3,output:2,bucket=weight:1,output:4',
        'add-group group_id=3,type=indirect,bucket=actions=dec_ttl,output:3',
        'priority=10,ip,nw_dst=10.9.0.0/24,actions=group:1',
        'priority=10,ip,nw_dst=10.9.1.0/24,actions=group:2,dec_ttl,output:4',
        'priority=10,ip,nw_dst=10.9.2.0/24,actions=write_actions(group:3)',
    ],
}


def lesson(switches, name):
    """Begins a lesson."""
    install(switches[1], 'del-flows ', 'del-group group_id=all', *LESSONS[name])


if __name__ == '__main__':
    run({1: []}, {'lesson': lesson})
