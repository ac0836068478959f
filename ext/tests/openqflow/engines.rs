//! What engines do: writes, copies, classes by payload, large flows on another link.

use bofuss_datapath::{Engine, Time};
use bofuss_oflib::wire::Text;
use bofuss_packet::craft;

use crate::{Bench, MS, ipv4, udp};

#[test]
fn an_engine_changes_a_flow_and_gets_copies_of_it() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::new(engine);
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
        assert_eq!(switch.send(1, &udp(1, 1)), [2], "{name}");
        let tuple = Text(&switch.flows("")[0].tuple).to_string();
        switch.ask("qflow_notify", "wanted=1").expect("it may ask");
        let write =
            format!("{tuple},port=4,rate=64,type=guaranteed,of=flow,registers=1+2,copy_bytes=60");
        switch
            .ask("qflow_write", &write)
            .expect("the flow is there");
        for _ in 0..3 {
            assert_eq!(switch.send(1, &udp(1, 1)), [4], "{name}");
        }
        assert_eq!(
            switch.notified().len(),
            2,
            "{name}: 60 bytes are in two packets"
        );
        let flow = &switch.flows("")[0];
        assert_eq!(
            (flow.registers, flow.qos.rate),
            ([1, 2, 0, 0], 64),
            "{name}"
        );
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=3)");
        assert_eq!(
            switch.send(1, &udp(1, 1)),
            [4],
            "{name}: the engine's choice holds"
        );
        switch
            .ask("qflow_write", &format!("{tuple},give-back"))
            .expect("the flow is there");
        assert_eq!(switch.send(1, &udp(1, 1)), [3], "{name}");
        let other = tuple.replace("sport=0x1", "sport=0x99");
        assert!(switch.ask("qflow_write", &other).is_err(), "{name}");
    }
}

/// A datagram of a flow with this payload.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    ipv4(1, craft::udp(port, 7, payload))
}

#[test]
fn t17_a_payload_gives_its_flow_another_class_with_the_same_packet() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::new(engine);
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
        let p2p = "add,id=1,pattern=50325000,after_bytes=1000000,cap=500,of=flow";
        switch
            .ask("qflow_signature_mod", p2p)
            .expect("there is room");
        let voip = "add,id=2,pattern=80,offset=2,port=3,type=guaranteed,rate=64,priority=3,of=flow";
        switch
            .ask("qflow_signature_mod", voip)
            .expect("there is room");
        let mut payload = vec![0; 1000];
        payload[..4].copy_from_slice(b"P2P\0");
        let large = datagram(1, &payload);
        let before = 1_000_000usize.div_ceil(large.len());
        for n in 1..=before + 5 {
            assert_eq!(switch.send(1, &large), [2], "{name}");
            let cap = switch.flows("sport=1")[0].qos.cap;
            assert_eq!(cap, if n < before { 0 } else { 500 }, "{name}: packet {n}");
        }
        assert_eq!(
            switch.send(1, &datagram(2, b"xx\x80voice")),
            [3],
            "{name}: its own link"
        );
        assert_eq!(switch.send(1, &datagram(2, b"more")), [3], "{name}");
        let call = &switch.flows("sport=2")[0];
        assert_eq!((call.qos.rate, call.qos.priority), (64, 3), "{name}");
        assert_eq!(switch.send(1, &datagram(3, b"80 other")), [2], "{name}");
        assert_eq!(switch.metric("classified"), 2, "{name}");
        assert_eq!(switch.io.packet_ins, 0, "{name}");
        switch
            .ask("qflow_signature_mod", "delete,id=1")
            .expect("it is there");
        assert!(
            switch.ask("qflow_signature_mod", "delete,id=1").is_err(),
            "{name}"
        );
        assert_eq!(switch.parts("qflow_signatures", "").len(), 1, "{name}");
    }
}

#[test]
fn t19_large_flows_change_links_at_a_gap_until_both_carry_the_same() {
    let mut switch = Bench::new(Engine::default());
    switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
    switch
        .ask("qflow_links_mod", "gap_us=500,ports=2+3")
        .expect("they are ports");
    let frames: Vec<Vec<u8>> = (0..104).map(|n| datagram(n, &[0; 1000])).collect();
    let mut sent = [0usize; 104];
    let mut second = [[0usize; 4]; 4];
    // 4 elephants send each millisecond, 100 mice every fourth of a second; a pause between frames
    // is longer than the gap.
    for ms in 0..4000usize {
        for (flow, frame) in frames.iter().enumerate() {
            let is_due = if flow < 4 {
                true
            } else {
                ms % 250 == flow % 250
            };
            if is_due {
                let ports = switch.send(1, frame);
                second[ms / 1000][ports[0] as usize] += frame.len();
                sent[flow] += 1;
            }
        }
        switch.pass(MS);
    }
    let imbalance = |bytes: [usize; 4]| {
        let [_, _, one, other] = bytes;
        2.0 * one.max(other) as f64 / (one + other) as f64
    };
    assert!(imbalance(second[0]) > 1.6, "{second:?}");
    assert!(imbalance(second[3]) < 1.1, "{second:?}");
    assert!(switch.metric("moved") >= 2 && sent.iter().all(|count| *count >= 16));
    assert_eq!(switch.now.0 / Time::SEC, 4);
}
