//! Every message and multipart of every version, on full tables: the longest silence of others.

use std::time::{Duration, Instant};

use bofuss_oflib::ExtValue;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{BOFUSS, ExtKind, ExtRow};
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::{
    ExtBody, FlowMonitorRequest, MULTIPARTS, MeterRequest, PortDescRequest, PortRequest,
    QueueStatsRequest,
};
use bofuss_oflib::message::table_mod::TableConfig;
use bofuss_oflib::message::{
    AsyncConfig, ErrorMsg, Hello, MESSAGES, MeterMod, PacketOut, RequestForward, TableMod,
};
use bofuss_oflib::text::parse_meter;
use bofuss_oflib::types::{BufferId, MeterId};

use super::*;

/// A generous bound for a slice of a program without optimizations, on a busy machine.
const LONGEST: Duration = Duration::from_millis(250);
const METERS: u32 = 1000;
static ROW: ExtRow = ExtRow::new(ExtKind::Multipart, BOFUSS, 99, "nothing");

/// A switch whose second connection speaks `version`, with many entries, groups and meters.
fn full(version: Version) -> (Lab, ConnId) {
    let mut lab = lab();
    for id in 1..=METERS {
        let text = format!("meter={id},pktps,bands=type=drop,rate=1000");
        let meter = parse_meter(&text, MeterModCommand::ADD).unwrap();
        lab.message(Message::MeterMod(meter));
    }
    for id in 101..=1000 {
        let group = group(&lab, GroupModCommand::ADD, id, 2);
        lab.message(group);
    }
    lab.flow(C::MODIFY, "table=1,actions=meter:1,group:1");
    lab.work();
    let conn = ConnId(3);
    lab.switch.connected(lab.now, conn, version, true);
    lab.io.messages.clear();
    (lab, conn)
}

/// The messages of a type that cause most work.
fn messages(name: &str, lab: &Lab) -> Vec<Message> {
    let one = match name {
        "HELLO" => Message::Hello(Hello::default()),
        "ERROR" => Message::Error(ErrorMsg::quoting(BadRequest::BAD_TYPE, &[])),
        "ECHO_REQUEST" => Message::EchoRequest(Bytes(vec![0; 65_000])),
        "ECHO_REPLY" => Message::EchoReply(Bytes(vec![0; 65_000])),
        "EXPERIMENTER" => Message::Experimenter(bofuss_agent::trace::request(PortNo(1), &frame())),
        "FEATURES_REQUEST" => Message::FeaturesRequest(Empty),
        "GET_CONFIG_REQUEST" => Message::GetConfigRequest(Empty),
        "SET_CONFIG" => Message::SetConfig(Default::default()),
        "PACKET_OUT" => Message::PacketOut(PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNo(1),
            actions: vec![Action::output(PortNo::TABLE)],
            data: Bytes(frame()),
            ..PacketOut::default()
        }),
        "FLOW_MOD" => {
            return vec![
                flow(
                    lab,
                    C::ADD,
                    "table=1,priority=2000,check_overlap,udp,actions=drop",
                ),
                flow(lab, C::MODIFY, "table=1,actions=output:4"),
                flow(lab, C::MODIFY_STRICT, "table=1,priority=5,actions=output:4"),
                flow(lab, C::DELETE, "table=all"),
            ];
        }
        "GROUP_MOD" => {
            let mut all: Vec<_> = (1..100)
                .map(|id| group(lab, GroupModCommand::MODIFY, id, 3))
                .collect();
            all.push(Message::GroupMod(GroupMod {
                command: GroupModCommand::DELETE,
                group_id: GroupId::ALL,
                ..GroupMod::default()
            }));
            return all;
        }
        "PORT_MOD" => Message::PortMod(Default::default()),
        "TABLE_MOD" => Message::TableMod(TableMod {
            table_id: TableId::ALL,
            config: TableConfig::EVICTION.0,
            ..TableMod::default()
        }),
        "MULTIPART_REQUEST" => read(RequestBody::Desc(Empty)),
        "BARRIER_REQUEST" => Message::BarrierRequest(Empty),
        "QUEUE_GET_CONFIG_REQUEST" => Message::QueueGetConfigRequest(Default::default()),
        "ROLE_REQUEST" => Message::RoleRequest(Role::default()),
        "GET_ASYNC_REQUEST" => Message::GetAsyncRequest(Empty),
        "SET_ASYNC" => Message::SetAsync(AsyncConfig::default()),
        "METER_MOD" => Message::MeterMod(MeterMod {
            command: MeterModCommand::DELETE,
            meter_id: MeterId::ALL,
            ..MeterMod::default()
        }),
        "BUNDLE_ADD_MESSAGE" => Message::BundleAdd(BundleAdd {
            bundle_id: 6,
            flags: BundleFlags::ATOMIC,
            xid: 7,
            message: Box::new(flow(lab, C::DELETE, "table=1")),
            experimenters: Vec::new(),
        }),
        "BUNDLE_CONTROL" => {
            let commit = control(T::COMMIT_REQUEST, BundleFlags::ATOMIC);
            return vec![Message::BundleControl(commit)];
        }
        // Only switches send these, and are not told by others.
        "FEATURES_REPLY" => Message::FeaturesReply(Default::default()),
        "GET_CONFIG_REPLY" => Message::GetConfigReply(Default::default()),
        "PACKET_IN" => Message::PacketIn(Default::default()),
        "FLOW_REMOVED" => Message::FlowRemoved(Default::default()),
        "PORT_STATUS" => Message::PortStatus(Default::default()),
        "MULTIPART_REPLY" => Message::MultipartReply(ReplyBody::Flow(Vec::new()).into()),
        "BARRIER_REPLY" => Message::BarrierReply(Empty),
        "QUEUE_GET_CONFIG_REPLY" => Message::QueueGetConfigReply(Default::default()),
        "ROLE_REPLY" => Message::RoleReply(Role::default()),
        "GET_ASYNC_REPLY" => Message::GetAsyncReply(AsyncConfig::default()),
        "ROLE_STATUS" => Message::RoleStatus(Default::default()),
        "TABLE_STATUS" => Message::TableStatus(Default::default()),
        "REQUESTFORWARD" => Message::RequestForward(RequestForward {
            xid: 1,
            request: Box::new(group(lab, GroupModCommand::ADD, 1, 2)),
        }),
        "CONTROLLER_STATUS" => Message::ControllerStatus(Default::default()),
        other => panic!("{other} needs a case: the request that causes most work"),
    };
    vec![one]
}

/// The multipart requests of a type that cause most work.
fn multiparts(name: &str, lab: &Lab) -> Vec<RequestBody> {
    let meters = MeterRequest {
        meter_id: MeterId::ALL,
    };
    let one = match name {
        "DESC" => RequestBody::Desc(Empty),
        "FLOW" => RequestBody::Flow(all_flows()),
        "AGGREGATE" => RequestBody::Aggregate(all_flows()),
        "TABLE" => RequestBody::Table(Empty),
        "PORT_STATS" => RequestBody::PortStats(PortRequest {
            port_no: PortNo::ANY,
        }),
        "QUEUE" => RequestBody::Queue(QueueStatsRequest::default()),
        "GROUP" => RequestBody::Group(GroupRequest {
            group_id: GroupId::ALL,
        }),
        "GROUP_DESC" => RequestBody::GroupDesc(GroupDescRequest::ALL),
        "GROUP_FEATURES" => RequestBody::GroupFeatures(Empty),
        "METER" => RequestBody::Meter(meters),
        "METER_CONFIG" => RequestBody::MeterConfig(meters),
        "METER_FEATURES" => RequestBody::MeterFeatures(Empty),
        "TABLE_FEATURES" => {
            let first = lab.switch.datapath().shape().features()[..1].to_vec();
            return vec![
                RequestBody::TableFeatures(Vec::new()),
                RequestBody::TableFeatures(first),
            ];
        }
        "PORT_DESC" => RequestBody::PortDesc(PortDescRequest {
            port_no: PortNo::ANY,
        }),
        "TABLE_DESC" => RequestBody::TableDesc(Empty),
        "QUEUE_DESC" => RequestBody::QueueDesc(QueueStatsRequest::default()),
        "FLOW_MONITOR" => RequestBody::FlowMonitor(vec![FlowMonitorRequest {
            monitor_id: 1,
            table_id: TableId::ALL,
            out_port: PortNo::ANY,
            out_group: GroupId::ANY,
            ..FlowMonitorRequest::default()
        }]),
        "FLOW_STATS" => RequestBody::FlowCounters(all_flows()),
        "CONTROLLER_STATUS" => RequestBody::ControllerStatus(Empty),
        "BUNDLE_FEATURES" => RequestBody::BundleFeatures(Default::default()),
        "EXPERIMENTER" => {
            RequestBody::Experimenter(ExtBody(ExtValue::new(&ROW, vec![], Bytes(vec![]))))
        }
        other => panic!("{other} needs a case: the request that causes most work"),
    };
    vec![one]
}

/// Handles a message and all that follows from it. Before each slice, another connection asks and
/// is answered. Returns the longest slice.
fn longest_slice(lab: &mut Lab, conn: ConnId, message: Message) -> Duration {
    let started = Instant::now();
    lab.ask(conn, 7, message);
    let mut longest = started.elapsed();
    while lab.switch.has_work(&lab.io) {
        asks_at_once(lab);
        let started = Instant::now();
        lab.switch.work(lab.now, &mut lab.io);
        longest = longest.max(started.elapsed());
        lab.io.messages.clear();
    }
    asks_at_once(lab);
    longest
}

/// Checks the messages, or multiparts, of these types.
fn check(version: Version, all: impl Iterator<Item = &'static str>, is_multipart: bool) {
    let (mut lab, mut conn) = full(version);
    for name in all {
        let entries = |lab: &Lab| lab.switch.datapath().tables()[1].len();
        if entries(&lab) < usize::from(ENTRIES) || lab.switch.datapath().meters().count() == 0 {
            (lab, conn) = full(version);
        }
        if name == "BUNDLE_CONTROL" {
            let modify = flow(&lab, C::MODIFY, "table=1,actions=output:3");
            fill(&mut lab, conn, vec![modify; 5]);
        }
        let requests = if is_multipart {
            let bodies = multiparts(name, &lab).into_iter();
            bodies.map(read).collect()
        } else {
            messages(name, &lab)
        };
        for request in requests {
            let longest = longest_slice(&mut lab, conn, request);
            assert!(longest < LONGEST, "{version:?} {name}: {longest:?}");
        }
    }
}

#[test]
fn no_message_of_any_version_silences_another_connection() {
    for version in Version::ALL.iter().copied() {
        let rows = MESSAGES.iter().filter(|row| row.2.has(version));
        check(version, rows.map(|row| row.1), false);
    }
}

#[test]
fn no_multipart_of_any_version_silences_another_connection() {
    for version in Version::ALL.iter().copied() {
        let rows = MULTIPARTS.iter().filter(|row| row.2.has(version));
        check(version, rows.map(|row| row.1), true);
    }
}
