// Drop, exit, and the switch on what a table did.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> n; bit<16> v; }

struct headers {
    h_t h;
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
    action one() { hdr.h.v = 1; }
    action two() { hdr.h.v = 2; }
    action stop() { hdr.h.v = 3; exit; }
    action gone() { mark_to_drop(std); }
    table t { key = { hdr.h.n: exact; } actions = { one; two; stop; gone; NoAction; } default_action = NoAction(); }
    table u { key = { hdr.h.n: exact; } actions = { NoAction; } default_action = NoAction(); }
    apply {
        std.egress_spec = 1;
        if (hdr.h.op == 1) {
            if (u.apply().hit) { hdr.h.v = 0xaa; } else { hdr.h.v = 0xbb; }
            exit;
        }
        switch (t.apply().action_run) {
            one: { hdr.h.v = hdr.h.v + 0x10; }
            two: { hdr.h.v = hdr.h.v + 0x20; }
            default: { hdr.h.v = hdr.h.v + 0x30; }
        }
        if (hdr.h.op == 2) { mark_to_drop(std); std.egress_spec = 2; }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        if (hdr.h.op == 3) { mark_to_drop(std); }
        if (hdr.h.op == 4) { exit; }
        hdr.h.op = 0xff;
    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
