//! Packets made of templates.

use bofuss_agent::ConnId;
use bofuss_datapath::Engine;
use bofuss_oflib::Message;
use bofuss_oflib::error::BadRequest;

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
    // 30
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
        // The second goes a known way.
        for _ in 0..3 {
            let mut ports = bench.send(1, &frame);
            ports.sort_unstable();
            assert_eq!(ports, [2, 3], "{name}");
            let made: Vec<_> = bench.io.out.iter().filter(|(port, _)| *port == 3).collect();
            assert_eq!(made[0].1, template, "{name}");
            assert!(bench.io.out.contains(&(2, frame.clone())), "{name}");
            assert_eq!(bench.send(2, &frame), [], "{name}: an unknown template");
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
