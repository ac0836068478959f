//! Controllers hear of the packets, entries and tables of all workers as of those of one.
#![allow(clippy::unwrap_used)]

use bofuss_agent::{ConnId, FailMode};
use bofuss_datapath::{Config, Time};
use bofuss_frame::Offload;
use bofuss_oflib::message::table_mod::{TableConfig, Vacancy};
use bofuss_oflib::message::{AsyncConfig, ControllerRole, FlowModCommand, Role, TableMod};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Message, PortNo, Version};
use bofuss_workers::Sent;

use crate::common::{CONN, Several, Single, Subject, flow_mod, frame, set_up};

const SECOND: ConnId = ConnId(2);
const WORKERS: usize = 3;
const FLOWS: u16 = 40;

/// Several workers with a controller, and one switch, which speak this version.
fn switches(config: &Config, version: Version) -> (Several, Single) {
    let mut several = Several::new(WORKERS, config, FailMode::Secure);
    let mut single = Single::new(config, FailMode::Secure);
    set_up(&mut several, &mut single, version);
    (several, single)
}

/// How many messages of a kind each of the two controllers got.
fn counts(sent: &[Sent], is_of_kind: fn(&Message) -> bool) -> [usize; 2] {
    [CONN, SECOND].map(|conn| {
        let own = sent.iter().filter(|sent| sent.conn == conn);
        own.filter(|sent| is_of_kind(&sent.message)).count()
    })
}

/// The packet-ins of each controller for a packet of each flow.
fn packet_ins(several: &mut Several, now: Time) -> [usize; 2] {
    for flow in 0..FLOWS {
        several.receive(now, 1, &frame(flow, 0), Offload::NONE);
    }
    several.tick(now.after(1));
    let is_packet_in = |message: &Message| matches!(message, Message::PacketIn(_));
    counts(&several.workers.sent(), is_packet_in)
}

/// Who was told that an entry was removed, and how many packets had hit it.
fn removal(sent: &Sent) -> Option<(ConnId, u64)> {
    let Message::FlowRemoved(removed) = &sent.message else {
        return None;
    };
    Some((sent.conn, removed.packet_count))
}

/// The second controller sends a message.
fn ask_second(several: &mut Several, now: Time, message: Message) {
    let asked = several.workers.message(now, SECOND, 7, message);
    asked.unwrap();
}

#[test]
fn each_controller_hears_once_from_all_workers_what_it_wants() {
    let (mut several, _) = switches(&Config::default(), Version::V1_3);
    let connected = several.workers.connected(Time(1), SECOND, Version::V1_3);
    connected.unwrap();
    let text = "priority=1,send_flow_rem,actions=CONTROLLER:128";
    several.message(Time(2), flow_mod(FlowModCommand::ADD, text));
    let worker_of = |flow| several.workers.worker_of(PortNo(1), &frame(flow, 0));
    for worker in 0..WORKERS {
        assert!((0..FLOWS).any(|flow| worker_of(flow) == worker));
    }
    let all = usize::from(FLOWS);
    assert_eq!(packet_ins(&mut several, Time(10)), [all, all]);

    let initial = AsyncConfig::initial(Version::V1_3);
    let as_slave = AsyncConfig {
        packet_in: 0,
        packet_in_slave: initial.packet_in,
        ..initial
    };
    ask_second(&mut several, Time(20), Message::SetAsync(as_slave));
    assert_eq!(packet_ins(&mut several, Time(30)), [all, 0]);
    let slave = Role {
        role: ControllerRole::SLAVE,
        generation_id: 1,
        ..Role::default()
    };
    ask_second(&mut several, Time(40), Message::RoleRequest(slave));
    assert_eq!(packet_ins(&mut several, Time(50)), [all, all]);

    several.message(Time(60), flow_mod(FlowModCommand::DELETE, "table=0"));
    several.port(Time(70), 2, false);
    let sent = several.workers.sent();
    let removals: Vec<(ConnId, u64)> = sent.iter().filter_map(removal).collect();
    assert_eq!(removals, [(CONN, 3 * u64::from(FLOWS))]);
    let is_port_status = |message: &Message| matches!(message, Message::PortStatus(_));
    assert_eq!(counts(&sent, is_port_status), [1, 1]);
}

#[test]
fn a_table_is_full_and_says_so_as_that_of_one_switch() {
    let config = Config {
        max_entries: 10,
        ..Config::default()
    };
    let (mut several, mut single) = switches(&config, Version::V1_4);
    let mut messages = vec![Message::TableMod(TableMod {
        table_id: TableId(0),
        config: TableConfig::VACANCY_EVENTS.0,
        vacancy: Some(Vacancy {
            vacancy_down: 30,
            vacancy_up: 60,
            vacancy: 0,
        }),
        ..TableMod::default()
    })];
    // Two more than there is room for.
    for priority in 1..=12 {
        let text = format!("priority={priority},actions=drop");
        messages.push(flow_mod(FlowModCommand::ADD, &text));
    }
    messages.push(flow_mod(FlowModCommand::DELETE, "table=0"));
    for message in &messages {
        single.message(Time(1), message.clone());
    }
    several.messages(Time(1), messages);
    let (_, said) = several.effects();
    let (_, said_by_one) = single.effects();
    assert_eq!(said, said_by_one);
    let is_status = |message: &&Message| matches!(message, Message::TableStatus(_));
    assert_eq!(said.iter().filter(is_status).count(), 2);
    let is_error = |message: &&Message| matches!(message, Message::Error(_));
    assert_eq!(said.iter().filter(is_error).count(), 2);
}
