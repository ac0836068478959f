//! Statistics triggers: what is reported, when, and to whom, in every engine. Spec: OpenFlow 1.5.1
//! sections 7.2.4, 7.2.5.
#![allow(clippy::unwrap_used)]

use bofuss_agent::{ConnId, FailMode};
use bofuss_datapath::Engine;
use bofuss_oflib::error::BadInstruction;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::multipart::flow::{FlowCounters, FlowStatsReason};
use bofuss_oflib::message::multipart::{MultipartReply, ReplyBody};
use bofuss_oflib::message::{
    AsyncConfig, BundleAdd, BundleControl, ControllerRole, FlowModCommand, Role,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, Mac, Message, Version};
use bofuss_packet::craft;

use crate::common::{CONN, Lab, Random};

const ENGINES: [Engine; 3] = [Engine::Reference, Engine::Tables, Engine::Cache];
/// The connection that speaks 1.5.
const NEW: ConnId = ConnId(2);
/// Milliseconds within which a reached threshold is noticed.
const NOTICED: u64 = 10;
const FRAME_BYTES: u64 = 74;
const ADD: FlowModCommand = FlowModCommand::ADD;
const MODIFY: FlowModCommand = FlowModCommand::MODIFY;

fn frame() -> Vec<u8> {
    let to = Mac([2, 0, 0, 0, 0, 2]);
    craft::ethernet(to, Mac([2; 6]), craft::Layer::new(0x88b5, &[0x5a; 60]))
}

/// A switch with a connection of 1.3 and one of 1.5.
fn lab(engine: Engine) -> Lab {
    let mut lab = Lab::with_engine(100, FailMode::Secure, engine);
    lab.switch.connected(lab.now, NEW, Version::V1_5, true);
    lab
}

fn send(lab: &mut Lab, packets: u64) {
    (0..packets).for_each(|_| lab.send(1, &frame()));
}

/// What was sent since the last call; checks that all of it comes from triggers.
fn told(lab: &mut Lab) -> Vec<FlowCounters> {
    let mut all = Vec::new();
    for message in lab.io.messages.drain(..) {
        match message {
            Message::MultipartReply(MultipartReply {
                more: false,
                body: ReplyBody::FlowCounters(list),
            }) => all.extend(list),
            other => panic!("{other:?}"),
        }
    }
    for one in &all {
        assert_eq!(one.reason, FlowStatsReason::STAT_TRIGGER);
    }
    all
}

/// The packet counts of what was sent.
fn counts(lab: &mut Lab) -> Vec<u64> {
    let told = told(lab).into_iter();
    told.map(|one| one.stats.packet_count.unwrap()).collect()
}

/// Sends packets and waits until they are noticed. Returns the packet counts that are reported.
fn after(lab: &mut Lab, packets: u64) -> Vec<u64> {
    send(lab, packets);
    lab.advance(NOTICED);
    counts(lab)
}

/// The error with which a flow is refused.
fn refused(lab: &mut Lab, text: &str) -> Option<ErrorCode> {
    lab.flow(ADD, text);
    match lab.io.messages.pop() {
        Some(Message::Error(error)) => Some(error.error),
        None => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_threshold_is_reported_once_when_it_is_reached_with_all_statistics() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        lab.flow(
            ADD,
            "table=0,priority=7,in_port=1,actions=stat_trigger(packet_count=10),goto_table:1",
        );
        lab.flow(ADD, "table=1,actions=output:2");
        assert_eq!(after(&mut lab, 9), [], "{engine:?}");
        send(&mut lab, 1);
        lab.advance(NOTICED);
        let [one] = told(&mut lab).try_into().unwrap();
        assert_eq!((one.table_id, one.priority), (TableId(0), 7));
        assert_eq!(one.fields.to_string(), "in_port=1");
        assert_eq!(one.stats.packet_count, Some(10));
        assert_eq!(one.stats.byte_count, Some(10 * FRAME_BYTES));
        assert!(one.stats.duration.is_some() && one.stats.idle_time.is_some());
        assert_eq!(one.stats.flow_count, None);
        assert_eq!(after(&mut lab, 100), [], "{engine:?}");
        assert_eq!(lab.io.out.len(), 110, "packets go their way");
    }
}

#[test]
fn with_periodic_each_multiple_is_reported_and_of_several_at_once_the_last() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        lab.flow(ADD, "actions=stat_trigger(periodic,packet_count=10)");
        assert_eq!(after(&mut lab, 10), [10], "{engine:?}");
        // This burst goes past 20, 30 and 40.
        assert_eq!(after(&mut lab, 35), [45], "{engine:?}");
        assert_eq!(after(&mut lab, 4), [], "{engine:?}");
        assert_eq!(after(&mut lab, 1), [50], "{engine:?}");
    }
}

#[test]
fn several_thresholds_reached_together_cause_one_report() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        let bytes = 5 * FRAME_BYTES;
        lab.flow(
            ADD,
            &format!("actions=stat_trigger(packet_count=3,byte_count={bytes})"),
        );
        assert_eq!(after(&mut lab, 6), [6], "{engine:?}");
        assert_eq!(after(&mut lab, 6), [], "{engine:?}");
        lab.flow(
            MODIFY,
            &format!(
                "actions=stat_trigger(packet_count=15,byte_count={})",
                4 * bytes
            ),
        );
        assert_eq!(after(&mut lab, 3), [15], "{engine:?}");
        assert_eq!(after(&mut lab, 4), [], "{engine:?}");
        assert_eq!(after(&mut lab, 1), [20], "{engine:?}");
    }
}

#[test]
fn with_only_first_no_other_threshold_counts() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        lab.flow(
            ADD,
            "actions=stat_trigger(only_first,packet_count=2,byte_count=1000,duration=1)",
        );
        assert_eq!(after(&mut lab, 2), [2], "{engine:?}");
        assert_eq!(after(&mut lab, 100), [], "{engine:?}");
        lab.advance(2000);
        assert_eq!(counts(&mut lab), [], "{engine:?}");
        lab.flow(
            MODIFY,
            "actions=stat_trigger(only_first|periodic,packet_count=100,byte_count=1000000)",
        );
        assert_eq!(after(&mut lab, 98), [200], "{engine:?}");
        assert_eq!(after(&mut lab, 100), [300], "{engine:?}");
        assert_eq!(after(&mut lab, 20_000).len(), 1, "{engine:?}");
    }
}

#[test]
fn time_thresholds_are_reported_without_any_packet() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        lab.advance(500);
        lab.flow(
            ADD,
            "actions=stat_trigger(periodic,duration=2.5,idle_time=4)",
        );
        let mut times = Vec::new();
        for _ in 0..110 {
            lab.advance(100);
            for one in told(&mut lab) {
                let at = one.stats.duration.unwrap();
                times.push((at.sec, at.nsec / 1_000_000));
            }
            if lab.now.0 == 6_500_000_000 {
                send(&mut lab, 1);
            }
        }
        // The packet came at 6.0.
        let expected = [(2, 500), (4, 0), (5, 0), (7, 500), (10, 0)];
        assert_eq!(times[..4], expected[..4], "{engine:?}");
        assert_eq!(times[4..], [(10, 0)], "both at once: {engine:?}");
    }
}

#[test]
fn an_entry_that_is_idle_again_is_reported_again() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        lab.flow(ADD, "actions=stat_trigger(idle_time=1),output:2");
        for _ in 0..3 {
            send(&mut lab, 1);
            lab.advance(900);
            send(&mut lab, 1);
            lab.advance(999);
            assert_eq!(told(&mut lab), [], "{engine:?}");
            lab.advance(1);
            assert_eq!(told(&mut lab).len(), 1, "{engine:?}");
            lab.advance(5000);
            assert_eq!(told(&mut lab), [], "{engine:?}");
        }
    }
}

#[test]
fn an_entry_that_has_moved_is_not_checked_for_what_it_reported_before() {
    let mut lab = Lab::with_engine(4000, FailMode::Secure, Engine::Tables);
    lab.switch.connected(lab.now, NEW, Version::V1_5, true);
    for n in 0..4000 {
        let text = if n % 40 == 0 {
            format!("priority={n},in_port=1,actions=stat_trigger(duration=1),output:2")
        } else {
            format!("priority={n},cookie=1,in_port=1,actions=drop")
        };
        lab.flow(ADD, &text);
    }
    lab.advance(2000);
    assert_eq!(told(&mut lab).len(), 100);
    lab.flow(FlowModCommand::DELETE, "cookie=1/1");
    lab.work();
    let is_scattered = |lab: &Lab| lab.switch.datapath().tables()[0].at(3960).is_some();
    assert!(is_scattered(&lab));
    for _ in 0..100 {
        lab.switch.tick(lab.now, &mut lab.io);
    }
    assert!(!is_scattered(&lab), "the entries have moved");
    lab.flow(FlowModCommand::DELETE, "");
    lab.work();
    lab.advance(100);
    assert_eq!(told(&mut lab), []);
}

#[test]
fn a_trigger_that_is_set_later_counts_from_there() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        lab.flow(ADD, "actions=output:2");
        assert_eq!(after(&mut lab, 25), [], "{engine:?}");
        let text = "actions=stat_trigger(periodic,packet_count=10),output:2";
        lab.flow(MODIFY, text);
        assert_eq!(after(&mut lab, 4), [], "{engine:?}");
        assert_eq!(after(&mut lab, 1), [30], "{engine:?}");
        // An identical add keeps the counters, and one that resets them begins at zero.
        lab.flow(ADD, text);
        assert_eq!(after(&mut lab, 10), [40], "{engine:?}");
        lab.flow(MODIFY, &format!("reset_counts,{text}"));
        assert_eq!(after(&mut lab, 9), [], "{engine:?}");
        assert_eq!(after(&mut lab, 1), [10], "{engine:?}");
        lab.flow(MODIFY, "actions=output:2");
        assert_eq!(after(&mut lab, 100), [], "{engine:?}");
    }
}

/// Opens a bundle, adds a flow-mod, and commits.
fn bundle(lab: &mut Lab, command: FlowModCommand, text: &str) {
    let control = |ty| {
        Message::BundleControl(BundleControl {
            bundle_id: 1,
            ty,
            ..BundleControl::default()
        })
    };
    let flow = parse_flow(text, command, &lab.catalogue).unwrap();
    let add = BundleAdd {
        bundle_id: 1,
        flags: BundleFlags::default(),
        xid: 7,
        message: Box::new(Message::FlowMod(flow)),
        experimenters: Vec::new(),
    };
    lab.ask(NEW, 7, control(BundleControlType::OPEN_REQUEST));
    lab.ask(NEW, 7, Message::BundleAdd(add));
    lab.ask(NEW, 7, control(BundleControlType::COMMIT_REQUEST));
    while lab.switch.has_work(&lab.io) {
        // Packets pass while the bundle settles.
        lab.send(1, &frame());
        lab.switch.work(lab.now, &mut lab.io);
    }
    lab.io.messages.clear();
}

#[test]
fn triggers_of_a_bundle_count_from_its_commit() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        let text = "actions=stat_trigger(packet_count=100,duration=1),output:2";
        bundle(&mut lab, ADD, text);
        lab.advance(999);
        assert_eq!(told(&mut lab), [], "{engine:?}");
        lab.advance(1);
        assert_eq!(told(&mut lab).len(), 1, "{engine:?}");
        let before = lab.io.out.len() as u64;
        assert_eq!(after(&mut lab, 99 - before), [], "{engine:?}");
        assert_eq!(after(&mut lab, 1), [100], "{engine:?}");
        bundle(
            &mut lab,
            MODIFY,
            "actions=stat_trigger(periodic,packet_count=50)",
        );
        let first = after(&mut lab, 60);
        assert!((150..=180).contains(&first[0]), "{engine:?}: {first:?}");
        bundle(&mut lab, FlowModCommand::DELETE, "");
        assert_eq!(after(&mut lab, 100), [], "{engine:?}");
        lab.advance(10_000);
        assert_eq!(told(&mut lab), [], "{engine:?}");
    }
}

#[test]
fn a_connection_that_does_not_read_costs_nothing_and_its_losses_are_counted() {
    let mut lab = lab(Engine::default());
    lab.flow(ADD, "actions=stat_trigger(periodic,packet_count=1)");
    lab.io.stuck = true;
    for _ in 0..5 {
        send(&mut lab, 3);
        lab.advance(NOTICED);
    }
    assert_eq!(lab.io.messages, []);
    assert_eq!(lab.switch.lost(NEW).flow_stats, 5);
    lab.io.stuck = false;
    assert_eq!(after(&mut lab, 1), [16]);
    assert_eq!(lab.switch.lost(NEW).flow_stats, 5);
    assert_eq!(lab.switch.lost(CONN).flow_stats, 0, "it speaks 1.3");
}

#[test]
fn statistics_go_only_to_connections_that_want_them() {
    let mut lab = lab(Engine::default());
    lab.flow(ADD, "actions=stat_trigger(periodic,packet_count=1)");
    let role = |role| {
        Message::RoleRequest(Role {
            role,
            ..Role::default()
        })
    };
    lab.ask(NEW, 7, role(ControllerRole::SLAVE));
    assert_eq!(after(&mut lab, 1), [], "a slave");
    lab.ask(NEW, 7, role(ControllerRole::EQUAL));
    assert_eq!(after(&mut lab, 1), [2]);
    let initial = AsyncConfig::initial(Version::V1_5);
    let none = AsyncConfig {
        flow_stats: 0,
        flow_stats_slave: 0b10,
        ..initial
    };
    lab.ask(NEW, 7, Message::SetAsync(none));
    assert_eq!(after(&mut lab, 1), [], "none are wanted");
    lab.ask(NEW, 7, role(ControllerRole::SLAVE));
    assert_eq!(after(&mut lab, 1), [4], "a slave that wants them");
}

#[test]
fn thresholds_that_mean_nothing_are_refused() {
    let mut lab = lab(Engine::default());
    for bad in [
        "packet_count=0",
        "byte_count=0",
        "duration=0",
        "idle_time=0.0",
        "flow_count=1",
        "packet_count=5,flow_count=1",
        "4,packet_count=1",
        "",
        "periodic",
    ] {
        let text = format!("actions=stat_trigger({bad})");
        let error = refused(&mut lab, &text);
        assert_eq!(error, Some(BadInstruction::UNSUP_INST), "{bad}");
        assert!(lab.switch.datapath().tables()[0].is_empty());
    }
    assert_eq!(
        refused(
            &mut lab,
            "actions=stat_trigger(byte_count=0xffffffffffffffff)"
        ),
        None
    );
}

#[test]
fn random_packets_are_reported_within_the_bound_at_each_multiple() {
    const FLOWS: u64 = 20;
    for engine in ENGINES {
        let mut random = Random(5);
        let mut lab = lab(engine);
        let mut steps = Vec::new();
        for n in 0..FLOWS {
            let step = 1 + random.below(50);
            let text = format!(
                "priority={n},dl_src=02:00:00:00:01:{n:02x},\
                 actions=stat_trigger(periodic,packet_count={step}),output:2",
            );
            lab.flow(ADD, &text);
            steps.push(step);
        }
        let mut sent = vec![0_u64; FLOWS as usize];
        let mut last = vec![0_u64; FLOWS as usize];
        for _ in 0..400 {
            let flow = random.below(FLOWS) as usize;
            let from = Mac([2, 0, 0, 0, 1, flow as u8]);
            let bytes = craft::ethernet(Mac([4; 6]), from, craft::Layer::new(0x88b5, &[0; 60]));
            for _ in 0..random.below(60) {
                lab.send(1, &bytes);
                sent[flow] += 1;
            }
            if random.below(4) == 0 {
                lab.advance(random.below(NOTICED));
            }
            if random.below(4) == 0 {
                lab.advance(NOTICED);
                for one in told(&mut lab) {
                    let flow = usize::from(one.priority);
                    let count = one.stats.packet_count.unwrap();
                    assert!(count <= sent[flow] && count / steps[flow] > last[flow] / steps[flow]);
                    last[flow] = count;
                }
                for flow in 0..FLOWS as usize {
                    let missed = sent[flow] / steps[flow] > last[flow] / steps[flow];
                    assert!(!missed, "{engine:?}: {} after {}", sent[flow], last[flow]);
                }
            }
        }
    }
}
