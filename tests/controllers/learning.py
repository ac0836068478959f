"""A learning switch on os-ken: learning.py PORT [OPTION...], options as of os-ken"""
import sys

from os_ken.base import app_manager  # before os_ken.controller: the reverse is an import cycle
from os_ken import cfg
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class Learning(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {}

    def add_flow(self, dp, priority, match, actions, **more):
        parser, ofp = dp.ofproto_parser, dp.ofproto
        apply = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, actions)]
        dp.send_msg(parser.OFPFlowMod(datapath=dp, priority=priority, match=match,
                                      instructions=apply, **more))

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, ev):
        dp = ev.msg.datapath
        parser, ofp = dp.ofproto_parser, dp.ofproto
        miss = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, 64)]
        self.add_flow(dp, 0, parser.OFPMatch(), miss)
        for request in (parser.OFPTableFeaturesStatsRequest(dp, 0, []),
                        parser.OFPMeterFeaturesStatsRequest(dp, 0),
                        parser.OFPGroupFeaturesStatsRequest(dp, 0),
                        parser.OFPRoleRequest(dp, ofp.OFPCR_ROLE_MASTER, 1),
                        parser.OFPGetAsyncRequest(dp),
                        parser.OFPBarrierRequest(dp)):
            dp.send_msg(request)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)
    def error(self, ev):
        print("ERROR", ev.msg.type, ev.msg.code, flush=True)

    @set_ev_cls(ofp_event.EventOFPRoleReply, MAIN_DISPATCHER)
    def role(self, ev):
        print("ROLE", ev.msg.role, flush=True)

    @set_ev_cls(ofp_event.EventOFPTableFeaturesStatsReply, MAIN_DISPATCHER)
    def tables(self, ev):
        print("TABLES", len(ev.msg.body), flush=True)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        msg = ev.msg
        dp, in_port = msg.datapath, msg.match["in_port"]
        parser, ofp = dp.ofproto_parser, dp.ofproto
        eth = packet.Packet(msg.data).get_protocol(ethernet.ethernet)
        self.ports[eth.src] = in_port
        out = self.ports.get(eth.dst, ofp.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out)]
        if out != ofp.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=in_port, eth_dst=eth.dst, eth_src=eth.src)
            self.add_flow(dp, 1, match, actions, idle_timeout=60)
        data = msg.data if msg.buffer_id == ofp.OFP_NO_BUFFER else None
        dp.send_msg(parser.OFPPacketOut(datapath=dp, buffer_id=msg.buffer_id, in_port=in_port,
                                        actions=actions, data=data))


if __name__ == "__main__":
    port = ["--ofp-tcp-listen-port", sys.argv[1], "--ofp-ssl-listen-port", sys.argv[1]]
    cfg.CONF(port + ["--ofp-listen-host", "127.0.0.1"] + sys.argv[2:])
    app_manager.AppManager.run_apps(["learning"])
