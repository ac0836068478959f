// A switch that learns: it floods what it does not know, and tells its controller by a digest at
// which port it has seen a new address.
#include <core.p4>
#include <v1model.p4>

// The multicast group of all ports.
const bit<16> ALL_PORTS = 1;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }

struct headers { ethernet_t ethernet; }

struct metadata { }

struct learned_t { bit<48> mac; bit<9> port; }

parser LearnParser(packet_in p, out headers hdr, inout metadata meta,
                   inout standard_metadata_t std) {
    state start { p.extract(hdr.ethernet); transition accept; }
}

control LearnVerify(inout headers hdr, inout metadata meta) { apply { } }

control LearnIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action learn() { digest<learned_t>(1, { hdr.ethernet.src, std.ingress_port }); }
    table sources {
        key = { hdr.ethernet.src: exact; std.ingress_port: exact; }
        actions = { learn; NoAction; }
        default_action = learn();
        size = 4096;
    }

    action flood() { std.mcast_grp = ALL_PORTS; }
    action forward(bit<9> port) { std.egress_spec = port; }
    table destinations {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; flood; }
        default_action = flood();
        size = 4096;
    }

    apply {
        if (hdr.ethernet.isValid()) {
            // No host has a group's address.
            if (hdr.ethernet.src[40:40] == 0) { sources.apply(); }
            destinations.apply();
        } else {
            mark_to_drop(std);
        }
    }
}

control LearnEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        // A frame never goes back.
        if (std.egress_port == std.ingress_port) { mark_to_drop(std); }
    }
}

control LearnUpdate(inout headers hdr, inout metadata meta) { apply { } }

control LearnDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(LearnParser(), LearnVerify(), LearnIngress(), LearnEgress(), LearnUpdate(),
         LearnDeparser()) main;
