//! Plays the scenarios of `testdata/scenarios` on a virtual clock; their README tells the format.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, Switch, SwitchIo};
use bofuss_datapath::{Config, Datapath, Engine, Time};
use bofuss_ext::queues;
use bofuss_ext::trace::{self, Event, Trace};
use bofuss_frame::{Capabilities, Frame, Pool};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::field::IP_DSCP;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::group::{BucketCounter, GroupDesc};
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupRequest, MeterRequest, QueueStatsRequest, ReplyBody, RequestBody,
    TableFeatures,
};
use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState};
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::message::{
    ControllerRole, Empty, ErrorMsg, FlowModCommand, PacketOut, PortDesc, PortMod,
    QueueConfigRequest, Role,
};
use bofuss_oflib::text::{parse_actions, parse_flow, parse_group, parse_meter, parse_port};
use bofuss_oflib::types::{BufferId, GroupId, MeterId, QueueId};
use bofuss_oflib::wire::{Bytes, Text};
use bofuss_oflib::{
    Catalogue, Codec, EncodeError, ErrorCode, ExtValue, Mac, Match, Message, PortNo, Version,
};
use bofuss_packet::Packet;
use bofuss_packet::checksum::{fold, sum};
use bofuss_packet::craft::{self, Layer};
use bofuss_packet::offload;

#[path = "scenarios/engines.rs"]
mod engines;
#[path = "scenarios/openflow10.rs"]
mod openflow10;
#[path = "scenarios/reshape.rs"]
mod reshape;
#[path = "scenarios/super_frames.rs"]
mod super_frames;

/// What the switch did, a line each, as the scenario writes it behind `> `; whether entries are
/// told in full; how each connection reads it; whether links cannot be changed; the bytes of the
/// last message.
#[derive(Default)]
struct Recorder(Vec<String>, bool, BTreeMap<ConnId, Codec>, bool, Vec<u8>);

/// A message as it arrives at the other end of a connection. Errors: what its version cannot say,
/// or what is wrong with it.
fn across(
    codec: &Codec,
    message: &Message,
    bytes: &mut Vec<u8>,
) -> Result<Result<Message, ErrorCode>, EncodeError> {
    bytes.clear();
    codec.encode(7, message, bytes)?;
    let read = codec.decode(bytes);
    Ok(read.map(|(_, message)| message).map_err(|e| e.error))
}

impl SwitchIo for Recorder {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        // As on a wire: what the port takes off the switch's hands is done here.
        let whole = offload::segment(&frame, |mut part| {
            offload::finish_checksum(&mut part);
            self.0.push(format!("out {port} {}", hex(part.bytes())));
        });
        assert!(whole, "a port can cut what it is given");
    }
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, _: u32, message: Message) {
        let message = match across(&self.2[&conn], &message, &mut self.4) {
            Ok(message) => message.expect("what was written can be read"),
            Err(EncodeError::Unsaid(what)) => {
                let name = message.name();
                return self.0.push(format!("{} unsaid {name}: {what}", conn.0));
            }
            Err(error) => panic!("{error}"),
        };
        let conn = conn.0;
        match message {
            Message::Error(error) => {
                let row = error.error.row().unwrap();
                self.0
                    .push(format!("{conn} error {}/{}", row.type_name, row.code_name));
            }
            Message::PacketIn(p) => self.0.push(format!(
                "{conn} packet-in reason={} table={} cookie={:#x} {} \
                 total_len={} data={} buffer={}",
                p.reason,
                p.table_id,
                p.cookie,
                p.fields,
                p.total_len,
                p.data.0.len(),
                p.buffer_id
            )),
            Message::FlowRemoved(r) => self.0.push(format!(
                "{conn} flow-removed reason={} priority={} packets={} after={}.{:03}s",
                r.reason,
                r.priority,
                r.packet_count,
                r.duration_sec,
                r.duration_nsec / 1_000_000
            )),
            Message::PortStatus(s) => self.0.push(format!(
                "{conn} port-status {} {} config={} state={}",
                s.reason, s.desc.port_no, s.desc.config, s.desc.state
            )),
            Message::RoleReply(r) => {
                self.0
                    .push(format!("{conn} role {} {}", r.role, r.generation_id));
            }
            Message::MultipartReply(reply) => match reply.body {
                ReplyBody::Flow(entries) => self.0.extend(entries.iter().map(|e| {
                    let e = &e.0;
                    let (packets, bytes) = (e.packet_count, e.byte_count);
                    let full = format!(
                        "cookie={:#x} idle={} hard={} flags={} after={}.{:03}s ",
                        e.cookie,
                        e.idle_timeout,
                        e.hard_timeout,
                        e.flags,
                        e.duration_sec,
                        e.duration_nsec / 1_000_000
                    );
                    let full = if self.1 { full.as_str() } else { "" };
                    format!(
                        "{conn} flow {full}table={} priority={} packets={} bytes={} {} actions={}",
                        e.table_id, e.priority, packets, bytes, e.fields, e.instructions
                    )
                })),
                ReplyBody::Aggregate(a) => self.0.push(format!(
                    "{conn} aggregate packets={} bytes={} flows={}",
                    a.packet_count, a.byte_count, a.flow_count
                )),
                ReplyBody::TableFeatures(tables) => self.0.extend(
                    tables
                        .iter()
                        .map(|table| format!("{conn} {}", reshape::line(table))),
                ),
                ReplyBody::Queue(queues) => self.0.extend(queues.iter().map(|q| {
                    let (port, queue, after) = (q.port_no, q.queue_id, q.duration_sec);
                    let (packets, bytes, errors) = (q.tx_packets, q.tx_bytes, q.tx_errors);
                    format!(
                        "{conn} queue-stats port={port} queue={queue} packets={packets} \
                         bytes={bytes} errors={errors} after={after}.{:03}s",
                        q.duration_nsec / 1_000_000
                    )
                })),
                ReplyBody::GroupDesc(groups) => {
                    let line = |group: &GroupDesc| format!("{conn} {}", Text(group));
                    self.0.extend(groups.iter().map(line));
                }
                ReplyBody::Group(groups) => self.0.extend(groups.iter().map(|group| {
                    let g = &group.0;
                    let counts = |b: &BucketCounter| format!("{}/{}", b.packet_count, b.byte_count);
                    let buckets: Vec<_> = g.bucket_stats.iter().map(counts).collect();
                    format!(
                        "{conn} group {} refs={} packets={} bytes={} after={}s buckets={}",
                        g.group_id,
                        g.ref_count,
                        g.packet_count,
                        g.byte_count,
                        g.duration_sec,
                        buckets.join(",")
                    )
                })),
                ReplyBody::Meter(meters) => self.0.extend(meters.iter().map(|m| {
                    let counts = |b: &BucketCounter| format!("{}/{}", b.packet_count, b.byte_count);
                    let bands: Vec<_> = m.bands.iter().map(counts).collect();
                    format!(
                        "{conn} meter {} flows={} in={} after={}.{:03}s bands={}",
                        m.meter_id,
                        m.flow_count,
                        counts(&m.input),
                        m.duration_sec,
                        m.duration_nsec / 1_000_000,
                        bands.join(",")
                    )
                })),
                ReplyBody::MeterConfig(meters) => self
                    .0
                    .extend(meters.iter().map(|m| format!("{conn} {}", Text(m)))),
                ReplyBody::MeterFeatures(f) => self.0.push(format!("{conn} {}", Text(&f))),
                ReplyBody::GroupFeatures(f) => self.0.push(format!("{conn} {}", Text(&f))),
                body => self.0.push(format!("{conn} reply {}", body.name())),
            },
            Message::QueueGetConfigReply(config) => {
                let queues = config.queues.iter().map(|q| {
                    let properties = Text(&q.properties);
                    format!(
                        "{conn} queue port={} queue={} {properties}",
                        q.port, q.queue_id
                    )
                });
                self.0.extend(queues);
            }
            Message::FeaturesReply(f) if !f.ports.is_empty() => {
                let ports: Vec<_> = f.ports.iter().map(|p| p.port_no.to_string()).collect();
                let (tables, ports) = (f.n_tables, ports.join(","));
                let line = format!("{conn} FEATURES_REPLY tables={tables} ports={ports}");
                self.0.push(line);
            }
            Message::Experimenter(value) => {
                let args: Vec<_> = value.args.iter().map(u64::to_string).collect();
                let (name, data) = (value.row.name, hex(&value.data.0));
                self.0
                    .push(format!("{conn} {name} {} data={data}", args.join(" ")));
            }
            Message::FeaturesReply(f) if f.auxiliary_id != 0 => {
                let id = f.auxiliary_id;
                self.0
                    .push(format!("{conn} FEATURES_REPLY auxiliary_id={id}"));
            }
            Message::GetConfigReply(c) => self
                .0
                .push(format!("{conn} config {} {}", c.flags.0, c.miss_send_len)),
            Message::GetAsyncReply(a) => self.0.push(format!("{conn} async {}", Text(&a))),
            other => self.0.push(format!("{conn} {}", other.name())),
        }
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn may_change_links(&self) -> bool {
        !self.3
    }
    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        self.0.push(format!("advertise {port} {features}"));
    }
    fn set_link(&mut self, port: PortNo, up: bool) {
        self.0
            .push(format!("link {port} {}", if up { "up" } else { "down" }));
    }
}

/// Of the frames that are sent, so many at first and then every so manyth are traced.
const TRACED_AT_FIRST: usize = 50;
const TRACED_EVERY: usize = 11;

/// A line about a frame, as long as a trace has it.
fn cut(line: &str) -> String {
    let (head, hex) = line.rsplit_once(' ').unwrap();
    format!("{head} {}", &hex[..hex.len().min(2 * 128)])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A frame from words: `tcp 1 2 80`, `arp 1 2`, `vlan 7 ...`, `mpls 5 ...`, `ttl 1 ...`,
/// `dscp 10 ...`, `bytes 100 ...`, `hex ...`.
fn frame(words: &[&str]) -> Vec<u8> {
    let number = |at: usize| words[at].parse::<u16>().unwrap();
    if words[0] == "hex" {
        let digits = words[1..].concat();
        let pairs = (0..digits.len()).step_by(2);
        return pairs
            .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
            .collect();
    }
    if words[0] == "part" {
        let (whole, at, length) = (frame(&words[3..]), number(1), number(2));
        let (headers, payload) = whole.split_at(34);
        let end = usize::from(at + length);
        let mut bytes = [headers, &payload[usize::from(at)..end]].concat();
        let more = u16::from(end < payload.len()) << 13;
        bytes[16..18].copy_from_slice(&(20 + length).to_be_bytes());
        bytes[20..22].copy_from_slice(&(more | (at / 8)).to_be_bytes());
        bytes[24..26].fill(0);
        let checksum = !fold(sum(&bytes[14..34]));
        bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
        return bytes;
    }
    if words[0] == "dscp" {
        let pool = Pool::new(1 << 16);
        let mut packet = Packet::new(pool.frame(&frame(&words[2..])).unwrap(), PortNo(1));
        let value = (u128::from(number(1)) << 120).to_be_bytes();
        packet.set_field(IP_DSCP, &value).unwrap();
        return packet.frame.bytes().to_vec();
    }
    let mac = |n: u16| match n {
        255 => Mac([0xff; 6]),
        n => Mac([2, 0, 0, 0, 0, n as u8]),
    };
    let ip = |n: u16| [10, 0, 0, n as u8].into();
    let (mut at, mut ttl, mut tags, mut length) = (0, 64, Vec::new(), 20);
    while let "vlan" | "mpls" | "ttl" | "bytes" = words[at] {
        match words[at] {
            "ttl" => ttl = number(at + 1) as u8,
            "bytes" => length = number(at + 1).into(),
            kind => tags.push((kind, number(at + 1))),
        }
        at += 2;
    }
    let (from, to) = (number(at + 1), number(at + 2));
    let data: Vec<u8> = (0..length).map(|i| 0x5a ^ (i / 20) as u8).collect();
    let mut layer: Layer = match words[at] {
        "tcp" => craft::ipv4(
            ip(from),
            ip(to),
            ttl,
            craft::tcp(1000, number(at + 3), 2, &data),
        ),
        "udp" => craft::ipv4(
            ip(from),
            ip(to),
            ttl,
            craft::udp(1000, number(at + 3), &data),
        ),
        "arp" => craft::arp(1, mac(from), ip(from), Mac([0; 6]), ip(to)),
        "raw" => Layer::new(0x88b5, &data),
        other => panic!("no such frame: {other}"),
    };
    for (kind, value) in tags.into_iter().rev() {
        layer = match kind {
            "vlan" => craft::vlan(0x8100, value, layer),
            _ => craft::mpls(value.into(), 0, ttl, layer),
        };
    }
    let to = if words[at] == "arp" { 255 } else { to };
    craft::ethernet(mac(to), mac(from), layer)
}

struct Stage {
    switch: Switch,
    io: Recorder,
    now: Time,
    conn: ConnId,
    /// What connections speak that name no version.
    version: Version,
    catalogue: Arc<Catalogue>,
    pool: Pool,
    /// What ports take off its hands; those that are not named, nothing.
    capabilities: BTreeMap<PortNo, Capabilities>,
    /// Frames that were sent to it.
    sent: usize,
    /// What the tables could do at first.
    features: Vec<TableFeatures>,
}

impl Stage {
    fn new(ports: u32, config: Config, profile: &str, fail_mode: FailMode) -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let pool = Pool::new(1 << 26);
        let switch = switch(config, profile, fail_mode, &catalogue, &pool);
        let conn = ConnId(1);
        let mut this = Self {
            features: switch.datapath().table_features(),
            switch,
            io: Recorder::default(),
            now: Time(0),
            conn,
            version: Version::V1_3,
            catalogue,
            pool,
            capabilities: BTreeMap::new(),
            sent: 0,
        };
        (1..=ports).for_each(|port| this.port(PortNo(port), PortState(0), 0));
        this.io.0.clear();
        this
    }

    fn port(&mut self, port_no: PortNo, state: PortState, curr_speed: u32) {
        let hw_addr = Mac([2, 1, 0, 0, 0, port_no.0 as u8]);
        let desc = PortDesc {
            port_no,
            hw_addr,
            state,
            curr_speed,
            supported: PortFeatures::FD_10MB | PortFeatures::FD_100MB | PortFeatures::AUTONEG,
            ..PortDesc::default()
        };
        let capabilities = self.capabilities.get(&port_no).copied();
        self.switch.port_changed(
            self.now,
            desc,
            capabilities.unwrap_or_default(),
            &mut self.io,
        );
    }

    /// Opens a connection that speaks `version`.
    fn speaks(&mut self, conn: ConnId, version: Version) {
        let codec = Codec::new(version, self.catalogue.clone());
        self.io.2.insert(conn, codec);
    }

    fn message(&mut self, message: Message) {
        match across(&self.io.2[&self.conn], &message, &mut Vec::new()) {
            Ok(message) => self.arrived(message),
            Err(error) => {
                let line = format!("{} unsaid {}: {error}", self.conn.0, message.name());
                self.io.0.push(line);
            }
        }
    }

    /// Has the switch take what the sender's bytes were.
    fn arrived(&mut self, message: Result<Message, ErrorCode>) {
        let message = message.map_err(|error| ErrorMsg::quoting(error, &[]));
        let request = Request {
            xid: 7,
            head: &[],
            message,
        };
        self.switch
            .message(self.now, self.conn, request, &mut self.io);
        while self.switch.has_work(&self.io) {
            self.switch.work(self.now, &mut self.io);
        }
    }

    /// A frame from words; `gso N ...` is a super-frame, to be cut into segments of N bytes.
    fn frame(&self, words: &[&str]) -> Frame {
        let of = |words: &[&str]| self.pool.frame(&frame(words)).unwrap();
        match words {
            ["gso", bytes, words @ ..] => {
                super_frames::left_whole(of(words), words, bytes.parse().unwrap())
            }
            words => of(words),
        }
    }

    /// The frames that leave, as a trace tells it; `None` if they wait for others, or in a queue.
    fn told(&mut self, port: PortNo, frame: &[u8]) -> Option<(Vec<String>, String)> {
        self.sent += 1;
        if self.sent > TRACED_AT_FIRST && !self.sent.is_multiple_of(TRACED_EVERY) {
            return None;
        }
        let told = self.switch.trace(self.now, &trace::request(port, frame));
        let told = String::from_utf8(told.ok()?.data.0).unwrap();
        let told = Trace::read(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
        let mut events = told.stages.iter().flat_map(|stage| &stage.events);
        let waits = |event: &Event| matches!(event, Event::Fragment | Event::Queue { .. });
        let outs = told.result.iter().filter_map(|event| match event {
            Event::Out(frame) => Some(format!("out {} {}", frame.port, frame.hex)),
            _ => None,
        });
        (!told.cut && !events.any(waits)).then(|| (outs.collect(), told.to_string()))
    }

    fn play(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let filter = |catalogue: &Catalogue| {
            let text = words.get(1).copied().unwrap_or("");
            let flow = parse_flow(text, FlowModCommand::DELETE, catalogue).unwrap();
            FlowStatsRequest {
                table_id: flow.table_id,
                out_port: flow.out_port,
                out_group: flow.out_group,
                cookie: flow.cookie,
                cookie_mask: flow.cookie_mask,
                fields: flow.fields,
            }
        };
        match words[0] {
            "flow" => {
                let command = FlowModCommand::named(words[1]).unwrap();
                let text = words[2..].join(" ");
                let (text, buffer) = text.split_once(" #buffer=").unwrap_or((&text, ""));
                let mut flow_mod = parse_flow(text, command, &self.catalogue).unwrap();
                if !buffer.is_empty() {
                    flow_mod.buffer_id = BufferId(buffer.parse().unwrap());
                }
                self.message(Message::FlowMod(flow_mod));
            }
            "group" => {
                let command = GroupModCommand::named(words[1]).unwrap();
                let group = parse_group(&words[2..].join(" "), command, &self.catalogue);
                self.message(Message::GroupMod(group.unwrap()));
            }
            "meter" => {
                let number = || words[1].parse().unwrap();
                let command = MeterModCommand::named(words[1]);
                let command = command.unwrap_or_else(|| MeterModCommand(number()));
                let meter = parse_meter(words[2], command).unwrap();
                self.message(Message::MeterMod(meter));
            }
            "bytes" => {
                let codec = &self.io.2[&self.conn];
                let body = frame(&[&["hex"], &words[2..]].concat());
                let length = (body.len() + 8) as u16;
                let mut bytes = vec![codec.version.number(), words[1].parse().unwrap()];
                bytes.extend(length.to_be_bytes());
                bytes.extend([0, 0, 0, 7]);
                bytes.extend(body);
                let read = codec.decode(&bytes);
                self.arrived(read.map(|(_, message)| message).map_err(|e| e.error));
            }
            "send" => {
                let frame = self.frame(&words[2..]);
                let port = parse_port(words[1]).unwrap();
                let ordinary = frame.offload.gso.is_none();
                let told = ordinary.then(|| self.told(port, frame.bytes()));
                let before = self.io.0.len();
                self.switch
                    .receive(self.now, port, &mut vec![frame], &mut self.io);
                let outs = self.io.0[before..].iter();
                let outs = outs.filter(|line| line.starts_with("out "));
                let outs: Vec<_> = outs.map(|line| cut(line)).collect();
                if let Some((told, text)) = told.flatten() {
                    assert_eq!(told, outs, "{text}\nand not {line}");
                }
            }
            "packet-out" => {
                let actions = parse_actions(words[2], &Match::ANY, &self.catalogue).unwrap();
                let buffer = words[3]
                    .strip_prefix("buffer=")
                    .map(|id| id.parse().unwrap());
                let data = if buffer.is_some() {
                    Vec::new()
                } else {
                    frame(&words[3..])
                };
                self.message(Message::PacketOut(PacketOut {
                    buffer_id: buffer.map_or(BufferId::NO_BUFFER, BufferId),
                    in_port: parse_port(words[1]).unwrap(),
                    actions,
                    data: Bytes(data),
                }));
            }
            "advance" => {
                let end = self.now.after(words[1].parse::<u64>().unwrap() * 1_000_000);
                while let Some(at) = self.switch.next_tick().filter(|at| *at <= end) {
                    self.now = self.now.max(at);
                    self.switch.tick(self.now, &mut self.io);
                }
                self.now = end;
            }
            "flows" | "entries" => {
                self.io.1 = words[0] == "entries";
                let request = filter(&self.catalogue);
                self.message(Message::MultipartRequest(RequestBody::Flow(request).into()));
            }
            "aggregate" => {
                let request = filter(&self.catalogue);
                self.message(Message::MultipartRequest(
                    RequestBody::Aggregate(request).into(),
                ));
            }
            "connect" => {
                let controller = words.contains(&"controller");
                let named = |version: &&Version| words.contains(&&*version.to_string());
                let version = Version::SPOKEN.iter().find(named);
                let version = version.copied().unwrap_or(self.version);
                let conn = ConnId(words[1].parse().unwrap());
                self.speaks(conn, version);
                if let Some(at) = words.iter().position(|word| *word == "beside") {
                    let main = ConnId(words[at + 1].parse().unwrap());
                    let (id, datagrams) = (words[at + 2].parse().unwrap(), words.len() > at + 3);
                    if !self.switch.connected_auxiliary(main, conn, id, datagrams) {
                        self.io.0.push(format!("{} is not there", main.0));
                    }
                    return;
                }
                self.switch.connected(self.now, conn, version, controller);
            }
            "disconnect" => {
                self.switch
                    .disconnected(self.now, ConnId(words[1].parse().unwrap()));
            }
            "as" => self.conn = ConnId(words[1].parse().unwrap()),
            "role" => self.message(Message::RoleRequest(Role {
                role: ControllerRole::named(words[1]).unwrap(),
                generation_id: words[2].parse().unwrap(),
            })),
            "async" => {
                let n = |at: usize| words[at].parse().unwrap();
                self.message(Message::SetAsync(bofuss_oflib::message::AsyncConfig {
                    packet_in: n(1),
                    packet_in_slave: n(2),
                    port_status: n(3),
                    port_status_slave: n(4),
                    flow_removed: n(5),
                    flow_removed_slave: n(6),
                }));
            }
            "link" => {
                let state = if words[2] == "up" {
                    PortState(0)
                } else {
                    PortState::LINK_DOWN
                };
                self.port(parse_port(words[1]).unwrap(), state, 0);
            }
            "speed" => {
                let port = parse_port(words[1]).unwrap();
                self.port(port, PortState(0), words[2].parse().unwrap());
            }
            "queue-mod" | "queue-del" => {
                let port = parse_port(words[1]).unwrap();
                let queue = QueueId(words[2].parse().unwrap());
                let request = match words.get(3) {
                    Some(spec) => queues::modify(port, queue, &queues::parse(spec).unwrap()),
                    None => queues::delete(port, queue),
                };
                self.message(Message::Experimenter(request));
            }
            "queues" => {
                let port = parse_port(words[1]).unwrap();
                self.message(Message::QueueGetConfigRequest(QueueConfigRequest { port }));
            }
            "queue-stats" => {
                let queue = words.get(2).map(|id| QueueId(id.parse().unwrap()));
                let request = RequestBody::Queue(QueueStatsRequest {
                    port_no: parse_port(words[1]).unwrap(),
                    queue_id: queue.unwrap_or(QueueId::ALL),
                });
                self.message(Message::MultipartRequest(request.into()));
            }
            "unplug" => {
                let port = parse_port(words[1]).unwrap();
                self.switch.port_removed(self.now, port, &mut self.io);
            }
            "port-mod" => {
                let port_no = parse_port(words[1]).unwrap();
                let option = |key| words.iter().find_map(|word| word.strip_prefix(key));
                let option = |key| option(key).map(|value| value.parse::<u32>().unwrap());
                let bits = words[2].split('|').map(|name| match name {
                    "none" => 0,
                    "unknown" => 0x8000,
                    name => {
                        PortConfig::NAMES
                            .iter()
                            .find(|(_, n)| *n == name)
                            .unwrap()
                            .0
                            .0
                    }
                });
                self.message(Message::PortMod(PortMod {
                    port_no,
                    hw_addr: Mac([2, 1, 0, 0, 0, option("hw=").unwrap_or(port_no.0) as u8]),
                    config: PortConfig(bits.sum()),
                    mask: PortConfig::ALL,
                    advertise: PortFeatures(option("advertise=").unwrap_or(0)),
                }));
            }
            "ask" => {
                let multipart = |body: RequestBody| Message::MultipartRequest(body.into());
                let meter = || MeterRequest {
                    meter_id: words.get(2).map_or(MeterId::ALL, |id| id.parse().unwrap()),
                };
                self.message(match words[1] {
                    "echo" => Message::EchoRequest(Bytes(vec![7])),
                    "barrier" => Message::BarrierRequest(Empty),
                    "features" => Message::FeaturesRequest(Empty),
                    "config" => Message::GetConfigRequest(Empty),
                    "async" => Message::GetAsyncRequest(Empty),
                    "desc" => multipart(RequestBody::Desc(Empty)),
                    "tables" => multipart(RequestBody::Table(Empty)),
                    "table-features" => multipart(RequestBody::TableFeatures(Vec::new())),
                    "ports" => multipart(RequestBody::PortDesc(Empty)),
                    "groups" => multipart(RequestBody::GroupDesc(Empty)),
                    "group-stats" => multipart(RequestBody::Group(GroupRequest {
                        group_id: words.get(2).map_or(GroupId::ALL, |id| id.parse().unwrap()),
                    })),
                    "group-features" => multipart(RequestBody::GroupFeatures(Empty)),
                    "meters" => multipart(RequestBody::MeterConfig(meter())),
                    "meter-stats" => multipart(RequestBody::Meter(meter())),
                    "meter-features" => multipart(RequestBody::MeterFeatures(Empty)),
                    "a-reply" => Message::BarrierReply(Empty),
                    other => panic!("no such request: {other}"),
                });
            }
            "experimenter" => {
                let row = |kind| self.catalogue.values(kind).find(|row| row.name == words[1]);
                let number = |word: &&str| word.parse().unwrap();
                self.message(Message::Experimenter(ExtValue::new(
                    row(ExtKind::Message).unwrap(),
                    words[2..].iter().map(number).collect(),
                    Bytes::default(),
                )));
            }
            "reshape" => {
                let present = self.switch.datapath().table_features();
                let tables =
                    reshape::request(&words[1..], &self.features, &present, &self.catalogue);
                self.message(Message::MultipartRequest(
                    RequestBody::TableFeatures(tables).into(),
                ));
            }
            "reconfigure" => {
                let (words, profile) = line.split_once(" profile ").unwrap_or((line, ""));
                let said = |key: &str| {
                    let mut words = words.split(' ').filter_map(|word| word.split_once('='));
                    words.find(|(k, _)| *k == key).map(|(_, v)| v.into())
                };
                let config = config(self.switch.datapath().config(), said);
                let mode = FailMode::Secure;
                let mut other = switch(config, profile, mode, &self.catalogue, &self.pool);
                match self
                    .switch
                    .check_reconfigure(self.now, &mut other, &mut self.io)
                {
                    Ok(()) => self.switch.reconfigure(self.now, other, &mut self.io),
                    Err((table, error)) => {
                        let row = error.row().unwrap();
                        let (ty, code) = (row.type_name, row.code_name);
                        self.io
                            .0
                            .push(format!("obstacle table {table} {ty}/{code}"));
                    }
                }
            }
            "table-mod" => self.message(Message::TableMod(bofuss_oflib::message::TableMod {
                table_id: bofuss_oflib::types::TableId(words[1].parse().unwrap()),
                config: words[2].parse().unwrap(),
                miss: words
                    .get(3)
                    .map_or(Ok(TableMiss::ENTRY), |miss| miss.parse())
                    .unwrap(),
            })),
            "frags" => self.message(Message::SetConfig(bofuss_oflib::message::SwitchConfig {
                flags: bofuss_oflib::message::config::ConfigFlags(words[1].parse().unwrap()),
                miss_send_len: bofuss_oflib::types::MaxLen(words[2].parse().unwrap()),
            })),
            other => panic!("no such command: {other}"),
        }
    }
}

/// A switch without ports.
fn switch(
    config: Config,
    profile: &str,
    fail_mode: FailMode,
    catalogue: &Arc<Catalogue>,
    pool: &Pool,
) -> Switch {
    let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
    let hooks = bofuss_ext::hooks(catalogue);
    hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
    if !profile.is_empty() {
        let words: Vec<&str> = profile.split_whitespace().collect();
        let all = datapath.table_features();
        let tables = reshape::request(&words, &all, &all, catalogue);
        datapath.set_profile(&tables).unwrap();
    }
    Switch::new(Time(0), datapath, Identity::default(), fail_mode)
}

/// The configuration `before` with what is `said` of its keys.
fn config(before: &Config, said: impl Fn(&str) -> Option<String>) -> Config {
    let number = |key, before| said(key).map_or(before, |n| n.parse().unwrap());
    let engine = said("datapath").map(|name| {
        let mut all = Engine::ALL.iter();
        all.find(|(known, _)| *known == name).unwrap().1
    });
    Config {
        n_tables: number("tables", before.n_tables.into()) as u8,
        max_entries: number("max-entries", before.max_entries),
        max_total_entries: number("max-total-entries", before.max_total_entries),
        max_groups: number("max-groups", before.max_groups),
        max_buckets: number("max-buckets", before.max_buckets),
        max_meters: number("max-meters", before.max_meters),
        max_bands: number("max-bands", before.max_bands.into()) as u8,
        select: said("select").map_or(before.select, |name| name.parse().unwrap()),
        engine: engine.unwrap_or(before.engine),
        ..before.clone()
    }
}

/// An expected effect, with the frame of an `out` in hexadecimal.
fn expected(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["out", port, "hex", ..] => format!("out {port} {}", words[3..].concat()),
        ["out", port, ..] => format!("out {port} {}", hex(&frame(&words[2..]))),
        _ => line.to_string(),
    }
}

/// Puts the entries that are told in a row in order: each layer has its own.
fn sort_entries(effects: &mut [String]) {
    let is_entry = |line: &String| line.split(' ').nth(1) == Some("flow");
    let rows = effects.chunk_by_mut(|a, b| is_entry(a) && is_entry(b));
    rows.for_each(<[String]>::sort);
}

/// Plays a scenario; its connections speak `version` where it names none.
fn play(engine: Engine, version: Version, name: &str, text: &str, failures: &mut Vec<String>) {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i + 1, line.trim()))
        .peekable();
    let option = |key: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("set {key} ")));
        line.map(|value| value.trim().to_string())
    };
    let fail_mode = match option("fail-mode").as_deref() {
        Some("standalone") => FailMode::Standalone,
        _ => FailMode::Secure,
    };
    let least = Config {
        n_tables: 4,
        max_entries: 1000,
        max_total_entries: 4000,
        max_groups: 100,
        max_buckets: 1000,
        max_meters: 100,
        engine,
        ..Config::default()
    };
    let config = config(&least, option);
    let profile = option("profile").unwrap_or_default();
    let ports = option("ports").map_or(4, |n| n.parse().unwrap());
    let mut stage = Stage::new(ports, config, &profile, fail_mode);
    stage.io.3 = option("links").is_some();
    stage.version = version;
    if fail_mode == FailMode::Secure {
        stage.speaks(ConnId(1), version);
        stage.switch.connected(Time(0), ConnId(1), version, true);
        if version == Version::V1_2 {
            stage.play("table-mod 255 0 drop");
        }
    }
    while let Some((at, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') || line.starts_with("set ") {
            continue;
        }
        stage.io.0.clear();
        stage.play(line);
        let mut wanted = Vec::new();
        while let Some((_, effect)) = lines.next_if(|(_, line)| line.starts_with("> ")) {
            let effect = expected(&effect[2..]);
            let conn = effect.split(' ').next().and_then(|conn| conn.parse().ok());
            let codec = conn.and_then(|conn| stage.io.2.get(&ConnId(conn)));
            let is_1_2 = codec.is_some_and(|codec| codec.version == version);
            let is_1_2 = is_1_2 && version == Version::V1_2;
            wanted.push(if is_1_2 { in_1_2(&effect) } else { effect });
        }
        sort_entries(&mut wanted);
        sort_entries(&mut stage.io.0);
        if stage.io.0 != wanted {
            let (did, should) = (stage.io.0.join("\n  "), wanted.join("\n  "));
            failures.push(format!(
                "{name}:{at}: {line}\nit did\n  {did}\nand should\n  {should}"
            ));
        }
    }
}

#[test]
fn as_many_flows_have_states_as_there_is_room_and_one_more_has_none() {
    const STATES: u32 = 65_536;
    let mut stage = Stage::new(4, Config::default(), "", FailMode::Standalone);
    stage.speaks(ConnId(1), Version::V1_3);
    stage
        .switch
        .connected(Time(0), ConnId(1), Version::V1_3, true);
    stage.play("flow add priority=1,actions=set_flow_state(state=7,idle_timeout=9),output:2");
    stage.play("flow add priority=5,flow_state=7,actions=output:3");
    let mut send = |n: u32| {
        stage.io.0.clear();
        stage.play(&format!("send 1 hex 0200000000020200{n:08x}88b5{:092x}", 0));
        stage.io.0.concat()
    };
    (0..=STATES).for_each(|n| drop(send(n)));
    for (n, port) in [(STATES - 1, 3), (STATES, 2), (0, 3)] {
        assert!(send(n).starts_with(&format!("out {port} ")), "flow {n}");
    }
}

#[test]
fn every_scenario_plays_as_written() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");
    let (mut played, mut failures) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "txt") {
            let text = std::fs::read_to_string(&path).unwrap();
            for (engine, kind) in Engine::ALL {
                let name = format!("{engine}: {}", path.display());
                play(kind, Version::V1_3, &name, &text, &mut failures);
            }
            played += 1;
        }
    }
    assert!(played > 0, "there are scenarios");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The scenarios that differ in 1.2 by more than [`in_1_2`] says: in how many lines, and what they
/// use that 1.2 does not have.
const DIFFERENT_IN_1_2: &[(&str, usize, &str)] = &[
    ("actions.txt", 2, "push_pbb"),
    ("async.txt", 15, "SET_ASYNC"),
    ("auxiliary.txt", 3, "auxiliary connections, PORT_DESC"),
    ("d6_one_meter_is_asked_for_of_three.txt", 5, "meters"),
    ("d11_no_packet_leaves_with_ttl_0.txt", 2, "SET_ASYNC"),
    ("d13_port_status_has_a_mask_of_its_own.txt", 1, "SET_ASYNC"),
    (
        "d14_a_slave_gets_the_packet_ins_that_it_asked_for.txt",
        2,
        "SET_ASYNC",
    ),
    ("d15_no_packet_in_is_honoured.txt", 1, "table-miss entries"),
    ("flow_mods.txt", 1, "meters"),
    ("flow_mod_text.txt", 5, "flags of entries"),
    ("fragments.txt", 5, "meters"),
    ("meters.txt", 94, "meters"),
    ("packet_in.txt", 3, "table-miss entries, SET_ASYNC"),
    ("profile.txt", 8, "TABLE_FEATURES"),
    ("reconfigure.txt", 5, "TABLE_FEATURES"),
    ("requests.txt", 4, "SET_ASYNC, TABLE_FEATURES, PORT_DESC"),
    (
        "roles.txt",
        7,
        "SET_ASYNC, TABLE_FEATURES, PORT_DESC, meters",
    ),
    ("table_features.txt", 57, "TABLE_FEATURES"),
];

#[test]
fn scenarios_of_1_3_play_in_1_2() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let names_a_version = |line: &str| {
            line.starts_with("connect ") && (line.contains(" 1.0") || line.contains(" 1.2"))
        };
        if text.lines().any(names_a_version) {
            continue;
        }
        let mut failures = Vec::new();
        play(Engine::Cache, Version::V1_2, &name, &text, &mut failures);
        let row = DIFFERENT_IN_1_2.iter().find(|row| row.0 == name);
        if failures.len() != row.map_or(0, |row| row.1) {
            let all = failures.join("\n\n");
            wrong.push(format!("{name}: {} lines differ\n{all}", failures.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What an effect is for a connection that speaks 1.2: it is told no cookies of packets, no flags
/// of entries and no durations of ports, queues and groups; it has no table-miss entry; and
/// FEATURES_REPLY lists the ports.
fn in_1_2(effect: &str) -> String {
    let replaced = |text: &str, key: &str, value: &str| {
        let Some((before, rest)) = text.split_once(key) else {
            return text.to_string();
        };
        let after = rest.find(' ').map_or("", |at| &rest[at..]);
        format!("{before}{key}{value}{after}")
    };
    let mut words = effect.split(' ').skip(1);
    match words.next() {
        Some("packet-in") => {
            let effect = replaced(effect, " cookie=", "0xffffffffffffffff");
            effect.replace("reason=NO_MATCH", "reason=ACTION")
        }
        Some("flow") => replaced(effect, " flags=", "0x0"),
        Some("queue-stats") => replaced(effect, " after=", "0.000s"),
        Some("group") => replaced(effect, " after=", "0s"),
        Some("FEATURES_REPLY") => format!("{effect} tables=4 ports=1,2,3,4"),
        _ => effect.into(),
    }
}
