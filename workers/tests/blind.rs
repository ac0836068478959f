//! Predicates of blind packet forwarding are with all workers: several do what one switch does,
//! while trapdoors come and go.
#![allow(clippy::unwrap_used)]

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, Time};
use bofuss_ext::blind::Trapdoor;
use bofuss_frame::Offload;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::{ExtValue, Mac, Message, Version};
use bofuss_packet::craft;
use bofuss_workers::Dispatch;

use crate::common::{Several, Single, Subject, flow_mod, set_up};

const KEY: [u8; 16] = *b"key of a keyword";
const KEY_TEXT: &str = "6b6579206f662061206b6579776f7264";
const FLOWS: u128 = 200;

fn change(name: &str, text: &str) -> Message {
    let catalogue = bofuss_ext::catalogue();
    let mut rows = catalogue.values(ExtKind::Message);
    let row = rows.find(|row| row.name == name).unwrap();
    Message::Experimenter(ExtValue::parse(row, text, &catalogue).unwrap())
}

/// A datagram whose source is a nonce and whose destination its tag.
fn datagram(nonce: u128) -> Vec<u8> {
    let tag = Trapdoor(KEY).tag(nonce);
    let udp = craft::udp(9000, nonce as u16, b"datum");
    let ip = craft::ipv6(nonce.into(), tag.into(), 64, udp);
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

#[test]
fn each_worker_evaluates_the_predicate_for_its_own_flows() {
    let mut several = Several::new(3, &Config::default(), FailMode::Secure);
    let mut single = Single::new(&Config::default(), FailMode::Secure);
    set_up(&mut several, &mut single, Version::V1_3);
    let trapdoor = |number| {
        let text = format!("table=0,keyword={number},key={KEY_TEXT}");
        change("blind_trapdoor", &text)
    };
    let forget = |number| change("blind_forget", &format!("table=0,keyword={number}"));
    let turns = [
        vec![
            flow_mod(
                FlowModCommand::ADD,
                "priority=2,blind_keyword=5,actions=output:2",
            ),
            flow_mod(
                FlowModCommand::ADD,
                "priority=2,blind_keyword=4,actions=output:3",
            ),
            change("blind_predicate", "table=0,nonce=ipv6_src,tag=ipv6_dst"),
            trapdoor(5),
        ],
        vec![trapdoor(4)],
        vec![forget(4)],
        vec![forget(5)],
    ];
    for (number, messages) in turns.into_iter().enumerate() {
        let now = Time(1 + number as u64);
        for message in messages {
            several.message(now, message.clone());
            single.message(now, message);
        }
        let mut frames: Vec<_> = (1..=FLOWS).map(|n| (datagram(n), Offload::NONE)).collect();
        frames.extend(frames.clone());
        several.burst(now, 1, &frames);
        single.burst(now, 1, &frames);
        several.tick(now);
        let (mut left, _) = several.effects();
        let (mut expected, _) = single.effects();
        left.sort();
        expected.sort();
        let wanted = if number == 3 { 0 } else { 2 * FLOWS as usize };
        assert_eq!(expected.len(), wanted, "after change {number}");
        assert!(left == expected, "after change {number}: {}", left.len());
        assert_eq!(several.dispatch(), Dispatch::Flows);
    }
}
