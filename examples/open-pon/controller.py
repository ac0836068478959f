"""Tags and a rate for each ONU, once the OLT tells that it has registered."""

import threading

from ports import events
from rules import accept, install, run_commands

UPLINK = 4
C_TAG, S_TAG = 0x8100, 0x88A8
C_VID, S_VID, C_PCP = 21, 300, 5
BURST_KB = 80  # what an ONU may send at once, in kb


def set_vid(vid):
    return 'set_field:%d->vlan_vid' % (0x1000 | vid)


# What a rule does with the tags of a frame, by its source address; the names are the check's.
OPERATIONS = {
    'leave': [],
    'push c-tag': ['push_vlan:%#x' % C_TAG, set_vid(C_VID)],
    'push s-tag': ['push_vlan:%#x' % S_TAG, set_vid(S_VID)],
    'push copy': ['push_vlan:%#x' % S_TAG],
    'push both': ['push_vlan:%#x' % C_TAG, set_vid(C_VID), 'push_vlan:%#x' % S_TAG, set_vid(S_VID)],
    'pop': ['pop_vlan'],
    'pop both': ['pop_vlan', 'pop_vlan'],
    'set': [set_vid(C_VID), 'set_field:%d->vlan_pcp' % C_PCP],
    'swap': ['pop_vlan', 'push_vlan:%#x' % S_TAG, set_vid(S_VID)],
}



def source(name):
    """The address of frames that an operation is for."""
    return '02:aa:00:00:01:%02x' % list(OPERATIONS).index(name)


def rules(onu, kbps):
    """The rate of an ONU, and what is done with its frames."""
    yield 'add-meter meter=%d,kbps,burst,bands=type=drop,rate=%d,burst_size=%d' % (
        onu, kbps, BURST_KB)
    for name, actions in OPERATIONS.items():
        for vlan in ('vlan_tci=0', 'vlan_tci=0x1000/0x1000'):
            is_tagged = vlan != 'vlan_tci=0'
            if not is_tagged and name in ('pop', 'pop both', 'set', 'swap'):
                continue  # there is no tag to take or to change
            yield 'in_port=%d,dl_src=%s,%s,actions=%s' % (
                onu, source(name), vlan,
                ','.join(['meter:%d' % onu, *actions, 'output:%d' % UPLINK]))


def listen(switch):
    """Installs the rules of ONUs as they register, and removes them."""
    for port, event, details in events(switch):
        if event == 'registered':
            install(switch, *rules(port, details['rate_kbps']))
        elif event == 'deregistered':
            install(switch, 'del-flows in_port=%d' % port)


if __name__ == '__main__':
    connected = accept(1)
    threading.Thread(target=listen, args=(connected[1],), daemon=True).start()
    print('READY', flush=True)
    run_commands(connected)
