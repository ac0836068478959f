//! Messages that are refused, at least one for each type of error.

use bofuss_ext::{flow_state, queues};
use bofuss_oflib::error::{
    AsyncConfigFailed, BadAction, BadInstruction, BadMatch, BadProperty, BadRequest, BundleFailed,
    ERRORS, FlowModFailed, FlowMonitorFailed, GroupModFailed, MeterModFailed, PortModFailed,
    QueueOpFailed, RoleRequestFailed, SwitchConfigFailed, TableFeaturesFailed, TableModFailed,
};
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::flow_monitor::FlowMonitorCommand;
use bofuss_oflib::message::multipart::table_features::TableFeatureSet;
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, PortRequest, QueueStatsRequest, RequestBody, TableFeatures,
};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::message::table_mod::EvictionFlags;
use bofuss_oflib::message::{
    AsyncConfig, BundleControl, ControllerRole, Empty, FlowMod, FlowModCommand, FlowModFlags,
    PacketOut, PortMod, SwitchConfig, TableMod,
};
use bofuss_oflib::types::{BufferId, MaxLen, QueueId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, ErrorCode, ExtValue, FieldMatch, Mac, Match};

use super::used::{
    NOW, SCHEDULED, UsedSwitch, XID, ask, bundle_add, commit_at, control, flow, group, meter,
    monitor, queue, role,
};
use super::*;
use crate::config::port;

/// Messages that are given one after another, and the errors that answer them.
type Case = (Vec<Message>, Vec<ErrorCode>);

/// A message that is refused.
fn case(message: Message, error: ErrorCode) -> Case {
    (vec![message], vec![error])
}

fn of_entries(catalogue: &Catalogue) -> Vec<Case> {
    let add = |text: &str| flow(FlowModCommand::ADD, text, catalogue);
    let unknown = |command: FlowModCommand, flags: FlowModFlags| {
        Message::FlowMod(FlowMod {
            command,
            flags,
            ..FlowMod::add(Match::ANY)
        })
    };
    vec![
        case(add("table=9,actions=drop"), FlowModFailed::BAD_TABLE_ID),
        case(add("in_port=9,actions=drop"), FlowModFailed::TABLE_FULL),
        case(
            add("table=1,priority=5,check_overlap,in_port=1,actions=drop"),
            FlowModFailed::OVERLAP,
        ),
        case(
            unknown(FlowModCommand(9), FlowModFlags(0)),
            FlowModFailed::BAD_COMMAND,
        ),
        case(
            unknown(FlowModCommand::ADD, FlowModFlags(1 << 31)),
            FlowModFailed::BAD_FLAGS,
        ),
        case(
            flow(FlowModCommand::MODIFY, "actions=group:77", catalogue),
            BadAction::BAD_OUT_GROUP,
        ),
        case(
            add("table=1,buffer_id=77,actions=output:2"),
            BadRequest::BUFFER_UNKNOWN,
        ),
        case(
            add("table=1,actions=goto_table:0"),
            BadInstruction::BAD_TABLE_ID,
        ),
    ]
}

fn of_groups_and_meters(catalogue: &Catalogue) -> Vec<Case> {
    let of = |command, text| group(command, text, catalogue);
    let rate = "pktps,bands=type=drop,rate=5";
    let meter = |command, id| meter(command, &format!("meter={id},{rate}"));
    vec![
        case(
            of(GroupModCommand::ADD, "group_id=1,type=all"),
            GroupModFailed::GROUP_EXISTS,
        ),
        case(
            of(GroupModCommand::MODIFY, "group_id=77,type=all"),
            GroupModFailed::UNKNOWN_GROUP,
        ),
        case(
            of(GroupModCommand::ADD, "group_id=3,type=all"),
            GroupModFailed::OUT_OF_GROUPS,
        ),
        case(
            of(
                GroupModCommand::MODIFY,
                "group_id=1,type=all,bucket=group:2",
            ),
            GroupModFailed::LOOP,
        ),
        case(
            of(GroupModCommand::DELETE, "group_id=1"),
            GroupModFailed::CHAINED_GROUP,
        ),
        case(meter(MeterModCommand::ADD, 1), MeterModFailed::METER_EXISTS),
        case(
            meter(MeterModCommand::MODIFY, 77),
            MeterModFailed::UNKNOWN_METER,
        ),
        case(
            meter(MeterModCommand::ADD, 2),
            MeterModFailed::OUT_OF_METERS,
        ),
    ]
}

fn of_ports_and_tables() -> Vec<Case> {
    let port_mod = |number: u32, hw_addr, mask: PortConfig| {
        Message::PortMod(PortMod {
            port_no: PortNo(number),
            hw_addr,
            config: mask,
            mask,
            ..PortMod::default()
        })
    };
    let own = port(1).hw_addr;
    let table_mod = TableMod {
        table_id: TableId(9),
        ..TableMod::default()
    };
    let unknown_bits = TableMod {
        config: 1 << 31,
        ..TableMod::default()
    };
    let no_criterion = TableMod {
        eviction: Some(EvictionFlags(0)),
        ..TableMod::default()
    };
    let set_config = SwitchConfig {
        flags: ConfigFlags(0xff),
        miss_send_len: MaxLen(9),
    };
    let features = TableFeatures(TableFeatureSet {
        table_id: TableId(9),
        ..TableFeatureSet::default()
    });
    vec![
        case(
            port_mod(9, own, PortConfig::NO_RECV),
            PortModFailed::BAD_PORT,
        ),
        case(
            port_mod(1, Mac([9; 6]), PortConfig::NO_RECV),
            PortModFailed::BAD_HW_ADDR,
        ),
        case(port_mod(1, own, PortConfig(2)), PortModFailed::BAD_CONFIG),
        case(
            port_mod(1, own, PortConfig::PORT_DOWN),
            PortModFailed::EPERM,
        ),
        case(Message::TableMod(table_mod), TableModFailed::BAD_TABLE),
        case(Message::TableMod(unknown_bits), TableModFailed::BAD_CONFIG),
        case(Message::TableMod(no_criterion), BadProperty::BAD_VALUE),
        case(
            Message::SetConfig(set_config),
            SwitchConfigFailed::BAD_FLAGS,
        ),
        case(
            ask(RequestBody::TableFeatures(vec![features])),
            TableFeaturesFailed::BAD_TABLE,
        ),
    ]
}

fn of_queues() -> Vec<Case> {
    let at_port_9 = QueueStatsRequest {
        port_no: PortNo(9),
        queue_id: QueueId::ALL,
    };
    let delete = queues::delete(PortNo(3), QueueId(9));
    let discipline = queues::set_discipline(PortNo(3), "none");
    vec![
        case(ask(RequestBody::Queue(at_port_9)), QueueOpFailed::BAD_PORT),
        case(queue(9, 1, "min=10"), QueueOpFailed::BAD_PORT),
        case(queue(3, 2, "min=999"), QueueOpFailed::EPERM),
        case(Message::Experimenter(delete), QueueOpFailed::BAD_QUEUE),
        case(Message::Experimenter(discipline), QueueOpFailed::EPERM),
    ]
}

fn of_packets() -> Vec<Case> {
    let out = PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo::CONTROLLER,
        actions: vec![Action::output(PortNo(2))],
        data: Bytes(vec![2; 60]),
        ..PacketOut::default()
    };
    let packet_out = |out: PacketOut| Message::PacketOut(out);
    let unknown_type = FieldMatch::exact(PACKET_TYPE, 0x1_7777);
    vec![
        case(
            packet_out(PacketOut {
                buffer_id: BufferId(77),
                ..out.clone()
            }),
            BadRequest::BUFFER_UNKNOWN,
        ),
        case(
            packet_out(PacketOut {
                in_port: PortNo::FLOOD,
                ..out.clone()
            }),
            BadRequest::BAD_PORT,
        ),
        case(
            packet_out(PacketOut {
                data: Bytes::default(),
                ..out.clone()
            }),
            BadRequest::BAD_PACKET,
        ),
        case(
            packet_out(PacketOut {
                fields: Match::new(&[unknown_type]).unwrap(),
                ..out
            }),
            BadMatch::BAD_VALUE,
        ),
    ]
}

fn of_controllers() -> Vec<Case> {
    let unknown_reason = AsyncConfig {
        packet_in: 1 << 31,
        ..AsyncConfig::initial(Version::V1_5)
    };
    let twice = vec![
        monitor(2, FlowMonitorCommand::ADD),
        monitor(77, FlowMonitorCommand::DELETE),
    ];
    let no_such_table = FlowStatsRequest {
        table_id: TableId(9),
        ..FlowStatsRequest::default()
    };
    let no_such_port = PortRequest { port_no: PortNo(9) };
    let reply = ExtValue::new(&flow_state::VALUES[2], vec![0, 0], Bytes::default());
    vec![
        case(role(ControllerRole::MASTER, 4), RoleRequestFailed::STALE),
        case(
            Message::SetAsync(unknown_reason),
            AsyncConfigFailed::INVALID,
        ),
        case(
            ask(RequestBody::FlowMonitor(twice)),
            FlowMonitorFailed::UNKNOWN_MONITOR,
        ),
        case(
            ask(RequestBody::Flow(no_such_table)),
            BadRequest::BAD_TABLE_ID,
        ),
        case(
            ask(RequestBody::PortStats(no_such_port)),
            BadRequest::BAD_PORT,
        ),
        case(Message::Experimenter(reply), BadRequest::BAD_EXP_TYPE),
        case(Message::BarrierReply(Empty), BadRequest::BAD_TYPE),
    ]
}

fn of_bundles(catalogue: &Catalogue) -> Vec<Case> {
    let add = |text: &str| flow(FlowModCommand::ADD, text, catalogue);
    let barrier = || Message::BarrierRequest(Empty);
    let unknown_flag = BundleControl {
        bundle_id: 9,
        ty: BundleControlType::OPEN_REQUEST,
        flags: BundleFlags(1 << 15),
        ..BundleControl::default()
    };
    vec![
        case(
            Message::BundleControl(unknown_flag),
            BundleFailed::BAD_FLAGS,
        ),
        case(
            control(9, BundleControlType::COMMIT_REQUEST),
            BundleFailed::BAD_ID,
        ),
        case(control(9, BundleControlType(77)), BundleFailed::BAD_TYPE),
        case(commit_at(SCHEDULED, NOW), BundleFailed::BUNDLE_IN_PROGRESS),
        case(
            bundle_add(9, XID + 1, add("table=2,actions=drop")),
            BundleFailed::MSG_BAD_XID,
        ),
        // Also where it would open a bundle.
        case(bundle_add(1, XID, barrier()), BundleFailed::MSG_UNSUP),
        case(bundle_add(8, XID, barrier()), BundleFailed::MSG_UNSUP),
        (
            vec![
                bundle_add(9, XID, add("table=2,actions=output:2")),
                bundle_add(9, XID, add("table=2,actions=group:77")),
                control(9, BundleControlType::COMMIT_REQUEST),
            ],
            vec![BadAction::BAD_OUT_GROUP, BundleFailed::MSG_FAILED],
        ),
    ]
}

#[test]
fn a_message_that_is_refused_changes_nothing_but_is_answered() {
    let mut used = UsedSwitch::new();
    let before = used.picture();
    let catalogue = used.switch.catalogue().clone();
    let mut seen = BTreeSet::new();
    let cases = [
        of_entries(&catalogue),
        of_groups_and_meters(&catalogue),
        of_ports_and_tables(),
        of_queues(),
        of_packets(),
        of_controllers(),
        of_bundles(&catalogue),
    ];
    for (messages, errors) in cases.into_iter().flatten() {
        let text = format!("{messages:?}");
        assert_eq!(used.give(messages), errors, "{text}");
        used.assert_same(&before, &text);
        let rows = errors.iter().filter_map(|error| error.row());
        seen.extend(rows.map(|row| row.type_name));
    }
    // Before there are messages: see `connections`.
    seen.insert("HELLO_FAILED");
    let types: Vec<&str> = ERRORS.iter().map(|row| row.type_name).collect();
    assert_all_seen(&seen, &types);
    used.conclude();
}
