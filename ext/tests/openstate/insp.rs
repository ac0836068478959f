//! Packets made from templates. Numbers in comments are cases of the suite of
//! [`crate::conformance`].

use bofuss_agent::ConnId;
use bofuss_datapath::Engine;
use bofuss_oflib::error::{BadAction, BadInstruction, BadRequest};
use bofuss_oflib::text::parse_instructions;
use bofuss_oflib::{ErrorCode, Mac, Match, Message};
use bofuss_packet::craft;

use crate::bench::{Bench, EXPERIMENTER, udp};

/// The payload that adds a template.
fn add(id: u32, packet: &[u8]) -> Vec<u8> {
    [&[0, 0], &id.to_be_bytes()[..], &[0; 4], packet].concat()
}

/// The payload that deletes a template.
fn delete(id: u32) -> Vec<u8> {
    [&[1, 0], &id.to_be_bytes()[..], &[0; 4]].concat()
}

#[test]
fn templates_are_refused_as_by_the_reference() {
    let mut bench = Bench::new(Engine::default());
    for (payload, code) in [
        // 31: an unknown command. 32: one byte. 33, 34: without a template's number.
        (&[50, 0, 0, 0, 0, 7, 0, 0, 0, 0][..], 12),
        (&[0], 7),
        (&[0, 0], 7),
        (&[1, 0], 7),
        (&[1, 0, 0, 0, 0, 7, 0, 0, 0], 7),
        (&[1, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0], 7),
        // Nothing is there to delete.
        (&delete(7), 11),
    ] {
        bench.experimenter(1, payload);
        assert_eq!(bench.error(), Some(code), "{payload:?}");
    }
    bench.experimenter(1, &add(7, b"one"));
    bench.experimenter(1, &add(7, b"another"));
    bench.experimenter(1, &delete(7));
    assert_eq!(bench.error(), None);
    bench.experimenter(1, &delete(7));
    assert_eq!(bench.error(), Some(11));
}

#[test]
fn an_unknown_instruction_is_refused_as_by_the_reference() {
    // 30: of an unknown type.
    let mut bench = Bench::new(Engine::default());
    let mut body = vec![0; 22];
    body.extend([0x80, 0]);
    body.extend([0xff; 12]);
    body.extend([0; 4]);
    body.extend([0, 1, 0, 4, 0, 0, 0, 0]);
    body.extend([0xff, 0xff, 0, 24]);
    body.extend(EXPERIMENTER);
    body.extend([0, 0, 0, 56]);
    body.extend([0; 12]);
    bench.say(14, &body);
    assert_eq!(bench.error(), Some(10));
}

#[test]
fn no_more_templates_are_kept_than_there_is_room_for() {
    let mut bench = Bench::new(Engine::default());
    for id in 0..4096 {
        bench.experimenter(1, &add(id, b"x"));
    }
    assert_eq!(bench.error(), None);
    bench.experimenter(1, &add(4096, b"x"));
    assert_eq!(bench.error(), Some(11));
    bench.experimenter(1, &add(4095, b"y"));
    assert_eq!(bench.error(), None, "in place of another");
    let large = vec![0; 60_000];
    for id in 0..69 {
        bench.experimenter(1, &add(id, &large));
    }
    assert_eq!(bench.error(), None);
    bench.experimenter(1, &add(69, &large));
    assert_eq!(bench.error(), Some(11), "bytes");
}

#[test]
fn a_hit_makes_a_packet_and_the_packet_that_hit_goes_on() {
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        let template = udp(7, 8, 7);
        bench.experimenter(1, &add(7, &template));
        bench.flow(
            "priority=5,in_port=1,actions=output:2,packet_gen(template=7,actions=(output:3))",
        );
        bench.flow("priority=5,in_port=2,actions=packet_gen(template=9,actions=(output:3))");
        bench.flow(
            "priority=5,in_port=3,actions=packet_gen(template=7,actions=(\
             output:table,output:4))",
        );
        bench.flow("priority=9,in_port=0,udp,udp_dst=7,metadata=0,actions=output:1");
        let frame = udp(1, 2, 80);
        // The second and third take remembered paths.
        for _ in 0..3 {
            let mut ports = bench.send(1, &frame);
            ports.sort_unstable();
            assert_eq!(ports, [2, 3], "{name}");
            let made: Vec<_> = bench.io.out.iter().filter(|(port, _)| *port == 3).collect();
            assert_eq!(made[0].1, template, "{name}");
            assert!(bench.io.out.contains(&(2, frame.clone())), "{name}");
            assert_eq!(
                bench.send(2, &frame),
                [0u32; 0],
                "{name}: an unknown template"
            );
            let mut ports = bench.send(3, &frame);
            ports.sort_unstable();
            assert_eq!(ports, [1, 4], "{name}");
        }
        bench.experimenter(1, &delete(7));
        assert_eq!(bench.send(1, &frame), [2], "{name}");
    }
}

#[test]
fn a_slave_adds_no_templates() {
    let mut bench = Bench::new(Engine::default());
    bench.say(24, &[0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    bench.io.messages.clear();
    bench.experimenter(1, &add(7, b"x"));
    let Some((ConnId(1), Message::Error(error))) = bench.io.messages.pop() else {
        panic!("it is refused");
    };
    assert_eq!(error.error, BadRequest::IS_SLAVE);
}

/// An ARP packet for IPv4, from one host to another.
fn arp(op: u16, sender: (u8, [u8; 4]), target: (u8, [u8; 4])) -> Vec<u8> {
    let [from, to] = [sender.0, target.0].map(|host| Mac([2, 0, 0, 0, 0, host]));
    let packet = craft::arp(op, from, sender.1.into(), to, target.1.into());
    craft::ethernet(to, from, packet)
}

#[test]
fn a_packet_from_a_template_gets_fields_of_the_packet_that_hit() {
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        let unfilled = arp(2, (9, [0; 4]), (0, [0; 4]));
        bench.experimenter(1, &add(7, &unfilled));
        bench.flow(
            "priority=5,arp,arp_op=1,actions=packet_gen_copy(template=7,copies=(\
             arp_sha->eth_dst,arp_sha->arp_tha,arp_spa->arp_tpa,arp_tpa->arp_spa),\
             actions=(output:1)),set_field:02:00:00:00:00:aa->arp_sha,output:2",
        );
        // Later ones take remembered paths.
        for host in [1, 2, 1, 3] {
            let asker = (host, [10, 0, 0, host]);
            let wanted = [10, 0, 1, 100 - host];
            let mut ports = bench.send(3, &arp(1, asker, (0, wanted)));
            ports.sort_unstable();
            assert_eq!(ports, [1, 2], "{name}");
            let made = bench.io.out.iter().find(|(port, _)| *port == 1);
            let reply = arp(2, (9, wanted), asker);
            assert_eq!(made.map(|(_, bytes)| bytes), Some(&reply), "{name} {host}");
        }
    }
}

#[test]
fn parts_are_copied_and_fields_that_are_absent_are_not() {
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        bench.experimenter(1, &add(7, &udp(7, 8, 7)));
        // No packet here has TCP or a VLAN tag.
        bench.flow(
            "actions=packet_gen_copy(template=7,copies=(tcp_dst->udp_src,udp_dst->tcp_dst,\
             udp_dst[0..2]->vlan_pcp,ipv4_src[0..7]->ipv4_dst[16..23],\
             udp_dst[0..3]->udp_dst[12..15]),actions=(output:4))",
        );
        // Checksums are as if the template had had these values.
        let ip = craft::ipv4(
            [10, 0, 0, 7].into(),
            [10, 5, 0, 8].into(),
            64,
            craft::udp(1000, 0x3007, b"data"),
        );
        let wanted = craft::ethernet(Mac([2, 0, 0, 0, 0, 8]), Mac([2, 0, 0, 0, 0, 7]), ip);
        for _ in 0..3 {
            assert_eq!(bench.send(1, &udp(5, 2, 83)), [4], "{name}");
            assert_eq!(bench.io.out[0].1, wanted, "{name}");
        }
    }
}

/// Returns what follows the header of a flow-mod with the instruction `packet_gen_copy`, whose
/// bytes after its type are `body`.
fn flow_mod(body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 22];
    bytes.extend([0x80, 0]);
    bytes.extend([0xff; 12]);
    bytes.extend([0; 4]);
    bytes.extend([0, 1, 0, 4, 0, 0, 0, 0]);
    bytes.extend([0xff, 0xff, 0, 12 + body.len() as u8]);
    bytes.extend([0, 0x62, 0x6f, 0x66, 0, 0, 0, 18]);
    bytes.extend(body);
    bytes
}

/// The error for a flow-mod with one copy, if any. `copy`: OXM headers of source and destination;
/// number of bits and both offsets.
fn answer(copy: (u32, u32, [u16; 3])) -> Option<ErrorCode> {
    let mut body = vec![0, 0, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0];
    body.extend(copy.0.to_be_bytes());
    body.extend(copy.1.to_be_bytes());
    body.extend(copy.2.map(u16::to_be_bytes).as_flattened());
    body.extend([0, 0]);
    refusal(&body)
}

/// The error for a flow-mod with this body of the instruction, if any.
fn refusal(body: &[u8]) -> Option<ErrorCode> {
    let mut bench = Bench::new(Engine::default());
    bench.say(14, &flow_mod(body));
    bench
        .io
        .messages
        .iter()
        .find_map(|(_, message)| match message {
            Message::Error(error) => Some(error.error),
            _ => None,
        })
}

#[test]
fn copies_that_cannot_be_are_refused_with_the_errors_of_copy_field() {
    let (eth_dst, eth_src, ipv4_dst) = (0x8000_0606, 0x8000_0806, 0x8000_1804);
    assert_eq!(answer((eth_src, eth_dst, [48, 0, 0])), None);
    assert_eq!(answer((eth_src, ipv4_dst, [32, 16, 0])), None);
    for (copy, error) in [
        // An unknown class, an unknown field, a mask bit.
        ((0x1234_0806, eth_dst, [48, 0, 0]), BadAction::BAD_SET_TYPE),
        ((eth_src, 0x8000_fe06, [48, 0, 0]), BadAction::BAD_SET_TYPE),
        ((0x8000_090c, eth_dst, [48, 0, 0]), BadAction::BAD_SET_TYPE),
        // The length of another field.
        ((eth_src - 1, eth_dst, [8, 0, 0]), BadAction::BAD_SET_LEN),
        ((eth_src, eth_dst + 1, [8, 0, 0]), BadAction::BAD_SET_LEN),
        // The port by which a packet came in.
        (
            (eth_src, 0x8000_0004, [8, 0, 0]),
            BadAction::BAD_SET_ARGUMENT,
        ),
        // No bits, and bits beyond the source or the destination.
        ((eth_src, eth_dst, [0, 0, 0]), BadAction::BAD_SET_LEN),
        ((eth_src, eth_dst, [48, 1, 0]), BadAction::BAD_SET_LEN),
        ((eth_src, eth_dst, [48, 0, 1]), BadAction::BAD_SET_LEN),
        ((eth_src, ipv4_dst, [33, 0, 0]), BadAction::BAD_SET_LEN),
        ((eth_src, eth_dst, [u16::MAX; 3]), BadAction::BAD_SET_LEN),
    ] {
        assert_eq!(answer(copy), Some(error), "{copy:x?}");
    }
}

#[test]
fn an_instruction_with_copies_of_a_wrong_length_is_refused_as_that_without() {
    // Shorter than the fixed part, and than its number of copies says.
    for body in [&[0, 0, 0, 7][..], &[0, 0, 0, 7, 255, 255, 0, 0, 0, 0, 0, 0]] {
        let mut bench = Bench::new(Engine::default());
        bench.say(14, &flow_mod(body));
        assert_eq!(bench.error(), Some(7), "{body:?}");
    }
    let mut unknown = flow_mod(&[0, 0, 0, 7]);
    let at_type = unknown.len() - 5;
    unknown[at_type] = 99;
    let mut bench = Bench::new(Engine::default());
    bench.say(14, &unknown);
    let Some((_, Message::Error(error))) = bench.io.messages.pop() else {
        panic!("it is refused");
    };
    assert_eq!(error.error, BadInstruction::BAD_EXP_TYPE);
}

#[test]
fn texts_of_copies_that_cannot_be_say_why() {
    let catalogue = bofuss_ext::catalogue();
    for (copies, why) in [
        ("eth_src", "'eth_src' is not FIELD->FIELD"),
        ("none->eth_src", "there is no field 'none'"),
        ("eth_src->in_port", "48 bits are not 32"),
        ("eth_type->in_port[0..15]", "'in_port' may not be set"),
        ("eth_src->ipv4_dst", "48 bits are not 32"),
        ("eth_src[40..48]->eth_dst[0..8]", "'eth_src' has bits 0..47"),
        ("eth_src[8..7]->eth_dst", "'eth_src' has bits 0..47"),
        ("eth_src[8->eth_dst", "'eth_src' has bits 0..47"),
    ] {
        let text = format!("packet_gen_copy(template=7,copies=({copies}),actions=())");
        let error = parse_instructions(&text, &Match::ANY, &catalogue);
        let error = error.expect_err(&text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}
