"""Open Packet Processor on os-ken: packet_quota.py PORT

The messages are built from their layouts. Each host may send QUOTA datagrams to port 22 of another;
their DSCP becomes the host's state, and its variables are asked for once a second.
"""
import struct
import sys

from port_knocking import BEBA, IPV4_SRC, extractor, flow_mod, output, state_mod
from os_ken.base import app_manager
from os_ken import cfg
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_3

QUOTA = 2
OPEN = 22
UDP_DST = 0x80002002
IP_DSCP = 0x80001001
FLOW_VARIABLE, GLOBAL_VARIABLE, CONSTANT = 0, 1, 3
LESS_THAN, SUM = 1, 0


def action(act_type, body):
    return struct.pack("!HHIII", 0xFFFF, 16 + len(body), BEBA, act_type, 0) + body


def set_state(state):
    """SET_STATE of 56 bytes, without timers and without a scope of its own."""
    return action(0, struct.pack("!IIB3xIIIIB7xI", state, 0xFFFFFFFF, 0, 0, 0, 0, 0, 0, 0))


def count(variable):
    """SET_DATA_VAR: a variable of the flow becomes itself and 1."""
    types = FLOW_VARIABLE << 14 | CONSTANT << 12
    return action(3, struct.pack("!HBBB3x4B4bIB3x", types, 0, SUM, variable, variable, 1, 0, 0,
                                 0, 0, 0, 0, 0, 0))


def write_state(field):
    return action(4, struct.pack("!BBHI", 2, 0, 0, field))


def udp_match(port, condition):
    oxm = struct.pack("!IH", 0x80000A02, 0x0800) + struct.pack("!IB", 0x80001401, 17)
    oxm += struct.pack("!IH", UDP_DST, port)
    return oxm + struct.pack("!IIB", 0xFFFF0405, BEBA, condition)


class PacketQuota(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, ev):
        dp = ev.msg.datapath
        state_mod(dp, 0, bytes([0, 1]))
        for command in (1, 2):
            state_mod(dp, command, extractor(0, [IPV4_SRC], False))
        # Variable 0 of the table is the quota; condition 0: variable 0 of the flow is less.
        state_mod(dp, 9, struct.pack("!BBHII", 0, 0, 0, QUOTA, 0xFFFFFFFF))
        types = FLOW_VARIABLE << 6 | GLOBAL_VARIABLE << 4
        state_mod(dp, 8, struct.pack("!BBBBBBH", 0, 0, LESS_THAN, types, 0, 0, 0))
        flood = output(dp.ofproto.OFPP_FLOOD)
        flow_mod(dp, 20, struct.pack("!IH", 0x80000A02, 0x0806), flood)
        known = count(0) + set_state(10) + write_state(IP_DSCP) + flood
        flow_mod(dp, 10, udp_match(OPEN, 1), known)
        # What must be refused: a ninth condition, and SET_STATE of 48 bytes.
        state_mod(dp, 8, struct.pack("!BBBBBBH", 0, 8, LESS_THAN, types, 0, 0, 0))
        short = struct.pack("!HHIII", 0xFFFF, 48, BEBA, 0, 0) + bytes(32)
        flow_mod(dp, 5, b"", short)
        dp.send_msg(dp.ofproto_parser.OFPBarrierRequest(dp))
        hub.spawn(self.ask, dp)

    def ask(self, dp):
        states = bytes([0, 0, 0, 0]) + struct.pack("!I", 0) + struct.pack("!HH4x", 1, 4)
        while True:
            hub.sleep(1)
            for exp_type, body in ((0, states), (3, bytes(8))):
                dp.send_msg(dp.ofproto_parser.OFPExperimenterStatsRequest(dp, 0, BEBA, exp_type,
                                                                          body))

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def error(self, ev):
        print("ERROR", ev.msg.type, getattr(ev.msg, "exp_type", ev.msg.code), flush=True)

    @set_ev_cls(ofp_event.EventOFPBarrierReply, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def barrier(self, ev):
        print("READY", flush=True)

    @set_ev_cls(ofp_event.EventOFPExperimenterStatsReply, MAIN_DISPATCHER)
    def stats(self, ev):
        data = bytes(ev.msg.body.data)
        if ev.msg.body.exp_type == 3:
            print("TABLE", *struct.unpack("!8I", data), flush=True)
            return
        while data:
            length, table = struct.unpack_from("!HB", data)
            key_len, = struct.unpack_from("!I", data, 40)
            state, *variables = struct.unpack_from("!7I", data, 92)
            print("STATE", table, data[44:44 + key_len].hex(), state, *variables, flush=True)
            data = data[length:]


if __name__ == "__main__":
    port = ["--ofp-tcp-listen-port", sys.argv[1], "--ofp-ssl-listen-port", sys.argv[1]]
    cfg.CONF(port + ["--ofp-listen-host", "127.0.0.1"])
    sys.modules["packet_quota"] = sys.modules["__main__"]
    app_manager.AppManager.run_apps(["packet_quota"])
