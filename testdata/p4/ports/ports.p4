// A router between hosts of one network, in which the port of a datagram asks for what else there is
// at ports: a clone, another pass, a digest, a shorter frame.
#include <core.p4>
#include <v1model.p4>

const bit<32> AGAIN = 4;
const bit<32> ONCE_MORE = 6;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> kind; }

header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> total;
    bit<16> id; bit<3> flags; bit<13> fragment;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}

header udp_t { bit<16> src; bit<16> dst; bit<16> total; bit<16> checksum; }

struct headers {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
}

struct metadata { }

struct seen_t { bit<32> src; bit<9> port; }

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        p.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        p.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) { 17: udp; default: accept; }
    }
    state udp { p.extract(hdr.udp); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    counter(8, CounterType.packets_and_bytes) arrived;
    register<bit<32>>(8) last;
    action drop() { mark_to_drop(std); }
    action forward(bit<9> port) { std.egress_spec = port; hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 16;
    }
    apply {
        arrived.count((bit<32>)std.ingress_port);
        if (!hdr.ipv4.isValid()) {
            std.mcast_grp = 1;
        } else {
            last.write((bit<32>)std.ingress_port, hdr.ipv4.src);
            routes.apply();
        }
        if (hdr.udp.isValid()) {
            if (hdr.udp.dst == 9001) { clone(CloneType.I2E, 5); }
            if (hdr.udp.dst == 9002 && std.instance_type == AGAIN) {
                hdr.udp.dst = 7002;
                hdr.udp.checksum = 0;
            }
            if (hdr.udp.dst == 9003) {
                if (std.instance_type == ONCE_MORE) {
                    hdr.udp.dst = 7003;
                    hdr.udp.checksum = 0;
                } else {
                    resubmit_preserving_field_list(0);
                }
            }
            if (hdr.udp.dst == 9004) { digest<seen_t>(1, { hdr.ipv4.src, std.ingress_port }); }
            if (hdr.udp.dst == 9005) { truncate(42); }
            if (hdr.udp.dst == 9006) { std.egress_spec = 77; log_msg("to port {}", { std.egress_spec }); }
        }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 5 && std.egress_port == std.ingress_port) { mark_to_drop(std); }
        if (hdr.udp.isValid() && hdr.udp.dst == 9002 && std.instance_type == 0) {
            recirculate_preserving_field_list(0);
        }
    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total, hdr.ipv4.id,
              hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
