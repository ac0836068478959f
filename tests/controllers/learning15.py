"""A learning switch of OpenFlow 1.5 on os-ken, which uses what that version brought: learning15.py PORT"""
import sys

from os_ken.base import app_manager  # before os_ken.controller: the reverse is an import cycle
from os_ken import cfg
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_5

import learning

SPREAD = 7
METERED = 5
SHORT_ID = 9


class Learning15(learning.Learning):
    OFP_VERSIONS = [ofproto_v1_5.OFP_VERSION]
    tables_told = 0

    def group(self, dp, command, after, ids):
        parser, ofp = dp.ofproto_parser, dp.ofproto
        buckets = []
        for number in ids:
            weight = parser.OFPGroupBucketPropWeight(type_=ofp.OFPGBPT_WEIGHT, weight=number)
            out = [parser.OFPActionOutput(ofp.OFPP_IN_PORT)]
            buckets.append(parser.OFPBucket(number, out, [weight]))
        return parser.OFPGroupMod(dp, command, ofp.OFPGT_SELECT, SPREAD, after, buckets)

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, ev):
        dp = ev.msg.datapath
        parser, ofp = dp.ofproto_parser, dp.ofproto
        miss = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, 64)]
        self.add_flow(dp, 0, parser.OFPMatch(), miss)
        band = parser.OFPMeterBandDrop(rate=100, burst_size=10)
        metered = [parser.OFPActionMeter(1), parser.OFPActionMeter(1)]
        any_table = (ofp.OFPTT_ALL, ofp.OFPP_ANY, ofp.OFPG_ANY)
        watch = (ofp.OFPFMF_INITIAL | ofp.OFPFMF_ADD | ofp.OFPFMF_INSTRUCTIONS)
        of_table = parser.OFPMatch(eth_type=0x88b5)
        both = ofp.OFPBF_ATOMIC | ofp.OFPBF_ORDERED
        for request in (
                parser.OFPRoleRequest(dp, ofp.OFPCR_ROLE_MASTER, SHORT_ID, 1),
                parser.OFPTableFeaturesStatsRequest(dp, 0, []),
                parser.OFPMeterFeaturesStatsRequest(dp, 0),
                parser.OFPGetAsyncRequest(dp),
                self.group(dp, ofp.OFPGC_ADD, ofp.OFPG_BUCKET_ALL, [1, 2]),
                self.group(dp, ofp.OFPGC_INSERT_BUCKET, 1, [3]),
                self.group(dp, ofp.OFPGC_REMOVE_BUCKET, 1, []),
                self.group(dp, ofp.OFPGC_REMOVE_BUCKET, 2, []),
                parser.OFPGroupDescStatsRequest(dp, 0, SPREAD),
                parser.OFPMeterMod(dp, ofp.OFPMC_ADD, ofp.OFPMF_PKTPS, 1, [band]),
                parser.OFPFlowMod(dp, table_id=METERED, match=of_table, instructions=[
                    parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, metered)]),
                parser.OFPFlowDescStatsRequest(dp, 0, METERED, match=parser.OFPMatch()),
                parser.OFPFlowStatsRequest(dp, 0, METERED, match=parser.OFPMatch()),
                parser.OFPAggregateStatsRequest(dp, 0, *any_table, 0, 0, parser.OFPMatch()),
                parser.OFPFlowMonitorRequest(dp, 0, 3, monitor_flags=watch, table_id=METERED,
                                             command=ofp.OFPFMC_ADD, match=parser.OFPMatch()),
                parser.OFPBundleFeaturesStatsRequest(dp, 0),
                parser.OFPControllerStatusStatsRequest(dp, 0),
                parser.OFPBundleCtrlMsg(dp, 4, ofp.OFPBCT_OPEN_REQUEST, both, []),
                parser.OFPBundleCtrlMsg(dp, 4, ofp.OFPBCT_COMMIT_REQUEST, both, [])):
            dp.send_msg(request)

    @set_ev_cls(ofp_event.EventOFPRoleReply, MAIN_DISPATCHER)
    def role(self, ev):
        print("ROLE", ev.msg.role, ev.msg.short_id, flush=True)

    @set_ev_cls(ofp_event.EventOFPGetAsyncReply, MAIN_DISPATCHER)
    def asynchronous(self, ev):
        print("ASYNC", len(ev.msg.properties), flush=True)

    @set_ev_cls(ofp_event.EventOFPMeterFeaturesStatsReply, MAIN_DISPATCHER)
    def meters(self, ev):
        print("METERS", ev.msg.body[0].capabilities, ev.msg.body[0].features, flush=True)

    @set_ev_cls(ofp_event.EventOFPTableFeaturesStatsReply, MAIN_DISPATCHER)
    def tables(self, ev):
        properties = [one.type for one in ev.msg.body[0].properties]
        self.tables_told += len(ev.msg.body)
        if not ev.msg.flags:
            features = ev.msg.body[1].features
            print("TABLES", self.tables_told, features, properties, flush=True)

    @set_ev_cls(ofp_event.EventOFPGroupDescStatsReply, MAIN_DISPATCHER)
    def groups(self, ev):
        # os-ken cannot read a second bucket: it takes it for properties of the first.
        buckets = [(one.bucket_id, one.properties[0].weight) for one in ev.msg.body[0].buckets]
        print("BUCKETS", buckets, flush=True)

    @set_ev_cls(ofp_event.EventOFPFlowDescStatsReply, MAIN_DISPATCHER)
    def flows(self, ev):
        actions = [type(one).__name__ for one in ev.msg.body[0].instructions[0].actions]
        print("ACTIONS", actions, ev.msg.body[0].stats["packet_count"], flush=True)

    @set_ev_cls([ofp_event.EventOFPFlowStatsReply, ofp_event.EventOFPBundleFeaturesStatsReply,
                 ofp_event.EventOFPFlowMonitorReply,
                 ofp_event.EventOFPControllerStatusStatsReply], MAIN_DISPATCHER)
    def listed(self, ev):
        body = ev.msg.body
        length = len(body) if isinstance(body, list) else 1
        print("LISTED", type(ev.msg).__name__, length, flush=True)

    @set_ev_cls(ofp_event.EventOFPAggregateStatsReply, MAIN_DISPATCHER)
    def aggregate(self, ev):
        print("AGGREGATE", ev.msg.body.stats["flow_count"], flush=True)

    @set_ev_cls(ofp_event.EventOFPBundleCtrlMsg, MAIN_DISPATCHER)
    def bundle(self, ev):
        print("BUNDLE", ev.msg.bundle_id, ev.msg.type, flush=True)

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
        dp.send_msg(parser.OFPPacketOut(dp, msg.buffer_id, parser.OFPMatch(in_port=in_port),
                                        actions, data))


if __name__ == "__main__":
    port = ["--ofp-tcp-listen-port", sys.argv[1], "--ofp-ssl-listen-port", sys.argv[1]]
    cfg.CONF(port + ["--ofp-listen-host", "127.0.0.1"] + sys.argv[2:])
    app_manager.AppManager.run_apps(["learning15"])
