"""Uses Mininet as a course does, with one class of switches: tour.py CLASS SCENARIO.

CLASS is user, Mininet's own, or the file with ours. Exits with an error at the first failed check.
"""

import glob
import re
import sys
import time

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import OVSController, RemoteController, UserSwitch
from mininet.topo import LinearTopo, SingleSwitchTopo
from mininet.topolib import TreeTopo

LINK_MBPS = 10
MANY_SWITCHES = 100
MANY_SECONDS = 20


class AccessPoint(UserSwitch):
    """Differs from UserSwitch as UserAP of mininet-wifi does: its datapath id begins with 1, and
    its stop does nothing, so that its programs end by SIGHUP when their shell ends."""

    def defaultDpid(self, dpid=None):
        return '1' + UserSwitch.defaultDpid(self, dpid)[1:]

    def stop(self, deleteIntfs=True):
        pass


def switch_class(word):
    """Mininet's class, or the one of a file, as `mn --custom` reads it."""
    if word == 'user':
        return UserSwitch
    names = {}
    with open(word) as file:
        exec(compile(file.read(), word, 'exec'), names)
    return names['switches']['bofuss']


def check(holds, what):
    if not holds:
        raise SystemExit('tour: ' + what)


def until(condition, what):
    end = time.time() + 20
    while not condition():
        check(time.time() < end, 'in time: ' + what)
        time.sleep(.1)


def mbps(client, server):
    """The rate that iperf reaches in two seconds, in Mbit/s."""
    process = server.popen('iperf -s -p 5009')
    connected = 'timeout 2 bash -c "</dev/tcp/%s/5009" 2>&1; echo $?' % server.IP()
    until(lambda: client.cmd(connected).strip() == '0', 'iperf listens')
    said = client.cmd('iperf -f m -t 2 -p 5009 -c %s' % server.IP())
    process.kill()
    process.wait()
    return float(re.findall(r'([\d.]+) Mbits/sec', said)[-1])


def tour(switch):
    """All that a course does on its first day, on a tree."""
    net = Mininet(TreeTopo(2, 2), switch=switch, controller=OVSController, waitConnected=True)
    net.start()
    check(net.pingAll() == 0, 'every host reaches every other')
    first, last = net.hosts[0], net.hosts[-1]
    rate = mbps(first, last)
    check(rate > 100, 'iperf moves %s Mbit/s' % rate)
    net.configLinkStatus('s1', 's2', 'down')
    check(net.ping([first, last], timeout='1') == 100, 'no way leads around a link that is down')
    net.configLinkStatus('s1', 's2', 'up')
    until(lambda: net.ping([first, last], timeout='1') == 0, 'the link is up again')
    with open('/run/commands', 'w') as commands:
        commands.write('dpctl dump-flows\ndpctl status\ndpctl dump-ports 1\n')
    CLI(net, script='/run/commands')
    net.stop()


def controllers(switch):
    """Two controllers, of which one is not there."""
    net = Mininet(SingleSwitchTopo(2), switch=switch, controller=None, waitConnected=True)
    net.addController('c0', OVSController, port=6653)
    net.addController('c1', RemoteController, ip='127.0.0.1', port=6999)
    net.start()
    check(net.pingAll() == 0, 'the hosts reach each other')
    said = net['s1'].dpctl('status')
    for line in ('remote.is-connected=true', 'remote.1.is-connected=true',
                 'remote.2.name=tcp:127.0.0.1:6999', 'remote.2.is-connected=false'):
        check(line in said, '%s in: %s' % (line, said))
    net.stop()


def shaped(switch):
    """Links with a rate."""
    net = Mininet(SingleSwitchTopo(2), switch=switch, controller=OVSController, link=TCLink,
                  waitConnected=True, build=False)
    net.build()
    for host in net.hosts:
        for end in host.intfs[0].link.intf1, host.intfs[0].link.intf2:
            end.config(bw=LINK_MBPS)
    net.start()
    check(net.pingAll() == 0, 'the hosts reach each other')
    rate = mbps(*net.hosts)
    check(LINK_MBPS / 2 < rate < LINK_MBPS * 1.3, 'iperf moves %s Mbit/s' % rate)
    net.stop()


def numbered(switch):
    """A port whose number is not its place."""
    net = Mininet(switch=switch, controller=None)
    s1 = net.addSwitch('s1')
    net.addLink(net.addHost('h1'), s1)
    net.addLink(net.addHost('h2'), s1, port2=9)
    net.start()
    until(lambda: 'n_tables' in s1.dpctl('show'), 'the switch listens')
    for way in 'in_port=1,actions=output:9', 'in_port=9,actions=output:1':
        s1.dpctl('add-flow', way)
    check(net.pingAll() == 0, 'the hosts reach each other by ports 1 and 9')
    net.stop()


def late(switch):
    """A port that comes and goes while the switch runs; for our class."""
    net = Mininet(SingleSwitchTopo(2), switch=switch, controller=None)
    net.start()
    check(net.pingAll() == 0, 'without controllers it is a learning switch')
    s1, h3 = net['s1'], net.addHost('h3', ip='10.0.0.3/8')
    link = net.addLink(s1, h3)
    h3.setIP('10.0.0.3/8')
    s1.attach(link.intf1)
    check(net.pingAll() == 0, 'the third host is reached')
    s1.detach(link.intf1)
    check(net.ping([net['h1'], h3], timeout='1') == 100, 'and is no more')
    check(s1.process.poll() is None, 'the switch runs')
    net.stop()


def again(switch):
    """A switch that is stopped and started, as the command line does it."""
    net = Mininet(SingleSwitchTopo(2), switch=switch, controller=OVSController, waitConnected=True)
    net.start()
    with open('/run/commands', 'w') as commands:
        commands.write('switch s1 stop\nswitch s1 start\n')
    for _ in range(2):
        CLI(net, script='/run/commands')
        until(lambda: net.ping(net.hosts, timeout='1') == 0, 'the switch works again')
    net.stop()


def wifi(switch):
    """Access points as those of mininet-wifi, with veth for the air, twice."""
    for _ in range(2):
        net = Mininet(switch=switch, controller=OVSController, waitConnected=True)
        net.addController('c0')
        points = [net.addSwitch('ap%d' % n, cls=AccessPoint, dpopts=options)
                  for n, options in ((1, '--no-slicing'), (20, ''))]
        for point in points:
            for n in 1, 2:
                station = net.addHost('sta%s%d' % (point, n))
                name = '%s-wlan1' % station, '%s-wlan%d' % (point, n)
                net.addLink(station, point, intfName1=name[0], intfName2=name[1])
        net.addLink(*points)
        net.start()
        check(net.pingAll() == 0, 'every station reaches every other')
        said = points[0].dpctl('features')
        check('datapath_id=0x100000000001' in said or '0000100000000001' in said, said)
        ports = points[0].dpctl('port-desc')
        for port in ('ap1-wlan1', 'ap1-wlan2', 'ap1-eth3'):
            check(port in ports, '%s in: %s' % (port, ports))
        net.stop()
        until(lambda: not glob.glob('/tmp/ap*[0-9]') + glob.glob('/run/bofuss/*'),
              'nothing is left when the shells have ended')


def many(switch):
    """A hundred switches."""
    begin = time.time()
    net = Mininet(LinearTopo(MANY_SWITCHES, 1), switch=switch, controller=None)
    net.start()
    seconds = time.time() - begin
    print('%d switches in %.1f s' % (MANY_SWITCHES, seconds))
    check(seconds < MANY_SECONDS, 'they start in time: %.1f s' % seconds)
    check(net.ping([net.hosts[0], net.hosts[-1]], timeout='5') == 0, 'the first reaches the last')
    net.stop()


if __name__ == '__main__':
    setLogLevel('info')
    globals()[sys.argv[2]](switch_class(sys.argv[1]))
