// Header stacks: next, last, push, pop, assignment, and an index known at run time.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> n; }
header s_t { bit<7> x; bit<1> end; }

struct headers {
    h_t h;
    s_t[4] s;
    s_t[4] t;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition more; }
    state more {
        p.extract(hdr.s.next);
        transition select(hdr.s.last.end) { 1: accept; default: more; }
    }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.h.op == 1) { hdr.s.push_front(1); hdr.s[0].setValid(); hdr.s[0].x = 0x11; }
        if (hdr.h.op == 2) { hdr.s.pop_front(2); }
        if (hdr.h.op == 3) { hdr.t = hdr.s; hdr.s[0].setInvalid(); }
        if (hdr.h.op == 4) { hdr.s[hdr.h.n].x = 0x7f; }
        if (hdr.h.op == 5) { hdr.h.n = (bit<8>)hdr.s[hdr.h.n].x; }
        if (hdr.h.op == 6) { hdr.s.push_front(3); }
        if (hdr.h.op == 7 && hdr.s[0] == hdr.s[1]) { hdr.h.n = 1; }
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
