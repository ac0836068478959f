//! VLAN tags over real veth: what flows push and pop arrives byte by byte.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use bofuss_frame::Pool;
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, PortDriver};
use bofuss_tests::{Lab, have, until};

/// TPID and TCI.
type Tag = [u8; 4];

/// A frame from h1 to h2 of an experimental type with these tags.
fn frame(tags: &[Tag]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    tags.iter().for_each(|tag| bytes.extend(tag));
    bytes.extend([0x88, 0xb5]);
    bytes.extend((0..64).map(|i| i * 3));
    bytes
}

/// Sends `sent` from one host, and checks that `wanted` arrives at the other.
fn arrives(lab: &Lab, (from, to): (u8, u8), sent: &[u8], wanted: &[u8]) {
    let options = AfPacketOptions {
        take_over: true,
        keep_host_out: false,
        ..Default::default()
    };
    let mut receiver = lab.host(to, || AfPacket::open("eth0", options).unwrap());
    lab.host(from, || {
        let mut sender = AfPacket::open("eth0", options).unwrap();
        let pool = Pool::new(1 << 20);
        sender.send(&mut vec![pool.frame(sent).unwrap()]).unwrap();
    });
    let (pool, mut frames) = (Pool::new(1 << 20), Vec::new());
    until("the frame arrives as wanted", || {
        receiver.recv(&pool, &mut frames, BATCH_FRAMES).unwrap();
        let found = frames.iter().any(|frame| frame.bytes() == wanted);
        std::thread::sleep(Duration::from_millis(1));
        found
    });
}

const Q7: Tag = [0x81, 0, 0xa0, 7];
const Q9: Tag = [0x81, 0, 0, 9];
const AD5: Tag = [0x88, 0xa8, 0, 5];
const PRIORITY: Tag = [0x81, 0, 0xe0, 0];

#[test]
fn tags_are_pushed_popped_and_kept_to_the_byte() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let push = |tpid: &str, vid: u16| {
        format!("in_port=1,actions=push_vlan:{tpid},set_field:{vid}->vlan_vid,output:2")
    };
    let cases: [(String, &[Tag], &[Tag]); 7] = [
        (push("0x8100", 9), &[], &[Q9]),
        (push("0x88a8", 5), &[Q9], &[AD5, Q9]),
        (
            "in_port=1,actions=pop_vlan,output:2".into(),
            &[AD5, Q9],
            &[Q9],
        ),
        ("in_port=1,actions=pop_vlan,output:2".into(), &[Q9], &[]),
        (
            "in_port=1,dl_vlan=7,dl_vlan_pcp=5,actions=output:2".into(),
            &[Q7],
            &[Q7],
        ),
        (
            "in_port=1,actions=output:2".into(),
            &[PRIORITY],
            &[PRIORITY],
        ),
        ("in_port=1,actions=output:2".into(), &[AD5, Q7], &[AD5, Q7]),
    ];
    for (flow, sent, wanted) in cases {
        assert!(lab.dpctl(&["del-flows"]).status.success());
        assert!(lab.dpctl(&["add-flow", &flow]).status.success(), "{flow}");
        arrives(&lab, (1, 2), &frame(sent), &frame(wanted));
    }
}
