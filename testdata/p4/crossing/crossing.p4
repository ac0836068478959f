// What arrives at port 1 leaves at port 2, and the other way round; entries say so for other ports.
#include <core.p4>
#include <v1model.p4>

struct headers {}
struct metadata {}

parser MyParser(packet_in packet, out headers hdr, inout metadata meta,
             inout standard_metadata_t standard) {
    state start {
        transition accept;
    }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {}
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    action send(bit<9> port) {
        standard.egress_spec = port;
    }
    action drop() {
        mark_to_drop(standard);
    }
    table crossing {
        key = {
            standard.ingress_port: exact;
        }
        actions = {
            send;
            NoAction;
        }
        default_action = NoAction();
        const entries = {
            1: send(2);
            2: send(1);
        }
    }
    table others {
        key = {
            standard.ingress_port: exact;
        }
        actions = {
            send;
            drop;
        }
        default_action = drop();
    }
    apply {
        if (!crossing.apply().hit) {
            others.apply();
        }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard) {
    apply {}
}

control MyCompute(inout headers hdr, inout metadata meta) {
    apply {}
}

control MyDeparser(packet_out packet, in headers hdr) {
    apply {}
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
