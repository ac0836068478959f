// Header unions: one member is valid at a time; stacks of them.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> kind; bit<8> seen; }
header p_t { bit<8> x; }
header q_t { bit<16> y; }
header_union u_t { p_t p; q_t q; }

struct headers {
    h_t h;
    u_t u;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        p.extract(hdr.h);
        transition select(hdr.h.kind) { 1: first; 2: second; 3: both; default: accept; }
    }
    state first { p.extract(hdr.u.p); transition accept; }
    state second { p.extract(hdr.u.q); transition accept; }
    state both { p.extract(hdr.u.p); p.extract(hdr.u.q); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        hdr.h.seen = 0;
        if (hdr.u.p.isValid()) { hdr.h.seen = 1; hdr.u.q.setValid(); hdr.u.q.y = 0xabcd; }
        else if (hdr.u.q.isValid()) { hdr.h.seen = 2; hdr.u.p.setInvalid(); }
        if (!hdr.u.isValid()) { hdr.h.seen = 3; }
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
