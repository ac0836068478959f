"""A learning switch of OpenFlow 1.0 on os-ken: learning10.py PORT"""
import sys

from os_ken.base import app_manager  # before os_ken.controller: the reverse is an import cycle
from os_ken import cfg
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_0


class Learning(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_0.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, ev):
        dp = ev.msg.datapath
        parser, ofp = dp.ofproto_parser, dp.ofproto
        print("PORTS", len(ev.msg.ports), flush=True)
        for request in (parser.OFPSetConfig(dp, ofp.OFPC_FRAG_NORMAL, 64),
                        parser.OFPGetConfigRequest(dp),
                        parser.OFPDescStatsRequest(dp, 0),
                        parser.OFPTableStatsRequest(dp, 0),
                        parser.OFPPortStatsRequest(dp, 0, ofp.OFPP_NONE),
                        parser.OFPQueueStatsRequest(dp, 0, ofp.OFPP_ALL, ofp.OFPQ_ALL),
                        parser.OFPQueueGetConfigRequest(dp, 1),
                        parser.OFPFlowStatsRequest(dp, 0, parser.OFPMatch(), 0xff, ofp.OFPP_NONE),
                        parser.OFPAggregateStatsRequest(dp, 0, parser.OFPMatch(), 0xff,
                                                        ofp.OFPP_NONE),
                        parser.NXTRoleRequest(dp, ofp.NX_ROLE_MASTER),
                        parser.OFPBarrierRequest(dp)):
            dp.send_msg(request)

    @set_ev_cls([ofp_event.EventOFPDescStatsReply, ofp_event.EventOFPTableStatsReply,
                 ofp_event.EventOFPPortStatsReply, ofp_event.EventOFPQueueStatsReply,
                 ofp_event.EventOFPFlowStatsReply, ofp_event.EventOFPAggregateStatsReply,
                 ofp_event.EventOFPQueueGetConfigReply, ofp_event.EventOFPGetConfigReply,
                 ofp_event.EventOFPBarrierReply, ofp_event.EventOFPPortStatus,
                 ofp_event.EventOFPFlowRemoved], MAIN_DISPATCHER)
    def told(self, ev):
        print("TOLD", type(ev.msg).__name__, flush=True)

    @set_ev_cls(ofp_event.EventOFPVendor, MAIN_DISPATCHER)
    def vendor(self, ev):
        print("ROLE", ev.msg.data.role, flush=True)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, MAIN_DISPATCHER)
    def error(self, ev):
        print("ERROR", ev.msg.type, ev.msg.code, flush=True)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        msg = ev.msg
        dp = msg.datapath
        parser, ofp = dp.ofproto_parser, dp.ofproto
        eth = packet.Packet(msg.data).get_protocol(ethernet.ethernet)
        self.ports[eth.src] = msg.in_port
        out = self.ports.get(eth.dst, ofp.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out)]
        if out != ofp.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=msg.in_port, dl_dst=eth.dst, dl_src=eth.src)
            dp.send_msg(parser.OFPFlowMod(dp, match, 0, ofp.OFPFC_ADD, 0, 2, priority=5,
                                          flags=ofp.OFPFF_SEND_FLOW_REM, actions=actions))
        data = msg.data if msg.buffer_id == ofp.OFP_NO_BUFFER else None
        dp.send_msg(parser.OFPPacketOut(dp, msg.buffer_id, msg.in_port, actions, data))


if __name__ == "__main__":
    port = ["--ofp-tcp-listen-port", sys.argv[1], "--ofp-ssl-listen-port", sys.argv[1]]
    cfg.CONF(port + ["--ofp-listen-host", "127.0.0.1"] + sys.argv[2:])
    app_manager.AppManager.run_apps(["learning10"])
