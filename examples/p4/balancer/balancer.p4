// A load balancer for TCP: a service has one address, and several servers behind it. A hash of the
// connection chooses the server, so all segments of a connection go to the same one.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }

header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> total;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}

header tcp_t {
    bit<16> src; bit<16> dst; bit<32> number; bit<32> acknowledged;
    bit<4> offset; bit<4> reserved; bit<8> flags; bit<16> window;
    bit<16> checksum; bit<16> urgent;
}

struct headers { ethernet_t ethernet; ipv4_t ipv4; tcp_t tcp; }

struct metadata { bit<16> bucket; bit<16> length; }

parser BalancerParser(packet_in p, out headers hdr, inout metadata meta,
                      inout standard_metadata_t std) {
    state start {
        p.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        p.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (5, 0, 6): tcp;
            default: accept;
        }
    }
    state tcp { p.extract(hdr.tcp); transition accept; }
}

control BalancerVerify(inout headers hdr, inout metadata meta) { apply { } }

control BalancerIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action drop() { mark_to_drop(std); }

    // The buckets of a service are `count` numbers from `first` on; a server may have several.
    action balance(bit<16> first, bit<32> count) {
        hash(meta.bucket, HashAlgorithm.crc16, first,
             { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, hdr.tcp.src, hdr.tcp.dst }, count);
    }
    table services {
        key = { hdr.ipv4.dst: exact; hdr.tcp.dst: exact; }
        actions = { balance; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    direct_counter(CounterType.packets) chosen;
    action serve(bit<9> port, bit<48> mac, bit<32> server) {
        chosen.count();
        std.egress_spec = port;
        hdr.ethernet.dst = mac;
        hdr.ipv4.dst = server;
    }
    table buckets {
        key = { meta.bucket: exact; }
        actions = { serve; drop; }
        default_action = drop();
        counters = chosen;
        size = 1024;
    }

    // What a server answers comes from the address of the service.
    action answer(bit<32> service) { hdr.ipv4.src = service; }
    table servers {
        key = { hdr.ipv4.src: exact; hdr.tcp.src: exact; }
        actions = { answer; NoAction; }
        default_action = NoAction();
        size = 1024;
    }
    action send(bit<9> port, bit<48> mac) { std.egress_spec = port; hdr.ethernet.dst = mac; }
    table clients {
        key = { hdr.ipv4.dst: lpm; }
        actions = { send; drop; }
        default_action = drop();
        size = 64;
    }

    apply {
        if (!hdr.tcp.isValid()) {
            drop();
        } else {
            meta.length = hdr.ipv4.total - 20;
            if (services.apply().hit) {
                buckets.apply();
            } else {
                servers.apply();
                clients.apply();
            }
        }
    }
}

control BalancerEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply { }
}

control BalancerUpdate(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.tcp.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total, hdr.ipv4.id,
              hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        // TCP's checksum has the addresses in it.
        update_checksum_with_payload(hdr.tcp.isValid(),
            { hdr.ipv4.src, hdr.ipv4.dst, 8w0, hdr.ipv4.protocol, meta.length,
              hdr.tcp.src, hdr.tcp.dst, hdr.tcp.number, hdr.tcp.acknowledged,
              hdr.tcp.offset, hdr.tcp.reserved, hdr.tcp.flags, hdr.tcp.window, hdr.tcp.urgent },
            hdr.tcp.checksum, HashAlgorithm.csum16);
    }
}

control BalancerDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(BalancerParser(), BalancerVerify(), BalancerIngress(), BalancerEgress(), BalancerUpdate(),
         BalancerDeparser()) main;
