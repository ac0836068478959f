// Hashes of one input by each algorithm.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<72> x; bit<32> r; }

struct headers {
    h_t h;
}

struct metadata {
    bit<16> h16;
    bit<64> h64;
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
        hdr.h.r = 0;
        if (hdr.h.op == 0) { hash(hdr.h.r, HashAlgorithm.crc32, 32w0, { hdr.h.x }, 64w0x100000000); }
        else if (hdr.h.op == 1) { hash(meta.h16, HashAlgorithm.crc16, 16w0, { hdr.h.x }, 32w0x10000); hdr.h.r = (bit<32>)meta.h16; }
        else if (hdr.h.op == 2) { hash(meta.h16, HashAlgorithm.csum16, 16w0, { hdr.h.x }, 32w0x10000); hdr.h.r = (bit<32>)meta.h16; }
        else if (hdr.h.op == 3) { hash(meta.h16, HashAlgorithm.xor16, 16w0, { hdr.h.x }, 32w0x10000); hdr.h.r = (bit<32>)meta.h16; }
        else if (hdr.h.op == 4) { hash(hdr.h.r, HashAlgorithm.identity, 32w0, { hdr.h.x[7:0] }, 64w0x100000000); }
        else if (hdr.h.op == 5) { hash(hdr.h.r, HashAlgorithm.crc32, 32w1000, { hdr.h.x }, 64w10); }
        else if (hdr.h.op == 6) { hash(hdr.h.r, HashAlgorithm.crc32_custom, 32w0, { hdr.h.x }, 64w0x100000000); }
        else if (hdr.h.op == 7) { hash(hdr.h.r, HashAlgorithm.crc16, 32w0, { hdr.h.x[3:0], 4w0 }, 64w0x100000000); }
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
