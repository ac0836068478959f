// What only a control plane fills: profiles, selectors, meters, value sets, digests, random numbers.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> n; bit<16> v; }
struct learned_t { bit<8> n; bit<16> v; }

struct headers {
    h_t h;
}

struct metadata {
    bit<2> color;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    value_set<bit<8>>(4) special;
    state start { p.extract(hdr.h); transition select(hdr.h.n) { special: drop_it; default: accept; } }
    state drop_it { verify(false, error.NoMatch); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action_profile(8) profile;
    action_selector(HashAlgorithm.identity, 32w8, 32w14) choice;
    meter(4, MeterType.packets) m;
    direct_meter<bit<2>>(MeterType.bytes) dm;
    action set(bit<16> v) { hdr.h.v = v; }
    action metered() { dm.read(meta.color); }
    table profiled { key = { hdr.h.n: exact; } actions = { set; } implementation = profile; }
    table selected { key = { hdr.h.op: exact; hdr.h.n: selector; } actions = { set; } implementation = choice; }
    table direct { key = { hdr.h.n: exact; } actions = { metered; NoAction; } default_action = NoAction(); meters = dm; support_timeout = true; }
    apply {
        std.egress_spec = 1;
        if (std.parser_error == error.NoMatch) { mark_to_drop(std); }
        if (hdr.h.op == 1) { profiled.apply(); }
        else if (hdr.h.op == 2) { selected.apply(); }
        else if (hdr.h.op == 3) { m.execute_meter((bit<32>)hdr.h.n, meta.color); hdr.h.v = (bit<16>)meta.color; }
        else if (hdr.h.op == 4) { direct.apply(); hdr.h.v = (bit<16>)meta.color; }
        else if (hdr.h.op == 5) { digest<learned_t>(1, { hdr.h.n, hdr.h.v }); }
        else if (hdr.h.op == 6) { random(hdr.h.v, 10, 20); }
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
