// What a controller of P4Runtime can write, read, send and receive.
#include <core.p4>
#include <v1model.p4>

@controller_header("packet_in")
header in_t { bit<9> ingress_port; bit<7> reason; }
@controller_header("packet_out")
header out_t { bit<9> egress_port; @padding bit<7> pad; }
header h_t { bit<8> op; bit<8> a; bit<16> b; bit<32> c; }
struct learned_t { bit<8> a; bit<16> b; }

struct headers { in_t pin; out_t pout; h_t h; }
struct metadata { bit<2> color; }

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    value_set<bit<8>>(4) special;
    state start { transition select(std.ingress_port) { 510: from_cpu; default: frame; } }
    state from_cpu { p.extract(hdr.pout); transition frame; }
    state frame { p.extract(hdr.h); transition select(hdr.h.a) { special: refused; default: accept; } }
    state refused { verify(false, error.NoMatch); transition accept; }
}

control MyVerify(inout headers hdr, inout metadata meta) { apply {  } }

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action_profile(8) profile;
    @max_group_size(4)
    action_selector(HashAlgorithm.identity, 32w16, 32w14) choice;
    counter(4, CounterType.packets_and_bytes) seen;
    meter(4, MeterType.packets) paced;
    register<bit<16>>(4) kept;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.bytes) pace;
    action send(bit<9> port) { std.egress_spec = port; }
    action drop() { mark_to_drop(std); }
    action copy_all(bit<16> group) { std.mcast_grp = group; }
    action to_cpu(bit<7> reason) {
        hdr.pin.setValid();
        hdr.pin.ingress_port = std.ingress_port;
        hdr.pin.reason = reason;
        std.egress_spec = 510;
    }
    action clone_it(bit<32> session) { clone(CloneType.I2E, session); std.egress_spec = 1; }
    action set(bit<16> b) { hdr.h.b = b; std.egress_spec = 1; }
    table exactly { key = { hdr.h.a: exact; } actions = { send; drop; copy_all; to_cpu; clone_it; @defaultonly NoAction; }
        counters = hits; default_action = drop(); size = 64; }
    action send_paced(bit<9> port) { pace.read(meta.color); std.egress_spec = port; }
    table longest { key = { hdr.h.c: lpm; } actions = { send_paced; drop; } meters = pace; default_action = drop(); }
    table masked { key = { hdr.h.b: ternary; hdr.h.c: lpm; } actions = { send; drop; } default_action = drop(); }
    table between { key = { hdr.h.b: range; hdr.h.a: optional; } actions = { send; drop; } default_action = drop(); }
    table profiled { key = { hdr.h.a: exact; } actions = { set; drop; } implementation = profile; }
    table selected { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { set; } implementation = choice; }
    table aging { key = { hdr.h.a: exact; } actions = { send; drop; } support_timeout = true; default_action = drop(); }
    table fixed { key = { hdr.h.a: exact; } actions = { send; drop; } const default_action = drop();
        const entries = { 1: send(1); 2: send(2); } }
    apply {
        if (hdr.pout.isValid()) {
            std.egress_spec = hdr.pout.egress_port;
            hdr.pout.setInvalid();
        } else if (std.parser_error == error.NoMatch) { mark_to_drop(std); }
        else if (hdr.h.op == 1) { exactly.apply(); }
        else if (hdr.h.op == 2) { longest.apply(); }
        else if (hdr.h.op == 3) { masked.apply(); }
        else if (hdr.h.op == 4) { between.apply(); }
        else if (hdr.h.op == 5) { profiled.apply(); }
        else if (hdr.h.op == 6) { selected.apply(); }
        else if (hdr.h.op == 7) { aging.apply(); }
        else if (hdr.h.op == 8) { fixed.apply(); }
        else if (hdr.h.op == 9) { digest<learned_t>(1, { hdr.h.a, hdr.h.b }); std.egress_spec = 1; }
        else if (hdr.h.op == 10) {
            seen.count((bit<32>)hdr.h.a);
            paced.execute_meter((bit<32>)hdr.h.a, meta.color);
            kept.read(hdr.h.b, (bit<32>)hdr.h.a);
            std.egress_spec = 1;
        }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {  } }
control MyUpdate(inout headers hdr, inout metadata meta) { apply {  } }
control MyDeparser(packet_out p, in headers hdr) { apply { p.emit(hdr); } }

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
