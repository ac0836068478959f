// Selects with values, masks, ranges and several keys; lookahead and advance.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> a; bit<8> b; bit<16> c; }
header t_t { bit<8> kind; }

struct headers {
    h_t h;
    t_t t;
    h_t second;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        p.extract(hdr.h);
        transition select(hdr.h.a, hdr.h.c) {
            (1, 0x10 &&& 0xf0): skip;
            (2..5, _): ahead;
            (6, 7): second;
            default: accept;
        }
    }
    state skip { p.advance(16); transition second; }
    state ahead {
        transition select(p.lookahead<bit<12>>()) {
            0x123: tail;
            default: accept;
        }
    }
    state tail { p.extract(hdr.t); transition accept; }
    state second { p.extract(hdr.second); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        hdr.h.b = 0;
        if (hdr.t.isValid()) { hdr.h.b = hdr.t.kind; hdr.t.setInvalid(); }
        if (hdr.second.isValid()) { hdr.h.b = hdr.second.a; }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {

    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
