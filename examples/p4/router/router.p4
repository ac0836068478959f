// A router for IPv4: the longest prefix says the next hop, the next hop its port and MAC address.
#include <core.p4>
#include <v1model.p4>

const bit<16> IPV4 = 0x0800;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }

header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> total;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}

struct headers { ethernet_t ethernet; ipv4_t ipv4; }

// The address that is looked for on the link: of the next router, or of the destination itself.
struct metadata { bit<32> hop; }

parser RouterParser(packet_in p, out headers hdr, inout metadata meta,
                    inout standard_metadata_t std) {
    state start {
        p.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) { IPV4: ipv4; default: accept; }
    }
    state ipv4 {
        p.extract(hdr.ipv4);
        verify(hdr.ipv4.version == 4 && hdr.ipv4.ihl == 5, error.HeaderTooShort);
        transition accept;
    }
}

control RouterVerify(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total, hdr.ipv4.id,
              hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    // Packets that are not routed: 0 is no IPv4, 1 a wrong header, 2 a TTL that is used up.
    counter(3, CounterType.packets) refused;
    direct_counter(CounterType.packets_and_bytes) routed;

    action drop() { mark_to_drop(std); }
    action via(bit<32> router) { meta.hop = router; routed.count(); }
    action on_link() { meta.hop = hdr.ipv4.dst; routed.count(); }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { via; on_link; drop; }
        default_action = drop();
        counters = routed;
        size = 1024;
    }

    action send(bit<9> port, bit<48> mac) {
        std.egress_spec = port;
        hdr.ethernet.dst = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table neighbours {
        key = { meta.hop: exact; }
        actions = { send; drop; }
        default_action = drop();
        size = 256;
    }

    apply {
        if (!hdr.ipv4.isValid()) {
            refused.count(0);
            drop();
        } else if (std.parser_error != error.NoError || std.checksum_error == 1) {
            refused.count(1);
            drop();
        } else if (hdr.ipv4.ttl <= 1) {
            refused.count(2);
            drop();
        } else {
            switch (routes.apply().action_run) {
                via: { neighbours.apply(); }
                on_link: { neighbours.apply(); }
            }
        }
    }
}

control RouterEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action from(bit<48> mac) { hdr.ethernet.src = mac; }
    table ports {
        key = { std.egress_port: exact; }
        actions = { from; NoAction; }
        default_action = NoAction();
        size = 64;
    }
    apply { ports.apply(); }
}

control RouterUpdate(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total, hdr.ipv4.id,
              hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterUpdate(),
         RouterDeparser()) main;
