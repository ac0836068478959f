#include <core.p4>
#include <v1model.p4>

@controller_header("packet_out")
header out_t { bit<16> port; }
header h_t { bit<8> op; bit<8> a; }
struct headers { out_t pout; h_t h; }
struct seen_t { bit<8> a; bit<8> r; }
struct metadata { bit<8> r; }

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { transition select(std.ingress_port) { 510: from_cpu; default: frame; } }
    state from_cpu { p.extract(hdr.pout); transition frame; }
    state frame { p.extract(hdr.h); transition accept; }
}
control MyVerify(inout headers hdr, inout metadata meta) { apply { } }
control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action send(bit<9> port) { std.egress_spec = port; }
    action drop() { mark_to_drop(std); }
    table t { key = { hdr.h.op: exact; } actions = { send; drop; } default_action = drop(); size = 16; }
    apply {
        if (hdr.pout.isValid()) {
            std.egress_spec = (bit<9>)hdr.pout.port;
            hdr.pout.setInvalid();
        } else {
            t.apply();
            random(meta.r, 8w0, 8w255);
            log_msg("op {} is {}", { hdr.h.op, meta.r });
            digest<seen_t>(1, { hdr.h.a, meta.r });
            hdr.h.a = meta.r;
            std.priority = 3;
        }
    }
}
control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply { } }
control MyUpdate(inout headers hdr, inout metadata meta) { apply { } }
control MyDeparser(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
