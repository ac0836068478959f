// Priorities, and what a packet finds in the queue of its port.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> priority; bit<8> kind; bit<16> found; bit<16> left; bit<32> stayed; bit<32> since; }
struct headers { op_t op; }
struct metadata { }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.op);
        transition accept;
    }
}

control V(inout headers hdr, inout metadata meta) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        sm.priority = (bit<3>)hdr.op.priority;
        if (hdr.op.kind == 2) { sm.mcast_grp = 1; }
        if (hdr.op.kind == 3) { clone(CloneType.I2E, 5); }
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        hdr.op.found = (bit<16>)sm.enq_qdepth;
        hdr.op.left = (bit<16>)sm.deq_qdepth;
        hdr.op.stayed = sm.deq_timedelta;
        hdr.op.since = sm.enq_timestamp;
        if (hdr.op.kind == 1 && sm.instance_type == 0) {
            hdr.op.kind = 9;
            recirculate_preserving_field_list(0);
        }
    }
}

control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.op); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
