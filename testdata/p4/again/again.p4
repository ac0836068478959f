// Resubmission and recirculation, with the fields and metadata that they keep, and their limit.
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
    state start {
        p.extract(hdr.h);
        // A clone of ingress is parsed again, with the port of the packet.
        transition select(hdr.h.op, std.ingress_port) { (7, 3): third; default: accept; }
    }
    state third { hdr.h.n = 0x33; transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (hdr.h.op == 1) {
            if (std.instance_type == 6) {
                hdr.h.v = meta.kept + meta.lost;
            } else {
                meta.kept = 0x1111;
                meta.lost = 0x2222;
                hdr.h.n = 0x77;
                resubmit_preserving_field_list(1);
                mark_to_drop(std);
            }
        }
        if (hdr.h.op == 2 && std.instance_type == 4) { hdr.h.v = meta.kept + meta.lost; }
        if (hdr.h.op == 3) { resubmit_preserving_field_list(1); }
        if (hdr.h.op == 5 && std.instance_type == 4) { hdr.h.v = (bit<16>)std.packet_length; }
        // Standard metadata is 0 in a packet that begins again, but for its type and length.
        if (hdr.h.op == 6) {
            if (std.instance_type == 0) {
                resubmit_preserving_field_list(1);
            } else {
                hdr.h.n = (bit<8>)std.ingress_port;
                hdr.h.v = (bit<16>)std.packet_length;
            }
        }
        if (hdr.h.op == 7) {
            std.ingress_port = 5;
            clone_preserving_field_list(CloneType.I2E, 7, 1);
            mark_to_drop(std);
        }
        if (hdr.h.op == 8) { std.deq_timedelta = 0x11; std.deq_qdepth = 0x22; std.enq_qdepth = 0x44; }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        if (hdr.h.op == 2 && hdr.h.n != 0x77) {
            meta.kept = 0x1111;
            meta.lost = 0x2222;
            hdr.h.n = 0x77;
            recirculate_preserving_field_list(1);
        }
        if (hdr.h.op == 4) { recirculate_preserving_field_list(1); }
        if (hdr.h.op == 5 && hdr.h.n != 0x77) {
            hdr.h.n = 0x77;
            truncate(5);
            recirculate_preserving_field_list(1);
        }
        if (hdr.h.op == 8) {
            hdr.h.v = (bit<16>)(std.deq_timedelta + (bit<32>)(std.deq_qdepth + std.enq_qdepth));
        }
    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
