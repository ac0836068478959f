//! A switch in use, and a picture of all that is in it.

use alloc::string::ToString;

use bofuss_datapath::Config;
use bofuss_ext::queues;
use bofuss_frame::Pool;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags, Timestamp};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::flow_monitor::{FlowMonitorCommand, FlowMonitorFlags};
use bofuss_oflib::message::multipart::{
    BundleFeaturesRequest, FlowMonitorRequest, FlowStatsRequest, GroupDescRequest, GroupRequest,
    MeterRequest, PortDescRequest, PortRequest, QueueStatsRequest, RequestBody,
};
use bofuss_oflib::message::{
    BundleAdd, BundleControl, ControllerRole, Empty, FlowModCommand, Hello, PacketOut,
    QueueConfigRequest, Role,
};
use bofuss_oflib::text::{parse_flow, parse_group, parse_meter};
use bofuss_oflib::types::{BufferId, GroupId, MeterId, QueueId, TableId};
use bofuss_oflib::{Action, ErrorCode, ExtValue, Match};

use super::*;
use crate::config::{POOL_BYTES, port};

/// The time at which inputs are refused and pictures are taken.
pub(super) const NOW: Time = Time(2 * Time::SEC);
/// A time before what has happened.
pub(super) const EARLIER: Time = Time(Time::SEC / 2);
/// The time at which the scheduled bundle is committed.
const COMMIT_AT: Time = Time(2_900_000_000);
/// The time at which bundles that were open at [`NOW`] have timed out.
const IDLE: Time = Time(13 * Time::SEC);
/// The time that the clock of scheduled bundles shows at time 0.
const CLOCK_AT_0: u64 = 1_000_000 * Time::SEC;
/// The transaction id of every message.
pub(super) const XID: u32 = 7;
/// Bytes of the frames that arrive.
const FRAME_BYTES: usize = 100;
/// The open bundle, and the scheduled one.
const OPEN: u32 = 1;
pub(super) const SCHEDULED: u32 = 2;

/// A switch with entries in two tables, of which one is full; groups, a meter, a queue with frames
/// that wait, the state of a flow, a held packet, bundles, a monitor, timers, and effects that were
/// not taken.
pub(super) struct UsedSwitch {
    pub(super) switch: EmbeddedSwitch,
    /// A controller whose messages come as bytes, in 1.3.
    pub(super) wired: ConnId,
    /// A controller in the program, whose messages are values of 1.5; the master.
    pub(super) typed: ConnId,
    /// The packet that is held for it.
    held: BufferId,
}

impl UsedSwitch {
    pub(super) fn new() -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let config = config(catalogue.clone(), Pool::new(POOL_BYTES));
        let mut switch = EmbeddedSwitch::new(Time(0), config).unwrap();
        switch.set_clock(CLOCK_AT_0);
        for number in 1..=3 {
            let desc = PortDesc {
                curr_speed: 1_000_000,
                ..port(number)
            };
            let added = switch.add_port(Time(0), desc, OffloadCapabilities::default());
            added.unwrap();
        }
        let wired = switch.connect(true);
        let typed = switch.connect_typed(Time(0), Version::V1_5);
        let mut this = Self {
            switch,
            wired,
            typed,
            held: BufferId::NO_BUFFER,
        };
        this.say_hello(wired);
        for message in programme(&catalogue) {
            let errors = this.give(vec![message]);
            assert_eq!(errors, []);
        }
        this.switch.drain().for_each(drop);
        this.receive();
        while this.switch.next_tick().is_some_and(|due| due <= NOW) {
            this.switch.tick(NOW);
        }
        this
    }

    /// Lets frames arrive on all ports; what they cause is not taken.
    fn receive(&mut self) {
        let room = self.switch.set_port_room(NOW, PortNo(3), Some(1));
        room.unwrap();
        for (port, count) in [(1, 3), (2, 3), (3, 1)] {
            let mut frames = Vec::new();
            for _ in 0..count {
                frames.push(self.switch.frame(&[2; FRAME_BYTES]).unwrap());
            }
            let received = self.switch.receive(NOW, PortNo(port), &mut frames);
            received.unwrap();
        }
        let waiting = self.switch.effects.waiting.iter();
        let mut held = waiting.filter_map(|effect| match effect {
            Effect::Message {
                message: Message::PacketIn(packet),
                ..
            } => Some(packet.buffer_id),
            _ => None,
        });
        self.held = held.next().unwrap();
    }

    /// The configuration of this switch, for another switch.
    pub(super) fn config(&self) -> EmbeddedConfig {
        let pool = self.switch.switch().datapath().pool();
        config(self.switch.catalogue().clone(), pool.clone())
    }

    pub(super) fn say_hello(&mut self, conn: ConnId) {
        let hello = Message::Hello(Hello::offering(&[Version::V1_3]));
        let mut bytes = Vec::new();
        let codec = Codec::new(Version::V1_3, Arc::default());
        codec.encode(0, &hello, &mut bytes).unwrap();
        assert_eq!(self.switch.feed(NOW, conn, &bytes), Ok(bytes.len()));
    }

    /// Does something while the effects that wait are put aside; returns what it causes.
    pub(super) fn effects_of(&mut self, act: impl FnOnce(&mut Self)) -> Vec<Effect> {
        let waiting = core::mem::take(&mut self.switch.effects.waiting);
        act(self);
        let caused = self.switch.drain().collect();
        self.switch.effects.waiting = waiting;
        caused
    }

    /// Gives messages on the typed connection; returns the errors that answer them.
    pub(super) fn give(&mut self, messages: Vec<Message>) -> Vec<ErrorCode> {
        let effects = self.effects_of(|this| {
            for message in messages {
                let taken = this.switch.message(NOW, this.typed, XID, message);
                assert_eq!(taken, Ok(true));
            }
        });
        let mut refused = Vec::new();
        let mut errors = Vec::new();
        for effect in effects {
            match effect {
                Effect::Refused { error, .. } => refused.push(error),
                Effect::Message {
                    message: Message::Error(error),
                    ..
                } => errors.push(error.error),
                _ => {}
            }
        }
        assert!(refused.iter().all(|error| errors.contains(error)));
        errors
    }

    /// All that waits in the switch, all that controllers can ask for, and what they cannot.
    pub(super) fn picture(&mut self) -> Vec<String> {
        let waiting = self.switch.effects.waiting.iter();
        let mut lines: Vec<String> = waiting.map(line).collect();
        for request in requests() {
            let text = request.to_string();
            let replies = self.effects_of(|this| {
                let taken = this.switch.message(NOW, this.typed, XID, request);
                assert_eq!(taken, Ok(true), "{text}");
            });
            assert!(!replies.is_empty(), "{text}");
            lines.extend(replies.iter().map(line));
        }
        self.add_connections(&mut lines);
        self.add_counters(&mut lines);
        lines
    }

    /// Checks that the picture is as `before`, after `what` was refused.
    pub(super) fn assert_same(&mut self, before: &[String], what: &str) {
        let after = self.picture();
        for (one, other) in before.iter().zip(&after) {
            assert_eq!(one, other, "{what}");
        }
        assert_eq!(before.len(), after.len(), "{what}");
    }

    /// Adds what the switch has of its connections.
    fn add_connections(&self, lines: &mut Vec<String>) {
        let Effects {
            peers,
            room,
            links_fixed,
            ..
        } = &self.switch.effects;
        let versions = &self.switch.versions;
        lines.push(format!("{room:?} {links_fixed} {versions:?}"));
        let agent = self.switch.switch();
        for (conn, peer) in peers {
            let role = agent.role(*conn);
            let buffered = peer.framer.buffered().len();
            let unread = (peer.waiting_bytes, peer.held_bytes);
            lines.push(format!("{conn:?} {role:?} {buffered} {unread:?}"));
        }
    }

    /// Adds timers, counters and states that no message reports.
    fn add_counters(&self, lines: &mut Vec<String>) {
        let agent = self.switch.switch();
        let datapath = agent.datapath();
        let next_tick = self.switch.next_tick();
        let has_work = self.switch.has_work();
        lines.push(format!("{next_tick:?} {has_work}"));
        lines.push(format!("{:?}", agent.clock().errors));
        let pool = datapath.pool().stats();
        lines.push(format!("{} {}", pool.bytes_in_use, pool.refused));
        for (number, port) in datapath.ports() {
            lines.push(format!("{number} {port:?}"));
        }
        for (reason, count) in datapath.lane().drops() {
            lines.push(format!("{} {count}", reason.name()));
        }
        for drops in datapath.hooks().drops() {
            lines.push(format!("{drops:?}"));
        }
        for hook in 0.. {
            let mut metrics = Vec::new();
            let Some((name, _)) = datapath.hooks().metrics(NOW, hook, 0, &mut metrics) else {
                break;
            };
            for metric in metrics {
                let of = format!("{name} {} {:?}", metric.name, metric.labels);
                lines.push(format!("{of} {}", metric.value));
            }
        }
    }

    /// Checks that what waited still happens.
    pub(super) fn conclude(mut self) {
        self.switch.drain().for_each(drop);
        let packet_out = Message::PacketOut(PacketOut {
            buffer_id: self.held,
            in_port: PortNo::CONTROLLER,
            actions: vec![Action::output(PortNo(2))],
            ..PacketOut::default()
        });
        let sent = self.effects_of(|this| {
            let taken = this.switch.message(NOW, this.typed, XID, packet_out);
            assert_eq!(taken, Ok(true));
        });
        assert_eq!(transmitted(&sent), [2], "the held packet");
        let left = self.effects_of(|this| {
            let room = this.switch.set_port_room(NOW, PortNo(3), None);
            room.unwrap();
        });
        assert_eq!(transmitted(&left), [3, 3], "the frames of the queue");
        let committed = self.effects_of(|this| {
            let commit = control(OPEN, BundleControlType::COMMIT_REQUEST);
            let taken = this.switch.message(NOW, this.typed, XID, commit);
            assert_eq!(taken, Ok(true));
            while let Some(due) = this.switch.next_tick().filter(|due| *due <= COMMIT_AT) {
                this.switch.tick(due.max(NOW));
            }
        });
        let commits = committed.iter().filter(|effect| {
            matches!(effect, Effect::Message { message: Message::BundleControl(reply), .. }
                if reply.ty == BundleControlType::COMMIT_REPLY)
        });
        assert_eq!(commits.count(), 2, "{committed:?}");
        let later = self.effects_of(|this| this.switch.tick(IDLE));
        let mut errors = later.iter().filter(|effect| {
            matches!(
                effect,
                Effect::Message {
                    message: Message::Error(_),
                    ..
                }
            )
        });
        assert!(errors.next().is_none(), "another bundle is open: {later:?}");
    }
}

/// The ports by which frames leave.
fn transmitted(effects: &[Effect]) -> Vec<u32> {
    let ports = effects.iter().filter_map(|effect| match effect {
        Effect::Transmit { port, frame, .. } => {
            assert_eq!(frame.len(), FRAME_BYTES);
            Some(port.0)
        }
        _ => None,
    });
    ports.collect()
}

fn config(catalogue: Arc<Catalogue>, pool: Pool) -> EmbeddedConfig {
    EmbeddedConfig {
        tables: Config {
            n_tables: 4,
            max_entries: 4,
            max_groups: 2,
            max_meters: 1,
            max_bands: 1,
            cache_flows: 64,
            ..Config::default()
        },
        pool,
        links_fixed: true,
        ..EmbeddedConfig::with_catalogue(catalogue)
    }
}

/// An effect as text, without what its frame's pool has.
fn line(effect: &Effect) -> String {
    match effect {
        Effect::Transmit { port, queue, frame } => {
            format!("{port} {queue} {:02x?}", frame.bytes())
        }
        other => format!("{other:?}"),
    }
}

pub(super) fn flow(command: FlowModCommand, text: &str, catalogue: &Catalogue) -> Message {
    Message::FlowMod(parse_flow(text, command, catalogue).unwrap())
}

pub(super) fn group(command: GroupModCommand, text: &str, catalogue: &Catalogue) -> Message {
    Message::GroupMod(parse_group(text, command, catalogue).unwrap())
}

pub(super) fn meter(command: MeterModCommand, text: &str) -> Message {
    Message::MeterMod(parse_meter(text, command).unwrap())
}

pub(super) fn queue(port: u32, id: u32, spec: &str) -> Message {
    let spec = queues::parse(spec).unwrap();
    Message::Experimenter(queues::modify(PortNo(port), QueueId(id), &spec))
}

pub(super) fn ask(body: RequestBody) -> Message {
    Message::MultipartRequest(body.into())
}

pub(super) fn control(bundle_id: u32, ty: BundleControlType) -> Message {
    Message::BundleControl(BundleControl {
        bundle_id,
        ty,
        ..BundleControl::default()
    })
}

pub(super) fn commit_at(bundle_id: u32, at: Time) -> Message {
    Message::BundleControl(BundleControl {
        bundle_id,
        ty: BundleControlType::COMMIT_REQUEST,
        flags: BundleFlags::TIME,
        scheduled: Some(Timestamp::of_nanos(CLOCK_AT_0 + at.0)),
        ..BundleControl::default()
    })
}

pub(super) fn bundle_add(bundle_id: u32, xid: u32, message: Message) -> Message {
    Message::BundleAdd(BundleAdd {
        bundle_id,
        flags: BundleFlags::default(),
        xid,
        message: Box::new(message),
        experimenters: Vec::new(),
    })
}

pub(super) fn monitor(monitor_id: u32, command: FlowMonitorCommand) -> FlowMonitorRequest {
    FlowMonitorRequest {
        monitor_id,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        flags: FlowMonitorFlags::ADD | FlowMonitorFlags::REMOVED | FlowMonitorFlags::MODIFY,
        table_id: TableId::ALL,
        command,
        fields: Match::ANY,
    }
}

pub(super) fn role(role: ControllerRole, generation_id: u64) -> Message {
    Message::RoleRequest(Role {
        role,
        generation_id,
        short_id: 0,
    })
}

/// Returns the messages with which the switch is programmed.
fn programme(catalogue: &Catalogue) -> Vec<Message> {
    let mut messages = vec![
        role(ControllerRole::MASTER, 5),
        meter(
            MeterModCommand::ADD,
            "meter=1,pktps,stats,bands=type=drop,rate=1000",
        ),
        queue(3, 1, "min=10"),
    ];
    for text in [
        "group_id=1,type=select,bucket=output:2",
        "group_id=2,type=all,bucket=group:1",
    ] {
        messages.push(group(GroupModCommand::ADD, text, catalogue));
    }
    for text in [
        "priority=4,in_port=1,actions=meter:1,set_flow_state(state=7,idle_timeout=0),goto_table:1",
        "priority=4,in_port=2,actions=set_queue:1,output:3",
        "priority=4,in_port=3,actions=controller:64",
        "priority=1,hard_timeout=60,send_flow_rem,in_port=7,actions=drop",
        "table=1,priority=5,idle_timeout=30,actions=group:1",
    ] {
        messages.push(flow(FlowModCommand::ADD, text, catalogue));
    }
    let monitors = vec![monitor(1, FlowMonitorCommand::ADD)];
    messages.push(ask(RequestBody::FlowMonitor(monitors)));
    for bundle in [OPEN, SCHEDULED] {
        let text = format!("table=2,priority={bundle},actions=drop");
        let add = flow(FlowModCommand::ADD, &text, catalogue);
        messages.push(control(bundle, BundleControlType::OPEN_REQUEST));
        messages.push(bundle_add(bundle, XID, add));
    }
    messages.push(commit_at(SCHEDULED, COMMIT_AT));
    messages
}

/// Every request that only asks.
fn requests() -> Vec<Message> {
    let flows = FlowStatsRequest {
        table_id: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        ..FlowStatsRequest::default()
    };
    let queues = QueueStatsRequest {
        port_no: PortNo::ANY,
        queue_id: QueueId::ALL,
    };
    let groups = GroupRequest {
        group_id: GroupId::ALL,
    };
    let meters = MeterRequest {
        meter_id: MeterId::ALL,
    };
    let bodies = [
        RequestBody::Desc(Empty),
        RequestBody::Flow(flows.clone()),
        RequestBody::Aggregate(flows.clone()),
        RequestBody::Table(Empty),
        RequestBody::PortStats(PortRequest {
            port_no: PortNo::ANY,
        }),
        RequestBody::Queue(queues.clone()),
        RequestBody::Group(groups),
        RequestBody::GroupDesc(GroupDescRequest::ALL),
        RequestBody::GroupFeatures(Empty),
        RequestBody::Meter(meters.clone()),
        RequestBody::MeterConfig(meters),
        RequestBody::MeterFeatures(Empty),
        RequestBody::TableFeatures(Vec::new()),
        RequestBody::PortDesc(PortDescRequest::ALL),
        RequestBody::TableDesc(Empty),
        RequestBody::QueueDesc(queues),
        RequestBody::FlowCounters(flows),
        RequestBody::ControllerStatus(Empty),
        RequestBody::BundleFeatures(BundleFeaturesRequest::default()),
    ];
    let mut requests: Vec<Message> = bodies.into_iter().map(ask).collect();
    let states = &bofuss_ext::flow_state::VALUES[1];
    requests.extend([
        Message::FeaturesRequest(Empty),
        Message::GetConfigRequest(Empty),
        Message::GetAsyncRequest(Empty),
        Message::QueueGetConfigRequest(QueueConfigRequest { port: PortNo::ANY }),
        role(ControllerRole::NOCHANGE, 0),
        Message::Experimenter(ExtValue::new(states, Vec::new(), Default::default())),
    ]);
    requests
}
