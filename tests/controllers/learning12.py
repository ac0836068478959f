"""A learning switch of OpenFlow 1.2 on os-ken, which gets misses without an entry for them: learning12.py PORT"""
import sys

from os_ken.base import app_manager  # before os_ken.controller: the reverse is an import cycle
from os_ken import cfg
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_2

import learning


class Learning12(learning.Learning):
    OFP_VERSIONS = [ofproto_v1_2.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, ev):
        dp = ev.msg.datapath
        parser, ofp = dp.ofproto_parser, dp.ofproto
        print("PORTS", len(ev.msg.ports), flush=True)
        group = [parser.OFPBucket(0, ofp.OFPP_ANY, ofp.OFPG_ANY, [parser.OFPActionOutput(1, 0)])]
        for request in (parser.OFPSetConfig(dp, ofp.OFPC_INVALID_TTL_TO_CONTROLLER, 64),
                        parser.OFPGetConfigRequest(dp),
                        parser.OFPTableMod(dp, 1, ofp.OFPTC_TABLE_MISS_DROP),
                        parser.OFPGroupMod(dp, ofp.OFPGC_ADD, ofp.OFPGT_INDIRECT, 1, group),
                        parser.OFPFlowMod(dp, table_id=1, match=parser.OFPMatch(), priority=7,
                                          command=ofp.OFPFC_ADD, flags=0, instructions=[],
                                          buffer_id=ofp.OFP_NO_BUFFER),
                        parser.OFPDescStatsRequest(dp),
                        parser.OFPFlowStatsRequest(dp, match=parser.OFPMatch()),
                        parser.OFPAggregateStatsRequest(dp, match=parser.OFPMatch()),
                        parser.OFPTableStatsRequest(dp),
                        parser.OFPPortStatsRequest(dp),
                        parser.OFPQueueStatsRequest(dp),
                        parser.OFPGroupStatsRequest(dp),
                        parser.OFPGroupDescStatsRequest(dp),
                        parser.OFPGroupFeaturesStatsRequest(dp),
                        parser.OFPQueueGetConfigRequest(dp, 1),
                        parser.OFPRoleRequest(dp, ofp.OFPCR_ROLE_MASTER, 1),
                        parser.OFPBarrierRequest(dp)):
            dp.send_msg(request)

    @set_ev_cls(ofp_event.EventOFPStatsReply, MAIN_DISPATCHER)
    def stats(self, ev):
        body = ev.msg.body
        count = len(body) if isinstance(body, list) else 1
        print("STATS", ev.msg.type, count, flush=True)

    @set_ev_cls([ofp_event.EventOFPGetConfigReply, ofp_event.EventOFPQueueGetConfigReply,
                 ofp_event.EventOFPBarrierReply], MAIN_DISPATCHER)
    def told(self, ev):
        print("TOLD", type(ev.msg).__name__, flush=True)


if __name__ == "__main__":
    port = ["--ofp-tcp-listen-port", sys.argv[1], "--ofp-ssl-listen-port", sys.argv[1]]
    cfg.CONF(port + ["--ofp-listen-host", "127.0.0.1"] + sys.argv[2:])
    app_manager.AppManager.run_apps(["learning12"])
