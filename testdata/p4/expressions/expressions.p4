// Arithmetic of any width: wrapping, signed, saturating; shifts, slices, casts.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> a; bit<8> b; bit<8> r; }
header w_t { bit<256> w; int<8> s; int<8> t; }

struct headers {
    h_t h;
    w_t w;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition select(hdr.h.op) { 0x80 &&& 0x80: wide; default: accept; } }
    state wide { p.extract(hdr.w); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.h.op == 0) { hdr.h.r = hdr.h.a + hdr.h.b; }
        else if (hdr.h.op == 1) { hdr.h.r = hdr.h.a - hdr.h.b; }
        else if (hdr.h.op == 2) { hdr.h.r = hdr.h.a |+| hdr.h.b; }
        else if (hdr.h.op == 3) { hdr.h.r = hdr.h.a |-| hdr.h.b; }
        else if (hdr.h.op == 4) { hdr.h.r = hdr.h.a * hdr.h.b; }
        else if (hdr.h.op == 5) { hdr.h.r = hdr.h.a << hdr.h.b; }
        else if (hdr.h.op == 6) { hdr.h.r = hdr.h.a >> hdr.h.b; }
        else if (hdr.h.op == 7) { hdr.h.r = hdr.h.a[3:0] ++ hdr.h.b[7:4]; }
        else if (hdr.h.op == 8) { hdr.h.r[5:2] = hdr.h.a[3:0]; }
        else if (hdr.h.op == 9) { hdr.h.r = ~hdr.h.a ^ (hdr.h.b & 0xf0) | 1; }
        else if (hdr.h.op == 10) { hdr.h.r = hdr.h.a > hdr.h.b ? 8w1 : 8w2; }
        else if (hdr.h.op == 11) { hdr.h.r = -hdr.h.a; }
        else if (hdr.h.op == 0x80) { hdr.w.w = hdr.w.w + 1; }
        else if (hdr.h.op == 0x81) { hdr.w.w = hdr.w.w << 200; }
        else if (hdr.h.op == 0x82) { hdr.w.w[255:128] = ~hdr.w.w[127:0]; }
        else if (hdr.h.op == 0x83) { hdr.w.s = hdr.w.s >> 1; }
        else if (hdr.h.op == 0x84) { hdr.w.s = hdr.w.s |+| hdr.w.t; }
        else if (hdr.h.op == 0x85) { hdr.w.s = hdr.w.s |-| hdr.w.t; }
        else if (hdr.h.op == 0x86) { if (hdr.w.s < hdr.w.t) { hdr.h.r = 1; } }
        else if (hdr.h.op == 0x87) { hdr.w.w = (bit<256>)(int<256>)(int<16>)hdr.w.s; }
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
