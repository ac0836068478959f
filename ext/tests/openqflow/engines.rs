//! Engines write into flows, get copies of packets, classify by payload, move large flows to
//! another link.

use bofuss_datapath::{Engine, Time};
use bofuss_oflib::PortNo;
use bofuss_oflib::wire::Text;
use bofuss_packet::craft;

use crate::{Bench, MS, ipv4, shares, udp};

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
            "{name}: two packets have 60 bytes"
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
    // 4 elephants send each millisecond, 100 mice each quarter of a second: the pauses between
    // frames are longer than the gap.
    for ms in 0..4000usize {
        for (flow, frame) in frames.iter().enumerate() {
            let is_due = flow < 4 || ms % 250 == flow;
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

#[test]
fn t19_a_link_that_is_down_gets_no_flows_and_one_that_is_lost_gives_them_back() {
    let mut switch = Bench::new(Engine::default());
    switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2,failover=3)");
    switch
        .ask("qflow_links_mod", "gap_us=500,ports=2+3+4")
        .expect("they are ports");
    switch.port(2, false);
    let frames: Vec<Vec<u8>> = (0..4).map(|n| datagram(n, &[0; 1000])).collect();
    let mut left = [0; 5];
    for _ in 0..4000 {
        for frame in &frames {
            let ports = switch.send(1, frame);
            assert_eq!(ports.len(), 1, "{left:?}");
            left[ports[0] as usize] += 1;
        }
        switch.pass(MS);
    }
    assert!(switch.metric("moved") > 0 && left[4] > 0, "{left:?}");
    assert_eq!(left[2], 0, "{left:?}");
    switch.port(4, false);
    for frame in &frames {
        assert_eq!(switch.send(1, frame), [3]);
    }
}

/// Returns how many copies of packets came.
fn copies(switch: &mut Bench) -> usize {
    let notified = switch.notified();
    let copies = notified.iter().filter(|one| one.row.name == "qflow_copy");
    copies.count()
}

#[test]
fn a_flow_that_waits_for_its_new_path_is_copied_as_before() {
    let mut switch = Bench::new(Engine::default());
    switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
    assert_eq!(switch.send(1, &udp(1, 1)), [2]);
    let tuple = Text(&switch.flows("")[0].tuple).to_string();
    switch.ask("qflow_notify", "wanted=1").expect("it may ask");
    for write in ["copy_bytes=1000", "port=4,gap_us=500", "registers=7"] {
        let write = format!("{tuple},{write}");
        switch.ask("qflow_write", &write).expect("it is there");
    }
    assert_eq!(switch.send(1, &udp(1, 1)), [2]);
    switch.pass(MS);
    assert_eq!(switch.send(1, &udp(1, 1)), [4]);
    assert_eq!(copies(&mut switch), 2);
}

#[test]
fn a_packet_that_waits_for_a_rule_is_copied_once() {
    let mut switch = Bench::new(Engine::default());
    assert_eq!(switch.send(1, &udp(1, 1)), [0; 0]);
    let tuple = Text(&switch.flows("")[0].tuple).to_string();
    switch.ask("qflow_notify", "wanted=1").expect("it may ask");
    let bytes = 3 * udp(1, 1).len();
    let write = format!("{tuple},copy_bytes={bytes}");
    switch.ask("qflow_write", &write).expect("it is there");
    (0..2).for_each(|_| assert_eq!(switch.send(1, &udp(1, 1)), [0; 0]));
    switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
    switch.pass(2 * MS);
    assert_eq!((switch.left(), copies(&mut switch)), (vec![2, 2], 2));
    assert_eq!(switch.send(1, &udp(1, 1)), [2]);
    assert_eq!(copies(&mut switch), 1);
}

#[test]
fn t17_a_flow_keeps_its_order_while_its_class_changes_within_10_ms() {
    const CAP_KBPS: u64 = 500;
    const AFTER_BYTES: u64 = 1_000_000;
    for discipline in ["hfair", "ceta2"] {
        let mut switch = shares::switch(discipline);
        let signature =
            format!("add,id=1,pattern=50325000,after_bytes={AFTER_BYTES},cap={CAP_KBPS},of=flow");
        switch
            .ask("qflow_signature_mod", &signature)
            .expect("there is room");
        let mut payload = vec![0; 958];
        payload[..4].copy_from_slice(b"P2P\0");
        let mut sent = 0_u32;
        let mut last = None;
        let mut reached = None;
        let mut classified = None;
        let mut later_bytes = 0;
        let begin = switch.now;
        // 20 Mb/s for a port of 10 Mb/s: packets wait at the port when the class changes.
        while switch.now.since(begin) < 6 * Time::SEC {
            sent += 1;
            payload[4..8].copy_from_slice(&sent.to_be_bytes());
            let frame = datagram(1, &payload);
            let mut frames = vec![switch.pool.frame(&frame).expect("there is room")];
            let now = switch.now;
            switch
                .switch
                .receive(now, PortNo(1), &mut frames, &mut switch.io);
            switch.pass(Time::SEC / 2500);
            for (_, left) in switch.io.frames.drain(..) {
                let number: [u8; 4] = left[46..50].try_into().expect("4 bytes");
                let number = Some(u32::from_be_bytes(number));
                assert!(number > last, "{discipline}: {number:?} after {last:?}");
                last = number;
                if classified.is_some_and(|at: Time| switch.now.since(at) >= Time::SEC) {
                    later_bytes += left.len() as u64;
                }
            }
            if reached.is_none() && switch.flows("")[0].bytes >= AFTER_BYTES {
                reached = Some(now);
            }
            if classified.is_none() && switch.metric("classified") == 1 {
                classified = Some(switch.now);
            }
        }
        let [reached, classified] = [reached, classified].map(|at| at.expect("it has come"));
        let took = classified.since(reached);
        assert!(took <= 10 * MS, "{discipline}: {took} ns");
        let counted = switch.now.since(classified.after(Time::SEC));
        let kbps = later_bytes * 8 * 1_000_000 / counted;
        let is_near = kbps.abs_diff(CAP_KBPS) <= CAP_KBPS / 20;
        assert!(is_near, "{discipline}: {kbps} kb/s");
        assert_eq!(switch.io.packet_ins, 0, "{discipline}");
    }
}

#[test]
fn t19_a_flow_that_changes_links_of_different_delay_keeps_its_order() {
    // The link of port 2 has 400 us more delay than that of port 3. Flows send 4 packets at
    // intervals of 100 us, and then nothing for 600 us.
    const LONGER_NS: u64 = 400_000;
    let arrivals = |gap_us: u32| {
        let mut switch = Bench::new(Engine::default());
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
        switch
            .ask("qflow_links_mod", &format!("gap_us={gap_us},ports=2+3"))
            .expect("they are ports");
        let mut arrived: Vec<Vec<(u64, u32)>> = vec![Vec::new(); 4];
        for number in 0..20_000_u32 {
            // Links are balanced each full second, which is in the middle of four packets.
            if (number + 2) % 10 < 4 {
                for flow in 0..4 {
                    let port = switch.send(1, &datagram(flow, &[0; 1000]))[0];
                    let delay = if port == 2 { LONGER_NS } else { 0 };
                    arrived[usize::from(flow)].push((switch.now.0 + delay, number));
                }
            }
            switch.pass(MS / 10);
        }
        assert!(switch.metric("moved") >= 1);
        let overtaken = |of_flow: &Vec<(u64, u32)>| {
            of_flow.windows(2).filter(|two| two[0].0 > two[1].0).count()
        };
        arrived.iter().map(overtaken).sum::<usize>()
    };
    assert_eq!(arrivals(500), 0);
    assert!(arrivals(0) > 0, "at once, packets overtake others");
}
