//! Fields that a controller maps are with all workers: several do what one switch does, while
//! mappings come and go.
#![allow(clippy::unwrap_used)]

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, Time};
use bofuss_frame::Offload;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::{ExtValue, Mac, Message, Version};
use bofuss_packet::craft;
use bofuss_workers::Dispatch;

use crate::common::{Several, Single, Subject, flow_mod, set_up};

const FLOWS: u16 = 200;
const ENTRY: &str = "priority=2,udp,spare0=1/1,actions=set_field:0x77->spare1,output:3";

fn map(text: &str) -> Message {
    let catalogue = bofuss_ext::catalogue();
    let mut rows = catalogue.values(ExtKind::Message);
    let row = rows.find(|row| row.name == "field_map").unwrap();
    Message::Experimenter(ExtValue::parse(row, text, &catalogue).unwrap())
}

fn datagram(number: u16) -> Vec<u8> {
    let data = [number as u8, 2, 3];
    let udp = craft::udp(9000 + number, 5000, &data);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, udp);
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

#[test]
fn each_worker_has_the_mappings_of_the_switch() {
    let mut several = Several::new(3, &Config::default(), FailMode::Secure);
    let mut single = Single::new(&Config::default(), FailMode::Secure);
    set_up(&mut several, &mut single, Version::V1_3);
    let add = |text| flow_mod(FlowModCommand::ADD, text);
    let turns = [
        vec![add("priority=1,actions=output:2"), add(ENTRY)],
        vec![
            map("add,spare0=udp:64:8,mask"),
            map("add,spare1=udp:72:16,set"),
            add(ENTRY),
        ],
        vec![map("delete,spare0")],
        vec![
            flow_mod(FlowModCommand::DELETE, "udp"),
            map("delete,spare0"),
            map("add,spare0=udp:68:4,mask"),
            add(ENTRY),
        ],
    ];
    // The entry is refused at first; then it has half the packets, also after the row was in use.
    let changed = [0, FLOWS, FLOWS, FLOWS].map(usize::from);
    for (number, messages) in turns.into_iter().enumerate() {
        let now = Time(1 + number as u64);
        for message in messages {
            several.message(now, message.clone());
            single.message(now, message);
        }
        let mut frames: Vec<_> = (0..FLOWS).map(|n| (datagram(n), Offload::NONE)).collect();
        frames.extend(frames.clone());
        several.burst(now, 1, &frames);
        single.burst(now, 1, &frames);
        several.tick(now);
        let (mut left, _) = several.effects();
        let (mut expected, _) = single.effects();
        left.sort();
        expected.sort();
        let to_3 = expected.iter().filter(|(port, _)| *port == 3);
        assert_eq!(to_3.count(), changed[number], "after change {number}");
        assert_eq!(
            expected.len(),
            2 * usize::from(FLOWS),
            "after change {number}"
        );
        assert!(left == expected, "after change {number}: {}", left.len());
        assert_eq!(several.dispatch(), Dispatch::Flows);
    }
}
