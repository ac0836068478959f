//! Records the effects of a switch as lines.

use super::*;

/// Records the switch's effects, one a line, as scenarios write them after `> `.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) effects: Vec<String>,
    /// True if flow entries are written in full.
    pub(super) entries_in_full: bool,
    /// The codec of each connection, by its version.
    pub(super) codecs: BTreeMap<ConnId, Codec>,
    /// True if the switch may not change links.
    pub(super) links_locked: bool,
    /// The bytes of the last message.
    pub(super) bytes: Vec<u8>,
}

/// A message as it arrives at the other end of a connection. Errors: what the version has no
/// message for; or, inside, the error of decoding.
pub(super) fn across(
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
        // Does what the switch has left to the port, as an interface with offloads would.
        let whole = offload::segment(&frame, |mut part| {
            offload::finish_checksum(&mut part);
            self.effects
                .push(format!("out {port} {}", hex(part.bytes())));
        });
        assert!(whole, "a port can cut what it is given");
    }
    fn flush(&mut self) {}
    fn send(&mut self, conn: ConnId, _: u32, message: Message) {
        let message = match across(&self.codecs[&conn], &message, &mut self.bytes) {
            Ok(message) => message.expect("what was written can be read"),
            Err(EncodeError::Unsupported(what)) => {
                let name = message.name();
                return self
                    .effects
                    .push(format!("{} unsaid {name}: {what}", conn.0));
            }
            Err(error) => panic!("{error}"),
        };
        let conn = conn.0;
        match message {
            Message::Error(error) => {
                let row = self.codecs[&ConnId(conn)]
                    .catalogue
                    .error(error.error)
                    .unwrap();
                self.effects
                    .push(format!("{conn} error {}/{}", row.type_name, row.code_name));
            }
            Message::PacketIn(p) => self.effects.push(format!(
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
            Message::FlowRemoved(r) => self.effects.push(format!(
                "{conn} flow-removed reason={} priority={} packets={} after={}.{:03}s",
                r.reason,
                r.priority,
                r.packet_count,
                r.duration_sec,
                r.duration_nsec / 1_000_000
            )),
            Message::PortStatus(s) => self.effects.push(format!(
                "{conn} port-status {} {} config={} state={}",
                s.reason, s.desc.port_no, s.desc.config, s.desc.state
            )),
            Message::RoleReply(r) => {
                let id = match r.short_id {
                    0 => String::new(),
                    id => format!(" {id}"),
                };
                self.effects
                    .push(format!("{conn} role {} {}{id}", r.role, r.generation_id));
            }
            Message::ControllerStatus(status) => {
                self.effects
                    .push(format!("{conn} controller {}", Text(&status)));
            }
            Message::MultipartReply(reply) => match reply.body {
                ReplyBody::Flow(entries) => self.effects.extend(entries.iter().map(|e| {
                    let e = &e.0;
                    let (packets, bytes) = (e.packet_count, e.byte_count);
                    let importance = match e.importance {
                        0 => String::new(),
                        some => format!("importance={some} "),
                    };
                    let full = format!(
                        "{importance}cookie={:#x} idle={} hard={} flags={} after={}.{:03}s ",
                        e.cookie,
                        e.idle_timeout,
                        e.hard_timeout,
                        e.flags,
                        e.duration_sec,
                        e.duration_nsec / 1_000_000
                    );
                    let full = if self.entries_in_full {
                        full.as_str()
                    } else {
                        ""
                    };
                    format!(
                        "{conn} flow {full}table={} priority={} packets={} bytes={} {} actions={}",
                        e.table_id, e.priority, packets, bytes, e.fields, e.instructions
                    )
                })),
                ReplyBody::Aggregate(a) => self.effects.push(format!(
                    "{conn} aggregate packets={} bytes={} flows={}",
                    a.packet_count, a.byte_count, a.flow_count
                )),
                ReplyBody::TableFeatures(tables) => self.effects.extend(
                    tables
                        .iter()
                        .map(|table| format!("{conn} {}", reshape::line(table))),
                ),
                ReplyBody::Queue(queues) => self.effects.extend(queues.iter().map(|q| {
                    let (port, queue, after) = (q.port_no, q.queue_id, q.duration_sec);
                    let (packets, bytes, errors) = (q.tx_packets, q.tx_bytes, q.tx_errors);
                    format!(
                        "{conn} queue-stats port={port} queue={queue} packets={packets} \
                         bytes={bytes} errors={errors} after={after}.{:03}s",
                        q.duration_nsec / 1_000_000
                    )
                })),
                ReplyBody::QueueDesc(queues) => self.effects.extend(queues.iter().map(|q| {
                    let properties = Text(&q.properties);
                    format!(
                        "{conn} queue port={} queue={} {properties}",
                        q.port_no, q.queue_id
                    )
                })),
                ReplyBody::FlowCounters(entries) => self.effects.extend(
                    entries
                        .iter()
                        .map(|entry| format!("{conn} flow-stats {}", Text(entry))),
                ),
                ReplyBody::TableDesc(tables) => self.effects.extend(
                    tables
                        .iter()
                        .map(|table| format!("{conn} table-desc {}", Text(table))),
                ),
                ReplyBody::FlowMonitor(updates) if updates.is_empty() => {
                    self.effects.push(format!("{conn} monitored nothing"));
                }
                ReplyBody::FlowMonitor(updates) => {
                    let line = |update: &FlowUpdate| format!("{conn} monitored {}", Text(update));
                    self.effects.extend(updates.iter().map(line));
                }
                ReplyBody::ControllerStatus(list) => {
                    let line = |one: &ControllerStatus| format!("{conn} controller {}", Text(one));
                    self.effects.extend(list.iter().map(line));
                }
                ReplyBody::GroupDesc(groups) => {
                    let line = |group: &GroupDesc| format!("{conn} {}", Text(group));
                    self.effects.extend(groups.iter().map(line));
                }
                ReplyBody::Group(groups) => self.effects.extend(groups.iter().map(|group| {
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
                ReplyBody::Meter(meters) => self.effects.extend(meters.iter().map(|m| {
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
                    .effects
                    .extend(meters.iter().map(|m| format!("{conn} {}", Text(m)))),
                ReplyBody::MeterFeatures(f) => self.effects.push(format!("{conn} {}", Text(&f))),
                ReplyBody::GroupFeatures(f) => self.effects.push(format!("{conn} {}", Text(&f))),
                ReplyBody::Experimenter(ExtBody(value)) => {
                    self.effects.push(format!("{conn} {value}"));
                }
                body => self.effects.push(format!("{conn} reply {}", body.name())),
            },
            Message::RoleStatus(status) => {
                self.effects
                    .push(format!("{conn} role-status {}", Text(&status)));
            }
            Message::TableStatus(status) => {
                self.effects
                    .push(format!("{conn} table-status {}", Text(&status)));
            }
            Message::BundleControl(control) => {
                let (id, ty) = (control.bundle_id, control.ty);
                self.effects.push(format!("{conn} bundle {id} {ty}"));
            }
            Message::RequestForward(forward) => {
                self.effects
                    .push(format!("{conn} forward {}", Text(&forward)));
            }
            Message::QueueGetConfigReply(config) => {
                let queues = config.queues.iter().map(|q| {
                    let properties = Text(&q.properties);
                    format!(
                        "{conn} queue port={} queue={} {properties}",
                        q.port, q.queue_id
                    )
                });
                self.effects.extend(queues);
            }
            Message::FeaturesReply(f) if !f.ports.is_empty() => {
                let ports: Vec<_> = f.ports.iter().map(|p| p.port_no.to_string()).collect();
                let (tables, ports) = (f.n_tables, ports.join(","));
                let line = format!("{conn} FEATURES_REPLY tables={tables} ports={ports}");
                self.effects.push(line);
            }
            Message::Experimenter(value) if value.row.body.is_some() => {
                self.effects.push(format!("{conn} {value}"));
            }
            Message::Experimenter(value) => {
                let args: Vec<_> = value.args.iter().map(u64::to_string).collect();
                let (name, data) = (value.row.name, hex(&value.data.0));
                self.effects
                    .push(format!("{conn} {name} {} data={data}", args.join(" ")));
            }
            Message::FeaturesReply(f) if f.auxiliary_id != 0 => {
                let id = f.auxiliary_id;
                self.effects
                    .push(format!("{conn} FEATURES_REPLY auxiliary_id={id}"));
            }
            Message::GetConfigReply(c) => self
                .effects
                .push(format!("{conn} config {} {}", c.flags.0, c.miss_send_len)),
            Message::GetAsyncReply(a) => self.effects.push(format!("{conn} async {}", Text(&a))),
            other => self.effects.push(format!("{conn} {}", other.name())),
        }
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn may_change_links(&self) -> bool {
        !self.links_locked
    }
    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        self.effects.push(format!("advertise {port} {features}"));
    }
    fn set_link(&mut self, port: PortNo, up: bool) {
        self.effects
            .push(format!("link {port} {}", if up { "up" } else { "down" }));
    }
}
