// Packets that carry where they have been: the first switch of a path puts a header between
// Ethernet and IPv4, each switch adds what it knows, and the last one takes all of it off, and sends
// a copy that still has it to a collector.
#include <core.p4>
#include <v1model.p4>

const bit<16> IPV4 = 0x0800;
// The EtherType for local experiments of IEEE 802.
const bit<16> TELEMETRY = 0x88B5;
const bit<8> MOST_HOPS = 8;
// Of `instance_type`: a clone of a packet as it arrived.
const bit<32> CLONE = 1;
const bit<32> TO_COLLECTOR = 1;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }

header telemetry_t { bit<8> hops; bit<16> kind; }

header hop_t { bit<8> node; bit<12> came; bit<12> left; }

header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> total;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}

struct headers { ethernet_t ethernet; telemetry_t telemetry; hop_t[8] hop; ipv4_t ipv4; }

struct metadata {
    bit<8> left;
    // Where the packet came and leaves: a clone is told it, too.
    @field_list(1) bit<9> came;
    @field_list(1) bit<9> port;
}

parser TelemetryParser(packet_in p, out headers hdr, inout metadata meta,
                       inout standard_metadata_t std) {
    state start {
        p.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            IPV4: ipv4;
            TELEMETRY: telemetry;
            default: accept;
        }
    }
    state telemetry {
        p.extract(hdr.telemetry);
        meta.left = hdr.telemetry.hops;
        transition hop;
    }
    state hop {
        transition select(meta.left) { 0: after; default: one_hop; }
    }
    state one_hop {
        p.extract(hdr.hop.next);
        meta.left = meta.left - 1;
        transition hop;
    }
    state after {
        transition select(hdr.telemetry.kind) { IPV4: ipv4; default: accept; }
    }
    state ipv4 { p.extract(hdr.ipv4); transition accept; }
}

control TelemetryVerify(inout headers hdr, inout metadata meta) { apply { } }

control TelemetryIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action drop() { mark_to_drop(std); }
    action forward(bit<9> port) {
        std.egress_spec = port;
        meta.came = std.ingress_port;
        meta.port = port;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 256;
    }

    // The first switch: packets that are watched get the header.
    action watch() {
        hdr.telemetry.setValid();
        hdr.telemetry.hops = 0;
        hdr.telemetry.kind = hdr.ethernet.kind;
        hdr.ethernet.kind = TELEMETRY;
    }
    table watched {
        key = { std.ingress_port: ternary; hdr.ipv4.src: ternary; hdr.ipv4.dst: ternary; }
        actions = { watch; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    // The last switch: the collector gets a copy for packets that leave at these ports.
    action collect() { clone_preserving_field_list(CloneType.I2E, TO_COLLECTOR, 1); }
    table edges {
        key = { meta.port: exact; }
        actions = { collect; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    apply {
        if (!hdr.ipv4.isValid() || std.parser_error != error.NoError) {
            drop();
        } else {
            if (!hdr.telemetry.isValid()) { watched.apply(); }
            if (routes.apply().hit && hdr.telemetry.isValid()) { edges.apply(); }
        }
    }
}

control TelemetryEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action add_hop(bit<8> node) {
        hdr.hop.push_front(1);
        hdr.hop[0].setValid();
        hdr.hop[0].node = node;
        hdr.hop[0].came = (bit<12>)meta.came;
        hdr.hop[0].left = (bit<12>)meta.port;
        hdr.telemetry.hops = hdr.telemetry.hops + 1;
    }
    // Who this switch is.
    table node {
        actions = { add_hop; NoAction; }
        default_action = NoAction();
    }
    action take_off() {
        hdr.ethernet.kind = hdr.telemetry.kind;
        hdr.telemetry.setInvalid();
        hdr.hop.pop_front(8);
    }
    table edges {
        key = { std.egress_port: exact; }
        actions = { take_off; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    apply {
        if (hdr.telemetry.isValid()) {
            if (hdr.telemetry.hops < MOST_HOPS) { node.apply(); }
            if (std.instance_type != CLONE) { edges.apply(); }
        }
    }
}

control TelemetryUpdate(inout headers hdr, inout metadata meta) { apply { } }

control TelemetryDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(TelemetryParser(), TelemetryVerify(), TelemetryIngress(), TelemetryEgress(),
         TelemetryUpdate(), TelemetryDeparser()) main;
