// Multicast groups, and clones of ingress and egress with the fields that they keep.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> op; bit<8> n; bit<16> v; }

struct headers {
    h_t h;
}

struct metadata {
    @field_list(1) bit<16> kept;
    bit<16> lost;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.h); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        meta.kept = 0x1111;
        meta.lost = 0x2222;
        std.egress_spec = 1;
        if (hdr.h.op == 1) { std.mcast_grp = 5; }
        if (hdr.h.op == 2) { clone_preserving_field_list(CloneType.I2E, 7, 1); hdr.h.n = 0x77; }
        if (hdr.h.op == 5) { clone(CloneType.I2E, 8); mark_to_drop(std); }
        if (hdr.h.op == 6) { std.mcast_grp = 99; }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 5) { hdr.h.v = std.egress_rid; }
        else if (std.instance_type == 1) { hdr.h.v = meta.kept + meta.lost; hdr.h.op = 0xc1; }
        else if (std.instance_type == 2) { hdr.h.v = meta.kept + meta.lost; hdr.h.op = 0xc2; }
        else if (hdr.h.op == 3) { clone_preserving_field_list(CloneType.E2E, 7, 1); hdr.h.n = 0x88; }
        else if (hdr.h.op == 4) { clone(CloneType.E2E, 7); mark_to_drop(std); }
    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
