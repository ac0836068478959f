// Each error that a parser makes, as ingress sees it.
#include <core.p4>
#include <v1model.p4>

error { Odd }
header h_t { bit<8> a; bit<8> e; }
header v_t { bit<8> len; varbit<32> v; }
header s_t { bit<8> x; }

struct headers {
    h_t h;
    v_t v;
    s_t[2] s;
}

struct metadata {
    bit<8> unused;
}

parser MyParser(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        p.extract(hdr.h);
        verify(hdr.h.a != 9, error.Odd);
        transition select(hdr.h.a) {
            1: variable;
            2: stack;
            3: advance_far;
            4: circle;
            default: accept;
        }
    }
    state variable { p.extract(hdr.v, (bit<32>)hdr.h.e); transition accept; }
    state stack {
        p.extract(hdr.s.next);
        transition select(hdr.s.last.x) { 0: accept; default: stack; }
    }
    state advance_far { p.advance((bit<32>)hdr.h.e); transition accept; }
    state circle {
        transition select(hdr.h.e) { 0: accept; default: circle; }
    }
}

control MyVerify(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (std.parser_error == error.NoError) { hdr.h.e = 0; }
        else if (std.parser_error == error.PacketTooShort) { hdr.h.e = 1; }
        else if (std.parser_error == error.StackOutOfBounds) { hdr.h.e = 2; }
        else if (std.parser_error == error.HeaderTooShort) { hdr.h.e = 3; }
        else if (std.parser_error == error.ParserTimeout) { hdr.h.e = 4; }
        else if (std.parser_error == error.ParserInvalidArgument) { hdr.h.e = 5; }
        else if (std.parser_error == error.Odd) { hdr.h.e = 6; }
    }
}

control MyEgress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {

    }
}

control MyUpdate(inout headers hdr, inout metadata meta) {
    apply {  }
}

control MyDeparser(packet_out p, in headers hdr) {
    apply { p.emit(hdr); }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyUpdate(), MyDeparser()) main;
