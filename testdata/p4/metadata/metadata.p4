// Standard metadata, truncation, the log and assertions.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> n; bit<16> v; }
header x_t { bit<8> x; }

struct headers {
    h_t h;
    x_t x;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.h.op == 0) { hdr.h.v = (bit<16>)std.ingress_port; }
        else if (hdr.h.op == 1) { hdr.h.v = (bit<16>)std.packet_length; }
        else if (hdr.h.op == 2) { hdr.h.v = (bit<16>)std.instance_type; }
        else if (hdr.h.op == 3) { truncate(3); }
        else if (hdr.h.op == 4) { log_msg("n={} v={}", { hdr.h.n, hdr.h.v }); }
        else if (hdr.h.op == 5) { assert(hdr.h.n == 0); }
        else if (hdr.h.op == 6) { assume(hdr.h.n == 0); }
        else if (hdr.h.op == 8) { std.egress_spec = (bit<9>)hdr.h.n; }
        // A header that nothing extracted has no value until it is valid.
        else if (hdr.h.op == 9) { hdr.x.setValid(); hdr.x.x = hdr.h.n; }
        else if (hdr.h.op == 10) { if (std.ingress_global_timestamp > 0) { hdr.h.v = 1; } }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        if (hdr.h.op == 7) { hdr.h.v = (bit<16>)std.egress_port; }
    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
