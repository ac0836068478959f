//! Makes a switch say what nobody asks for.

use bofuss_oflib::message::group_mod::{GroupMod, GroupModCommand};
use bofuss_oflib::message::meter_mod::{MeterMod, MeterModCommand};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::message::table_mod::{TableConfig, Vacancy};
use bofuss_oflib::message::{AsyncConfig, ControllerRole, PacketOut, PortMod, Role, TableMod};
use bofuss_oflib::types::{BufferId, GroupId, MeterId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Mac, Message, PortNo, Version};
use bofuss_tests::{Lab, ip};

use crate::drive::Session;
use crate::entries;

/// Entries that send packets to the controller: by an action, from a later table, after a miss.
const TO_CONTROLLER: [&str; 4] = [
    "priority=30,dl_type=0x88b5,actions=controller:65535",
    "priority=31,dl_type=0x88b6,actions=write_metadata:5,goto_table:3",
    "table=3,dl_type=0x88b6,actions=controller:20",
    "priority=0,actions=controller:128",
];
/// Entries that end by themselves.
const SHORT_LIVED: [&str; 2] = [
    "priority=40,in_port=1,dl_type=0x88b8,hard_timeout=1,send_flow_rem,actions=drop",
    "priority=41,tcp,tp_dst=8,idle_timeout=1,send_flow_rem,actions=drop",
];

pub fn all(lab: &Lab, port: u16, session: &mut Session) {
    session.send(&Message::SetAsync(AsyncConfig {
        request_forward: 0b11,
        flow_stats: 0b11,
        ..AsyncConfig::initial(session.codec.version)
    }));
    packets(session);
    entries_that_go(session);
    a_table_that_fills(session);
    a_port_that_changes(lab, session);
    another_controller(port, session);
    session.settle();
}

fn add(session: &mut Session, text: &str) {
    session.send(&Message::FlowMod(entries::flow(text)));
}

fn packets(session: &mut Session) {
    let with_tables = session.codec.version > Version::V1_0;
    for text in TO_CONTROLLER {
        if with_tables || !text.contains("table") {
            add(session, text);
        }
    }
    if session.codec.version >= Version::V1_5 {
        add(
            session,
            "priority=32,dl_type=0x88b5,in_port=2,\
             actions=stat_trigger(packet_count=1),output:1",
        );
    }
    for (in_port, ethertype) in [(1, 0xb5), (1, 0xb6), (1, 0xb7), (2, 0xb5)] {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, ethertype];
        frame.resize(200, 7);
        session.send(&Message::PacketOut(PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNo(in_port),
            actions: vec![Action::output(PortNo::TABLE)],
            data: Bytes(frame),
            ..PacketOut::default()
        }));
    }
    session.hears("PACKET_IN", 3);
}

fn entries_that_go(session: &mut Session) {
    for text in SHORT_LIVED {
        add(session, text);
    }
    session.send(&entries::delete("dl_type=0x88cc"));
    session.hears("FLOW_REMOVED", 3);
}

/// A table of 200 entries says that a share is taken, and that it is free again.
fn a_table_that_fills(session: &mut Session) {
    let table_id = TableId(5);
    session.send(&Message::TableMod(TableMod {
        table_id,
        config: TableConfig::VACANCY_EVENTS.0 | TableConfig::EVICTION.0,
        vacancy: Some(Vacancy {
            vacancy_down: 97,
            vacancy_up: 99,
            vacancy: 0,
        }),
        ..TableMod::default()
    }));
    if session.codec.version < Version::V1_4 {
        return;
    }
    for port in 1..=10 {
        add(session, &format!("table=5,in_port={port},actions=drop"));
    }
    session.hears("TABLE_STATUS", 1);
    session.send(&entries::delete("table=5"));
    session.hears("TABLE_STATUS", 2);
}

fn a_port_that_changes(lab: &Lab, session: &mut Session) {
    let interface = lab.port(3);
    let address = std::fs::read_to_string(format!("/sys/class/net/{interface}/address"));
    for config in [PortConfig::NO_FWD, PortConfig(0)] {
        session.send(&Message::PortMod(PortMod {
            port_no: PortNo(3),
            hw_addr: mac(address.as_ref().unwrap()),
            config,
            mask: PortConfig::NO_FWD,
            ..PortMod::default()
        }));
    }
    session.hears("PORT_STATUS", 2);
    ip(&format!("link set {interface} down"));
    session.hears("PORT_STATUS", 3);
    ip(&format!("link set {interface} up"));
    session.hears("PORT_STATUS", 4);
}

fn mac(text: &str) -> Mac {
    let bytes = text.trim().split(':');
    let bytes: Vec<u8> = bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    Mac(bytes.try_into().unwrap())
}

/// Another controller becomes master, changes a group and a meter, and goes.
fn another_controller(port: u16, session: &mut Session) {
    role(session, ControllerRole::MASTER, 1);
    let mut other = Session::new(port, session.codec.version);
    role(&mut other, ControllerRole::MASTER, 2);
    session.hears("ROLE_STATUS", 1);
    role(&mut other, ControllerRole::EQUAL, 3);
    role(session, ControllerRole::EQUAL, 3);
    other.send(&Message::GroupMod(GroupMod {
        command: GroupModCommand::DELETE,
        group_id: GroupId(4),
        ..GroupMod::default()
    }));
    other.send(&Message::MeterMod(MeterMod {
        command: MeterModCommand::DELETE,
        meter_id: MeterId(3),
        ..MeterMod::default()
    }));
    other.settle();
    drop(other);
    session.hears("REQUESTFORWARD", 2);
    session.hears("CONTROLLER_STATUS", 2);
}

fn role(session: &mut Session, role: ControllerRole, generation_id: u64) {
    session.send(&Message::RoleRequest(Role {
        role,
        generation_id,
        ..Role::default()
    }));
    session.settle();
}
