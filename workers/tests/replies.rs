//! All replies to a call are there when it returns, however many packet-ins wait.
#![allow(clippy::unwrap_used)]

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, Time};
use bofuss_frame::Offload;
use bofuss_oflib::message::{Empty, FlowModCommand};
use bofuss_oflib::{Message, Version};

use crate::common::{Several, Single, Subject, flow_mod, frame, set_up};

/// Packet-ins that may wait, as [`bofuss_workers::Workers::sent`] says.
const MAX_WAITING: u32 = 1024;
/// Packet-ins, and then requests: more than may wait.
const COUNT: u32 = MAX_WAITING + 76;

#[test]
fn no_reply_is_lost_because_many_messages_wait() {
    let mut several = Several::new(2, &Config::default(), FailMode::Secure);
    let mut single = Single::new(&Config::default(), FailMode::Secure);
    set_up(&mut several, &mut single, Version::V1_3);
    let flow = flow_mod(FlowModCommand::ADD, "actions=CONTROLLER:128");
    several.message(Time(1), flow);
    for number in 0..COUNT {
        let bytes = frame((number % 40) as u16, number);
        several.receive(Time(2), 1, &bytes, Offload::NONE);
    }
    several.tick(Time(3));
    let lost = u64::from(COUNT - MAX_WAITING);
    assert_eq!(several.workers.lost_packet_ins(), lost);
    let barriers = vec![Message::BarrierRequest(Empty); COUNT as usize];
    several.messages(Time(4), barriers);
    let (_, messages) = several.effects();
    let of_barrier = |message: &&Message| matches!(message, Message::BarrierReply(_));
    let replies = messages.iter().filter(of_barrier).count();
    assert_eq!(replies, COUNT as usize);
    assert_eq!(messages.len(), (MAX_WAITING + COUNT) as usize);
    assert_eq!(several.workers.lost_packet_ins(), lost, "no reply is one");
}
