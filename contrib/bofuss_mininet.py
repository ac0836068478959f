"""The bofuss switches for Mininet, in one file that needs nothing but Mininet.

    sudo mn --custom /usr/local/share/bofuss/bofuss_mininet.py --switch bofuss
    sudo mn --custom ... --switch bofuss,failMode=standalone,datapath=tables --controller none
    sudo mn --custom ... --switch bofuss --innamespace

In a script: from bofuss_mininet import BofussSwitch, with that folder at the end of sys.path.

Options of --switch bofuss:
    failMode     secure, standalone (a learning switch) or arp-path (a network that may have
                 loops) while no controller is connected;
                 unless told otherwise, secure if there are controllers and standalone if not
    datapath     how packets find their entries, as in `bofuss run --datapath`
    inNamespace  whether the switch has a network namespace of its own
    opts         further options of `bofuss run`

A switch with a P4 program, BofussP4Switch in scripts:

    sudo mn --custom ... --switch bofussp4,json=router.json,entries={name}-runtime.json

Options of --switch bofussp4, where {name} is the switch's name:
    json         the program, as p4c writes it; without it, a controller of P4Runtime sets it
    p4info       its P4Info, with grpcPort
    entries      its entries, in the form of the P4 tutorials' runtime files
    commands     commands of bmv2's simple_switch_CLI, a line each, which change it once it works
    grpcPort     the port of P4Runtime of the switch with device id 1, on all addresses; the next
                 ones follow. Without json, 50051, as in the tutorials
    deviceId     by what controllers name the switch; unless told otherwise, its number: 1 for s1
    cpuPort      the port of packet-ins and packet-outs
    inNamespace, opts   as above
"""

import ctypes
import shlex
import signal
import subprocess
import time

from mininet.node import Switch
from mininet.moduledeps import pathCheck

START_SECONDS = 20  # the longest wait for a switch that starts
STOP_SECONDS = 5  # and for one that ends
FIRST_GRPC_PORT = 50051  # as in the P4 tutorials
PR_SET_PDEATHSIG = 1  # of prctl(2)
STARTED = 'waiting for controllers and tools on punix:'  # what its log says, and where


class BofussSwitch(Switch):
    """A switch in its own process, which ends when Mininet ends."""

    def __init__(self, name, failMode=None, datapath=None, inNamespace=False, **params):
        inNamespace = str(inNamespace).lower() in ('true', '1', 'yes')
        Switch.__init__(self, name, inNamespace=inNamespace, **params)
        pathCheck('bofuss', 'dpctl', moduleName='bofuss')
        self.failMode = failMode
        self.datapath = datapath
        self.process = None
        self.log = '/tmp/%s-bofuss.log' % name
        self.socket = None

    def command(self, controllers):
        """The command line that starts the switch."""
        line = ['bofuss', 'run', '--name', self.name, '--dpid', self.dpid]
        for port, intf in sorted(self.intfs.items()):
            if port > 0 and not intf.IP():
                line += ['--port', '%d=%s' % (port, intf)]
        for controller in controllers:
            kind = getattr(controller, 'protocol', 'tcp')
            line += ['--controller', '%s:%s:%d' % (kind, controller.IP(), controller.port)]
        if self.listenPort and not self.inNamespace:
            line += ['--listen', 'ptcp:%d' % self.listenPort]
        if self.failMode:
            line += ['--fail-mode', self.failMode]
        if self.datapath:
            line += ['--datapath', self.datapath]
        return line + shlex.split(self.opts)

    def start(self, controllers):
        """Starts the process; batchStartup, or the first call that needs it, waits for it."""
        with open(self.log, 'wb') as log:
            self.process = self.popen(self.command(controllers), stdin=subprocess.DEVNULL,
                                      stdout=log, stderr=log, preexec_fn=end_with_parent)

    def ready(self):
        """Waits until the switch works."""
        end = time.time() + START_SECONDS
        while self.socket is None:
            with open(self.log) as log:
                said = log.read()
            sockets = [self.socketOf(line) for line in said.splitlines()]
            self.socket = next(filter(None, sockets), None)
            if self.socket is not None:
                return
            if self.process.poll() is not None or time.time() > end:
                raise Exception('switch %s did not start: %s' % (self.name, said.strip()))
            time.sleep(.02)

    def socketOf(self, line):
        """What a line of the log says of the socket for tools, or None if it is another line."""
        if STARTED in line and line.endswith('/%s.sock' % self.name):
            return line.split(STARTED, 1)[1]
        return None

    @classmethod
    def batchStartup(cls, switches):
        """Waits for all switches, which started side by side."""
        for switch in switches:
            switch.ready()
        return switches

    def dpctl(self, *args):
        """Runs dpctl on this switch."""
        self.ready()
        return self.cmd('dpctl', 'unix:' + self.socket, *args)

    def ctl(self, *args):
        """Runs `bofuss ctl` on this switch."""
        self.ready()
        return self.cmd('bofuss', 'ctl', self.name, *args)

    def connected(self):
        """Whether a controller is connected, or none is needed."""
        alone = self.failMode in ('standalone', 'arp-path')
        return alone or 'remote.is-connected=true' in self.dpctl('status')

    def attach(self, intf):
        """Makes an interface that was added while the switch runs one of its ports."""
        return self.ctl('add-port', '%d=%s' % (self.ports[self.nameToIntf[str(intf)]], intf))

    def detach(self, intf):
        """Takes a port away."""
        return self.ctl('del-port', str(intf))

    @classmethod
    def batchShutdown(cls, switches):
        """Ends all switches side by side."""
        for switch in switches:
            switch.end()
        for switch in switches:
            switch.stop()
        return switches

    def end(self):
        """Tells the process to end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def stop(self, deleteIntfs=True):
        """Ends the process and waits for it."""
        self.end()
        if self.process is not None:
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = self.socket = None
        Switch.stop(self, deleteIntfs)


class BofussP4Switch(BofussSwitch):
    """A switch that runs a P4 program instead of OpenFlow tables."""

    def __init__(self, name, json=None, p4info=None, entries=None, commands=None, grpcPort=None,
                 deviceId=None, cpuPort=None, **params):
        BofussSwitch.__init__(self, name, **params)
        files = {'--p4': json, '--p4info': p4info, '--p4-entries': entries}
        self.files = {key: str(file).replace('{name}', name)
                      for key, file in files.items() if file}
        self.commands = commands and str(commands).replace('{name}', name)
        self.deviceId = int(self.dpid, 16) if deviceId is None else int(deviceId)
        if grpcPort is None and json is None:
            grpcPort = FIRST_GRPC_PORT
        self.grpcPort = grpcPort and int(grpcPort) + max(self.deviceId - 1, 0)
        self.cpuPort = cpuPort

    def command(self, controllers):
        """The command line that starts the switch; controllers of OpenFlow have no part in it."""
        line = ['bofuss', 'run', '--name', self.name]
        for port, intf in sorted(self.intfs.items()):
            if not intf.IP():
                line += ['--port', '%d=%s' % (port, intf)]
        for key, file in self.files.items():
            line += [key, file]
        if self.grpcPort:
            line += ['--p4runtime', '0.0.0.0:%d' % self.grpcPort]
            line += ['--p4-device-id', str(self.deviceId)]
            if self.cpuPort is not None:
                line += ['--p4-cpu-port', str(self.cpuPort)]
        return line + shlex.split(self.opts)

    def socketOf(self, line):
        """Whether the switch works; it has no socket for dpctl."""
        return 'ctl' if 'switch %s: P4 program ' % self.name in line else None

    def ready(self):
        """Waits until the switch works, and gives it its commands."""
        isNew = self.socket is None
        BofussSwitch.ready(self)
        if not isNew or not self.commands:
            return
        with open(self.commands) as file:
            lines = [line.split('#')[0].strip() for line in file]
        for line in filter(None, lines):
            _, error, code = self.pexec('bofuss', 'ctl', self.name, 'p4', line)
            if code:
                raise Exception('switch %s: %s: %s' % (self.name, line, error.strip()))

    def dpctl(self, *args):
        """Runs `bofuss ctl NAME p4`, as there is no OpenFlow."""
        return self.ctl('p4', *[shlex.quote(str(arg)) for arg in args])

    def connected(self):
        """No controller is waited for."""
        return True

    def attach(self, intf):
        """Refused: its ports are those of its start."""
        raise Exception('switch %s: a P4 switch gets no ports while it runs' % self.name)

    detach = attach


def end_with_parent():
    """Makes the calling process end when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


switches = {'bofuss': BofussSwitch, 'bofussp4': BofussP4Switch}
