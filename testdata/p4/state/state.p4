// Registers, counters and a direct counter.
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
    register<bit<16>>(8) r;
    counter(8, CounterType.packets_and_bytes) c;
    direct_counter(CounterType.packets_and_bytes) d;
    action seen() { d.count(); }
    table t { key = { hdr.h.n: exact; } actions = { seen; } counters = d; }
    apply {
        std.egress_spec = 1;
        if (hdr.h.op == 0) { r.write((bit<32>)hdr.h.n, hdr.h.v); }
        else if (hdr.h.op == 1) { r.read(hdr.h.v, (bit<32>)hdr.h.n); }
        else if (hdr.h.op == 2) { c.count((bit<32>)hdr.h.n); }
        else { t.apply(); }
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
