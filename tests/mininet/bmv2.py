"""Starts simple_switch and simple_switch_grpc in Mininet, as the P4 tutorials do."""

import os
import sys
import time

from mininet.net import Mininet
from mininet.node import Switch
from mininet.topo import SingleSwitchTopo

PROGRAM = sys.argv[1]
JSON = sys.argv[2]
PCAPS = '/tmp/pcaps'
LOG = '/tmp/p4s.s1.log'


class Bmv2(Switch):
    """A switch whose class knows nothing of bofuss."""

    def start(self, controllers):
        args = [PROGRAM]
        for port, intf in self.intfs.items():
            if not intf.IP():
                args.extend(['-i', '%d@%s' % (port, intf.name)])
        args.append('--pcap %s' % PCAPS)
        args.extend(['--nanolog', 'ipc:///tmp/bm-0-log.ipc', '--device-id', '0', JSON])
        args.append('--log-console')
        args.append('--thrift-port 9090')
        if PROGRAM == 'simple_switch_grpc':
            args.append('-- --grpc-server-addr 0.0.0.0:50051')
            args.append('--cpu-port 255')
        self.cmd(' '.join(args) + ' >' + LOG + ' 2>&1 &')
        for _ in range(200):
            if 'switch s1: P4 program' in open(LOG).read():
                return
            time.sleep(.1)
        raise Exception(open(LOG).read())

    def stop(self, deleteIntfs=True):
        self.cmd('kill %' + PROGRAM)
        self.cmd('wait')
        Switch.stop(self, deleteIntfs)


os.makedirs(PCAPS)
open(LOG, 'w').close()
net = Mininet(topo=SingleSwitchTopo(2), switch=Bmv2, controller=None)
net.start()
if PROGRAM == 'simple_switch_grpc':
    print('listens:', net['s1'].cmd('ss -Hltn sport = :50051').strip())
print('lost:', net.pingAll())
print(net['s1'].cmd('bofuss ctl s1 p4 tables'))
net.stop()
for name in sorted(os.listdir(PCAPS)):
    print(name, 'has frames' if os.path.getsize(PCAPS + '/' + name) > 100 else 'is empty')
print(open(LOG).read())
