//! A meter of a switch on several threads has one rate, wherever its packets are.
#![allow(clippy::unwrap_used)]

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, Engine, Time};
use bofuss_frame::Offload;
use bofuss_oflib::message::bundle::BundleControlType;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::{MeterRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::{BundleAdd, BundleControl, FlowModCommand, PacketOut};
use bofuss_oflib::text::parse_meter;
use bofuss_oflib::types::{BufferId, MeterId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Message, PortNo, Version};
use bofuss_workers::Dispatch;

use crate::common::{MS, Several, Single, Subject, flow_mod, frame, set_up};

const PACKETS_A_MS: u64 = 10;

/// What leaves, and the statistics of the meter.
fn outcome(subject: &mut impl Subject, now: Time) -> (usize, u64, u64) {
    let all = MeterRequest {
        meter_id: MeterId::ALL,
    };
    subject.message(
        now,
        Message::MultipartRequest(RequestBody::Meter(all).into()),
    );
    let (left, messages) = subject.effects();
    let Some(Message::MultipartReply(reply)) = messages.last() else {
        panic!("{messages:?}");
    };
    let ReplyBody::Meter(stats) = &reply.body else {
        panic!("{reply:?}");
    };
    let [meter] = &stats[..] else {
        panic!("{stats:?}");
    };
    let dropped = meter.bands[0].packet_count;
    (left.len(), meter.input.packet_count, dropped)
}

#[test]
fn a_meter_has_one_rate_for_all_workers() {
    // The flow of a packet, by its number: in one worker, in all, and moving.
    let demands: [fn(u64) -> u64; 3] = [|_| 3, |number| number % 40, |number| number / 3_000];
    for (name, engine) in Engine::ALL {
        for demand in demands {
            let config = Config {
                engine,
                ..Config::default()
            };
            let mut several = Several::new(3, &config, FailMode::Secure);
            let mut single = Single::new(&config, FailMode::Secure);
            set_up(&mut several, &mut single, Version::V1_3);
            let meter = "meter=1,pktps,band=type=drop,rate=1000";
            let meter = parse_meter(meter, MeterModCommand::ADD).unwrap();
            let flow = flow_mod(FlowModCommand::ADD, "actions=meter:1,output:2");
            for message in [Message::MeterMod(meter), flow] {
                several.message(Time(0), message.clone());
                single.message(Time(0), message);
            }
            assert_eq!(several.dispatch(), Dispatch::Flows);
            for number in 0..3_000 * PACKETS_A_MS {
                let now = Time(number * MS / PACKETS_A_MS);
                let bytes = frame(demand(number) as u16, number as u32);
                several.receive(now, 1, &bytes, Offload::NONE);
                single.receive(now, 1, &bytes, Offload::NONE);
                // Workers have about the same time, as those of one clock do.
                if number % 500 == 0 {
                    several.tick(now);
                }
            }
            let end = Time(3_000 * MS);
            let (left, input, dropped) = outcome(&mut several, end);
            let (left_alone, input_alone, dropped_alone) = outcome(&mut single, end);
            assert_eq!(input, input_alone);
            assert_eq!(left as u64 + dropped, input);
            assert!(
                left.abs_diff(left_alone) * 100 <= left_alone,
                "{name}: {left}, not {left_alone}; {dropped}, not {dropped_alone}"
            );
        }
    }
}

#[test]
fn a_packet_out_of_a_bundle_takes_the_tokens_of_one_packet() {
    const BURST: u32 = 12;
    let mut several = Several::new(3, &Config::default(), FailMode::Secure);
    let mut single = Single::new(&Config::default(), FailMode::Secure);
    set_up(&mut several, &mut single, Version::V1_4);
    let meter = format!("meter=1,pktps,burst,band=type=drop,rate=1,burst_size={BURST}");
    let meter = parse_meter(&meter, MeterModCommand::ADD).unwrap();
    let flow = flow_mod(FlowModCommand::ADD, "actions=meter:1,output:2");
    let packet_out = |number| PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo::CONTROLLER,
        actions: vec![Action::output(PortNo::TABLE)],
        data: Bytes(frame(3, number)),
        ..PacketOut::default()
    };
    let added = (0..BURST / 2).map(|number| {
        Message::BundleAdd(BundleAdd {
            bundle_id: 1,
            flags: Default::default(),
            xid: 7,
            message: Box::new(Message::PacketOut(packet_out(number))),
            experimenters: Vec::new(),
        })
    });
    let mut messages = vec![Message::MeterMod(meter), flow];
    messages.extend(added);
    messages.push(Message::BundleControl(BundleControl {
        bundle_id: 1,
        ty: BundleControlType::COMMIT_REQUEST,
        ..BundleControl::default()
    }));
    for message in messages {
        several.message(Time(0), message);
    }
    for number in 0..BURST {
        several.receive(Time(1), 1, &frame(3, number), Offload::NONE);
    }
    let (left, input, _) = outcome(&mut several, Time(1));
    assert_eq!(input, u64::from(BURST + BURST / 2));
    assert!(left >= BURST as usize, "{left}");
}
