"""Port knocking, as an os-ken application: four knocks in their order open TCP port 22."""

import sys

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3

from bofuss_machine import Machine, install, match, output

KNOCKS = [5123, 6234, 7345, 8456]
OPEN_PORT = 22
SERVER_AT = 2


def machine():
    """State n: the first n knocks were right. Anything else begins anew."""
    knocking = Machine(lookup=['ipv4_src'])
    for state, port in enumerate(KNOCKS):
        knocking.on(match(state=state, udp_dst=port), knocking.set_state(state + 1))
    knocking.on(match(state=len(KNOCKS), tcp_dst=OPEN_PORT), output(SERVER_AT))
    knocking.on(match(), knocking.set_state(0), priority=1)
    return knocking


class PortKnocking(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, event):
        datapath = event.msg.datapath
        install(datapath, machine())
        datapath.send_msg(datapath.ofproto_parser.OFPBarrierRequest(datapath))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def installed(self, _):
        print('READY', flush=True)


if __name__ == '__main__':
    cfg.CONF(['--ofp-listen-host', '127.0.0.1', '--ofp-tcp-listen-port', '6653'])
    sys.modules['controller'] = sys.modules['__main__']
    app_manager.AppManager.run_apps(['controller'])
