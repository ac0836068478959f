"""A learning switch of OpenFlow 1.4 on os-ken, which uses what that version brought: learning14.py PORT"""
import sys

from os_ken.base import app_manager  # before os_ken.controller: the reverse is an import cycle
from os_ken import cfg
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_4

import learning

EVICTING = 5
VACANT = 6


class Learning14(learning.Learning):
    OFP_VERSIONS = [ofproto_v1_4.OFP_VERSION]

    def entry(self, dp, **more):
        parser, ofp = dp.ofproto_parser, dp.ofproto
        return parser.OFPFlowMod(dp, command=ofp.OFPFC_ADD, instructions=[],
                                 match=parser.OFPMatch(eth_type=0x88b5), **more)

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, ev):
        super().features(ev)
        dp = ev.msg.datapath
        parser, ofp = dp.ofproto_parser, dp.ofproto
        vacancy = parser.OFPTableModPropVacancy(type_=ofp.OFPTMPT_VACANCY, vacancy_down=100,
                                                vacancy_up=100, vacancy=0)
        wanted = parser.OFPAsyncConfigPropReasons(ofp.OFPACPT_TABLE_STATUS_MASTER, 8,
                                                  1 << ofp.OFPTR_VACANCY_DOWN)
        both = ofp.OFPBF_ATOMIC | ofp.OFPBF_ORDERED
        in_bundle = self.entry(dp, table_id=VACANT, importance=7)
        in_bundle.set_xid(99)
        add = parser.OFPBundleAddMsg(dp, 4, both, in_bundle, [])
        add.set_xid(99)
        for request in (parser.OFPTableMod(dp, EVICTING, ofp.OFPTC_EVICTION, []),
                        parser.OFPTableMod(dp, VACANT, ofp.OFPTC_VACANCY_EVENTS, [vacancy]),
                        parser.OFPSetAsync(dp, [wanted]),
                        parser.OFPTableDescStatsRequest(dp, 0),
                        parser.OFPQueueDescStatsRequest(dp, 0, ofp.OFPP_ANY, ofp.OFPQ_ALL),
                        parser.OFPPortDescStatsRequest(dp, 0),
                        parser.OFPPortStatsRequest(dp, 0, ofp.OFPP_ANY),
                        parser.OFPBundleCtrlMsg(dp, 4, ofp.OFPBCT_OPEN_REQUEST, both, []),
                        add,
                        parser.OFPBundleCtrlMsg(dp, 4, ofp.OFPBCT_COMMIT_REQUEST, both, []),
                        parser.OFPFlowStatsRequest(dp, table_id=VACANT, match=parser.OFPMatch())):
            dp.send_msg(request)

    @set_ev_cls(ofp_event.EventOFPGetAsyncReply, MAIN_DISPATCHER)
    def asynchronous(self, ev):
        print("ASYNC", len(ev.msg.properties), flush=True)

    @set_ev_cls(ofp_event.EventOFPTableDescStatsReply, MAIN_DISPATCHER)
    def configured(self, ev):
        for table in ev.msg.body:
            if table.properties:
                print("CONFIGURED", table.table_id, table.config, len(table.properties), flush=True)

    @set_ev_cls([ofp_event.EventOFPQueueDescStatsReply, ofp_event.EventOFPPortDescStatsReply,
                 ofp_event.EventOFPPortStatsReply], MAIN_DISPATCHER)
    def described(self, ev):
        print("LISTED", type(ev.msg).__name__, len(ev.msg.body), flush=True)

    @set_ev_cls(ofp_event.EventOFPBundleCtrlMsg, MAIN_DISPATCHER)
    def bundle(self, ev):
        print("BUNDLE", ev.msg.bundle_id, ev.msg.type, flush=True)

    @set_ev_cls(ofp_event.EventOFPFlowStatsReply, MAIN_DISPATCHER)
    def flows(self, ev):
        print("IMPORTANCE", [flow.importance for flow in ev.msg.body], flush=True)

    @set_ev_cls(ofp_event.EventOFPTableStatus, MAIN_DISPATCHER)
    def fills(self, ev):
        print("FILLS", ev.msg.reason, ev.msg.table.table_id, flush=True)


if __name__ == "__main__":
    port = ["--ofp-tcp-listen-port", sys.argv[1], "--ofp-ssl-listen-port", sys.argv[1]]
    cfg.CONF(port + ["--ofp-listen-host", "127.0.0.1"] + sys.argv[2:])
    app_manager.AppManager.run_apps(["learning14"])
