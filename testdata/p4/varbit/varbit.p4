// Fields of variable width: extracted, copied, summed and written.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> len; bit<8> copy; bit<16> sum; }
header v_t { bit<8> first; varbit<64> v; bit<8> last; }

struct headers {
    h_t h;
    v_t v;
    v_t w;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); p.extract(hdr.v, (bit<32>)hdr.h.len * 8); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.h.copy == 1) { hdr.w = hdr.v; hdr.w.first = 0xee; }
        if (hdr.h.copy == 2) { hdr.v.setInvalid(); }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {

    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply { update_checksum(true, { hdr.v.first, hdr.v.v, hdr.v.last }, hdr.h.sum, HashAlgorithm.csum16); }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
