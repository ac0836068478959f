"""Port knocking with OpenState or BEBA on os-ken: port_knocking.py PORT openstate|beba

The messages are built from their layouts. A host that sends datagrams to ports 5001, 5002 and 5003
of another may then send it datagrams to port 22. States are asked for once a second.
"""
import struct
import sys

from os_ken.base import app_manager  # before os_ken.controller: the reverse is an import cycle
from os_ken import cfg
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import hub
from os_ken.ofproto import ofproto_v1_3

BEBA = 0xBEBABEBA
IPV4_SRC = 0x80001604
KNOCKS = [5001, 5002, 5003]
OPEN = 22


def state_mod(dp, command, payload):
    parser = dp.ofproto_parser
    data = struct.pack("!BB", command, 0) + payload
    dp.send_msg(parser.OFPExperimenter(dp, BEBA, 0, data))


def extractor(table, fields, is_openstate):
    bit = b"" if is_openstate else bytes(4)
    count = struct.pack("!I", len(fields))
    return bytes([table, 0, 0, 0]) + bit + count + b"".join(struct.pack("!I", f) for f in fields)


def set_state(state, table):
    """The action, with an idle timeout of 60 s to state 0."""
    return struct.pack("!HHIII", 0xFFFF, 48, BEBA, 0, 0) + struct.pack(
        "!IIB3xIIII4x", state, 0xFFFFFFFF, table, 0, 0, 0, 60_000_000)


def output(port):
    return struct.pack("!HHIH6x", 0, 16, port, 0)


def udp_match(port, state):
    oxm = struct.pack("!IH", 0x80000A02, 0x0800) + struct.pack("!IB", 0x80001401, 17)
    oxm += struct.pack("!IH", 0x80002002, port)
    return oxm + struct.pack("!III", 0xFFFF0208, BEBA, state)


def flow_mod(dp, priority, oxm, actions):
    match = struct.pack("!HH", 1, 4 + len(oxm)) + oxm
    match += bytes(-len(match) % 8)
    instruction = struct.pack("!HH4x", 4, 8 + len(actions)) + actions if actions else b""
    head = struct.pack("!QQBBHHHIIIH2x", 0, 0, 0, 0, 0, 0, priority, 0xFFFFFFFF, 0xFFFFFFFF,
                       0xFFFFFFFF, 0)
    body = head + match + instruction
    dp.send(struct.pack("!BBHI", 4, 14, 8 + len(body), 77) + body)


class PortKnocking(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, ev):
        dp = ev.msg.datapath
        is_openstate = DIALECT == "openstate"
        state_mod(dp, 0, bytes([0, 1]))
        for command in (1, 2):
            state_mod(dp, command, extractor(0, [IPV4_SRC], is_openstate))
        flood = output(dp.ofproto.OFPP_FLOOD)
        flow_mod(dp, 20, struct.pack("!IH", 0x80000A02, 0x0806), flood)
        for state, port in enumerate(KNOCKS):
            flow_mod(dp, 10, udp_match(port, state), set_state(state + 1, 0))
        flow_mod(dp, 10, udp_match(OPEN, len(KNOCKS)), flood)
        flow_mod(dp, 1, b"", set_state(0, 0))
        # What must be refused: an extractor for a table that is not stateful.
        state_mod(dp, 1, extractor(5, [IPV4_SRC], is_openstate))
        dp.send_msg(dp.ofproto_parser.OFPBarrierRequest(dp))
        hub.spawn(self.ask, dp)

    def ask(self, dp):
        body = bytes([0, 0, 0, 0]) + struct.pack("!I", 0) + struct.pack("!HH4x", 1, 4)
        while True:
            hub.sleep(1)
            request = dp.ofproto_parser.OFPExperimenterStatsRequest(dp, 0, BEBA, 0, body)
            dp.send_msg(request)

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def error(self, ev):
        msg = ev.msg
        print("ERROR", msg.type, getattr(msg, "exp_type", msg.code),
              hex(getattr(msg, "experimenter", 0) or 0), flush=True)

    @set_ev_cls(ofp_event.EventOFPBarrierReply, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def barrier(self, ev):
        print("READY", flush=True)

    @set_ev_cls(ofp_event.EventOFPExperimenterStatsReply, MAIN_DISPATCHER)
    def states(self, ev):
        data = bytes(ev.msg.body.data)
        while data:
            length, table = struct.unpack_from("!HB", data)
            if DIALECT == "openstate":
                key_len, = struct.unpack_from("!I", data, 40)
                key, state = data[44:44 + key_len], struct.unpack_from("!I", data, 92)[0]
            else:
                key, state = data[32:32 + data[3]], struct.unpack_from("!I", data, 28)[0]
            print("STATE", table, key.hex(), state, flush=True)
            data = data[length:]


if __name__ == "__main__":
    DIALECT = sys.argv[2]
    port = ["--ofp-tcp-listen-port", sys.argv[1], "--ofp-ssl-listen-port", sys.argv[1]]
    cfg.CONF(port + ["--ofp-listen-host", "127.0.0.1"])
    sys.modules["port_knocking"] = sys.modules["__main__"]
    app_manager.AppManager.run_apps(["port_knocking"])
