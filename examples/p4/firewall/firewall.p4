// A firewall that remembers: hosts inside may talk to all, and from outside only answers come in. A
// connection is one for 10 seconds after the last packet from inside.
#include <core.p4>
#include <v1model.p4>

const bit<48> IDLE_MICROSECONDS = 10000000;
const bit<32> CELLS = 4096;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }

header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> total;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}

// The first fields of UDP and of TCP.
header ports_t { bit<16> src; bit<16> dst; }

struct headers { ethernet_t ethernet; ipv4_t ipv4; ports_t ports; }

struct metadata { bit<1> outside; bit<32> one; bit<32> other; bit<48> at_one; bit<48> at_other; }

parser FirewallParser(packet_in p, out headers hdr, inout metadata meta,
                      inout standard_metadata_t std) {
    state start {
        p.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        p.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0, 6): ports;
            (5, 0, 17): ports;
            default: accept;
        }
    }
    state ports { p.extract(hdr.ports); transition accept; }
}

control FirewallVerify(inout headers hdr, inout metadata meta) { apply { } }

control FirewallIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    // When a packet from inside was last seen whose connection has this cell. Two connections may
    // share a cell of one register, but seldom both: a packet comes in if both cells are recent.
    register<bit<48>>(CELLS) seen_one;
    register<bit<48>>(CELLS) seen_other;
    counter(1, CounterType.packets) refused;

    action drop() { mark_to_drop(std); }
    action from_outside() { meta.outside = 1; }
    action from_inside() { meta.outside = 0; }
    table sides {
        key = { std.ingress_port: exact; }
        actions = { from_inside; from_outside; }
        default_action = from_outside();
        size = 64;
    }

    action forward(bit<9> port) { std.egress_spec = port; }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 64;
    }

    // The cells of a connection, whose packets from inside have this source and destination.
    action find(bit<32> inner, bit<32> outer, bit<16> inner_port, bit<16> outer_port) {
        hash(meta.one, HashAlgorithm.crc16, 32w0,
             { inner, outer, hdr.ipv4.protocol, inner_port, outer_port }, CELLS);
        hash(meta.other, HashAlgorithm.crc32, 32w0,
             { inner, outer, hdr.ipv4.protocol, inner_port, outer_port }, CELLS);
    }

    apply {
        if (!hdr.ports.isValid()) {
            drop();
            exit;
        }
        sides.apply();
        if (!routes.apply().hit) { exit; }
        if (meta.outside == 0) {
            find(hdr.ipv4.src, hdr.ipv4.dst, hdr.ports.src, hdr.ports.dst);
            // 0 is never.
            seen_one.write(meta.one, std.ingress_global_timestamp | 1);
            seen_other.write(meta.other, std.ingress_global_timestamp | 1);
        } else {
            find(hdr.ipv4.dst, hdr.ipv4.src, hdr.ports.dst, hdr.ports.src);
            seen_one.read(meta.at_one, meta.one);
            seen_other.read(meta.at_other, meta.other);
            bit<48> now = std.ingress_global_timestamp | 1;
            if (meta.at_one == 0 || now - meta.at_one > IDLE_MICROSECONDS ||
                meta.at_other == 0 || now - meta.at_other > IDLE_MICROSECONDS) {
                refused.count(0);
                drop();
            }
        }
    }
}

control FirewallEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply { }
}

control FirewallUpdate(inout headers hdr, inout metadata meta) { apply { } }

control FirewallDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(FirewallParser(), FirewallVerify(), FirewallIngress(), FirewallEgress(),
         FirewallUpdate(), FirewallDeparser()) main;
