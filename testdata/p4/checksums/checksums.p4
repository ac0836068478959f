// Checksums: verified after the parser, updated before the deparser, with conditions and payload.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> n; bit<16> sum; }
header p_t { bit<16> sum; }

struct headers {
    h_t h;
    p_t q;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition select(hdr.h.op) { 2: with_q; default: accept; } }
    state with_q { p.extract(hdr.q); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply { verify_checksum(hdr.h.op == 1, { hdr.h.op, hdr.h.n }, hdr.h.sum, HashAlgorithm.csum16); }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (std.checksum_error == 1) { hdr.h.n = 0xee; }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {

    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply { update_checksum(hdr.h.op != 1, { hdr.h.op, hdr.h.n }, hdr.h.sum, HashAlgorithm.csum16); update_checksum_with_payload(hdr.q.isValid(), { hdr.h.op, hdr.h.n }, hdr.q.sum, HashAlgorithm.csum16); }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
