// All kinds of matches, alone and together.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> k; bit<16> w; bit<8> r; }
header o_t { bit<8> z; }

struct headers {
    h_t h;
    o_t o;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition select(hdr.h.op) { 7: more; default: accept; } }
    state more { p.extract(hdr.o); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action set(bit<8> v) { hdr.h.r = v; }
    action miss() { hdr.h.r = 0xff; }
    table exact_t { key = { hdr.h.k: exact; hdr.h.w: exact; } actions = { set; miss; } default_action = miss(); }
    table lpm_t { key = { hdr.h.w: lpm; } actions = { set; miss; } default_action = miss(); }
    table lpm_exact_t { key = { hdr.h.k: exact; hdr.h.w: lpm; } actions = { set; miss; } default_action = miss(); }
    table ternary_t { key = { hdr.h.k: ternary; hdr.h.w: ternary; } actions = { set; miss; } default_action = miss(); }
    table range_t { key = { hdr.h.w: range; hdr.h.k: exact; } actions = { set; miss; } default_action = miss(); }
    table optional_t { key = { hdr.h.k: optional; hdr.h.w: exact; } actions = { set; miss; } default_action = miss(); }
    table valid_t { key = { hdr.o.isValid(): exact; } actions = { set; miss; } default_action = miss(); }
    table slice_t { key = { hdr.h.w[11:4]: exact @name("mid"); hdr.h.k & 0xf: exact @name("low"); } actions = { set; miss; } default_action = miss(); }
    table const_t {
        key = { hdr.h.w: ternary; }
        actions = { set; miss; }
        const default_action = miss();
        const entries = { 0x1000 &&& 0xf000: set(1); 0x1100 &&& 0xff00: set(2); }
    }
    apply {
        std.egress_spec = 1;
        if (hdr.h.op == 0) { exact_t.apply(); }
        else if (hdr.h.op == 1) { lpm_t.apply(); }
        else if (hdr.h.op == 2) { lpm_exact_t.apply(); }
        else if (hdr.h.op == 3) { ternary_t.apply(); }
        else if (hdr.h.op == 4) { range_t.apply(); }
        else if (hdr.h.op == 5) { optional_t.apply(); }
        else if (hdr.h.op == 6 || hdr.h.op == 7) { valid_t.apply(); }
        else if (hdr.h.op == 8) { slice_t.apply(); }
        else { const_t.apply(); }
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
