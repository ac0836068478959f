//! A switch on a virtual clock that plays the lines of a scenario.

use super::*;

/// So many frames at the beginning are traced, each of them.
pub(super) const TRACED_AT_FIRST: usize = 50;
/// Later, one of so many is traced.
pub(super) const TRACED_EVERY: usize = 11;

/// The transaction id of all messages.
const XID: u32 = 7;
/// The flags of bundles: all or nothing, in order.
const TOGETHER: BundleFlags = BundleFlags::ALL.without(BundleFlags::TIME);

pub(super) struct Stage {
    pub(super) switch: Switch,
    pub(super) io: Recorder,
    pub(super) now: Time,
    pub(super) conn: ConnId,
    /// The version of connections that name none.
    pub(super) version: Version,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) pool: Pool,
    /// The features that the interfaces of its ports support.
    pub(super) supported: PortFeatures,
    /// Its ports' speeds in kb/s.
    pub(super) speeds: BTreeMap<PortNo, u32>,
    /// The offload capabilities of ports; a port that is not listed has none.
    pub(super) capabilities: BTreeMap<PortNo, OffloadCapabilities>,
    /// The number of frames that it has received.
    pub(super) sent: usize,
    /// The features of the tables at first.
    pub(super) features: Vec<TableFeatures>,
    /// The bundle that messages are added to, instead of being sent alone.
    pub(super) bundle: Option<u32>,
}

impl Stage {
    pub(super) fn new(
        (ports, supported): (u32, PortFeatures),
        config: Config,
        profile: &str,
        fail_mode: FailMode,
        catalogue: Catalogue,
    ) -> Self {
        let catalogue = Arc::new(catalogue);
        let pool = Pool::new(1 << 26);
        let switch = switch(config, profile, fail_mode, &catalogue, &pool);
        let conn = ConnId(1);
        let mut this = Self {
            features: switch.datapath().shape().features(),
            switch,
            io: Recorder::default(),
            now: Time(0),
            conn,
            version: Version::V1_3,
            catalogue,
            pool,
            supported,
            speeds: BTreeMap::new(),
            capabilities: BTreeMap::new(),
            sent: 0,
            bundle: None,
        };
        (1..=ports).for_each(|port| this.port(PortNo(port), PortState(0), 0));
        this.io.effects.clear();
        this
    }

    pub(super) fn port(&mut self, port_no: PortNo, state: PortState, curr_speed: u32) {
        self.speeds.insert(port_no, curr_speed);
        let hw_addr = Mac([2, 1, 0, 0, 0, port_no.0 as u8]);
        let desc = PortDesc {
            port_no,
            hw_addr,
            state,
            curr_speed,
            max_speed: curr_speed,
            supported: self.supported,
            ..PortDesc::default()
        };
        let capabilities = self.capabilities.get(&port_no).copied();
        self.switch.ports(self.now, &mut self.io, |ports| {
            ports.changed(desc, capabilities.unwrap_or_default())
        });
    }

    /// Opens a connection that speaks `version`.
    pub(super) fn speaks(&mut self, conn: ConnId, version: Version) {
        let codec = Codec::new(version, self.catalogue.clone());
        self.io.codecs.insert(conn, codec);
    }

    /// Sends a message, or adds it to a bundle.
    pub(super) fn message(&mut self, message: Message) {
        let message = match self.bundle.take() {
            Some(bundle_id) => Message::BundleAdd(BundleAdd {
                bundle_id,
                flags: TOGETHER,
                xid: XID,
                message: Box::new(message),
                experimenters: Vec::new(),
            }),
            None => message,
        };
        let mut bytes = Vec::new();
        match self.io.codecs[&self.conn].encode(XID, &message, &mut bytes) {
            Ok(()) => self.arrived(&bytes),
            Err(error) => {
                let line = format!("{} unsaid {}: {error}", self.conn.0, message.name());
                self.io.effects.push(line);
            }
        }
    }

    /// Passes the bytes of a message to the switch.
    pub(super) fn arrived(&mut self, bytes: &[u8]) {
        let codec = self.io.codecs[&self.conn].clone();
        self.switch
            .arrives(self.now, self.conn, &codec, bytes, &mut self.io);
    }

    /// A frame from words; `gso N ...` is a super-frame, to be cut into segments of N bytes.
    pub(super) fn frame(&self, words: &[&str]) -> Frame {
        let of = |words: &[&str]| self.pool.frame(&frame(words)).unwrap();
        match words {
            ["gso", bytes, words @ ..] => left_whole(of(words), words, bytes.parse().unwrap()),
            words => of(words),
        }
    }

    /// Traces a frame, if it is its turn. Returns the frames that leave and the text of the trace;
    /// `None` if a frame waits for other fragments or in a queue.
    pub(super) fn told(&mut self, port: PortNo, frame: &[u8]) -> Option<(Vec<String>, String)> {
        self.sent += 1;
        if self.sent > TRACED_AT_FIRST && self.sent % TRACED_EVERY != 0 {
            return None;
        }
        let told = self.switch.told(self.now, port, frame)?;
        let mut events = told.stages.iter().flat_map(|stage| &stage.events);
        let waits =
            |event: &TraceEvent| matches!(event, TraceEvent::Fragment | TraceEvent::Queue { .. });
        let outs = told.result.iter().filter_map(|event| match event {
            TraceEvent::Out(frame) => Some(format!("out {} {}", frame.port, frame.hex)),
            _ => None,
        });
        (!told.cut && !events.any(waits)).then(|| (outs.collect(), told.to_string()))
    }

    pub(super) fn play(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let filter = |catalogue: &Catalogue| {
            let text = words.get(1).copied().unwrap_or("");
            parse_flow_filter(text, catalogue).unwrap()
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
                let codec = &self.io.codecs[&self.conn];
                let body = frame(&[&["hex"], &words[2..]].concat());
                let length = (body.len() + 8) as u16;
                let mut bytes = vec![codec.version.number(), words[1].parse().unwrap()];
                bytes.extend(length.to_be_bytes());
                bytes.extend([0, 0, 0, 7]);
                bytes.extend(body);
                self.arrived(&bytes);
            }
            "send" => {
                let frame = self.frame(&words[2..]);
                let port = parse_port(words[1]).unwrap();
                let ordinary = frame.offload.gso.is_none();
                let told = ordinary.then(|| self.told(port, frame.bytes()));
                let before = self.io.effects.len();
                self.switch
                    .receive(self.now, port, &mut vec![frame], &mut self.io);
                let outs = self.io.effects[before..].iter();
                let outs = outs.filter(|line| line.starts_with("out "));
                let outs: Vec<_> = outs.map(|line| cut(line)).collect();
                if let Some((told, text)) = told.flatten() {
                    assert_eq!(told, outs, "{text}\nand not {line}");
                }
                self.switch.settle(self.now, &mut self.io);
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
                    ..PacketOut::default()
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
                self.io.entries_in_full = words[0] == "entries";
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
                let version = Version::ALL.iter().find(named);
                let version = version.copied().unwrap_or(self.version);
                let conn = ConnId(words[1].parse().unwrap());
                self.speaks(conn, version);
                if let Some(at) = words.iter().position(|word| *word == "beside") {
                    let main = ConnId(words[at + 1].parse().unwrap());
                    let (id, datagrams) = (words[at + 2].parse().unwrap(), words.len() > at + 3);
                    if !self.switch.connected_auxiliary(main, conn, id, datagrams) {
                        self.io.effects.push(format!("{} is not there", main.0));
                    }
                    return;
                }
                self.switch.connected(self.now, conn, version, controller);
                self.switch.settle(self.now, &mut self.io);
            }
            "disconnect" => {
                self.switch
                    .disconnected(self.now, ConnId(words[1].parse().unwrap()));
                self.switch.settle(self.now, &mut self.io);
            }
            "bundle" => {
                let bundle_id = words[2].parse().unwrap();
                let ty = match words[1] {
                    "add" => {
                        self.bundle = Some(bundle_id);
                        return self.play(&words[3..].join(" "));
                    }
                    "open" => BundleControlType::OPEN_REQUEST,
                    "close" => BundleControlType::CLOSE_REQUEST,
                    "commit" => BundleControlType::COMMIT_REQUEST,
                    "discard" => BundleControlType::DISCARD_REQUEST,
                    other => panic!("nothing is done so to a bundle: {other}"),
                };
                self.message(Message::BundleControl(BundleControl {
                    bundle_id,
                    ty,
                    flags: TOGETHER,
                    ..BundleControl::default()
                }));
            }
            "as" => self.conn = ConnId(words[1].parse().unwrap()),
            "role" => self.message(Message::RoleRequest(Role {
                role: ControllerRole::named(words[1]).unwrap(),
                generation_id: words[2].parse().unwrap(),
                short_id: words.get(3).map_or(0, |id| id.parse().unwrap()),
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
                    ..bofuss_oflib::message::AsyncConfig::default()
                }));
            }
            "link" => {
                let state = if words[2] == "up" {
                    PortState(0)
                } else {
                    PortState::LINK_DOWN
                };
                let port = parse_port(words[1]).unwrap();
                let speed = self.speeds.get(&port).copied().unwrap_or(0);
                self.port(port, state, speed);
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
                let request = QueueStatsRequest {
                    port_no: port,
                    queue_id: QueueId::ALL,
                };
                let version = self.io.codecs[&self.conn].version;
                self.message(if version.has_bundles() {
                    Message::MultipartRequest(RequestBody::QueueDesc(request).into())
                } else {
                    Message::QueueGetConfigRequest(QueueConfigRequest { port })
                });
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
                self.switch
                    .ports(self.now, &mut self.io, |ports| ports.removed(port));
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
                    ..PortMod::default()
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
                    "controllers" => multipart(RequestBody::ControllerStatus(Empty)),
                    "desc" => multipart(RequestBody::Desc(Empty)),
                    "tables" => multipart(RequestBody::Table(Empty)),
                    "table-features" => multipart(RequestBody::TableFeatures(Vec::new())),
                    "ports" => multipart(RequestBody::PortDesc(PortDescRequest::ALL)),
                    "groups" => multipart(RequestBody::GroupDesc(GroupDescRequest::ALL)),
                    "group-stats" => multipart(RequestBody::Group(GroupRequest {
                        group_id: words.get(2).map_or(GroupId::ALL, |id| id.parse().unwrap()),
                    })),
                    "group-features" => multipart(RequestBody::GroupFeatures(Empty)),
                    "meters" => multipart(RequestBody::MeterConfig(meter())),
                    "meter-stats" => multipart(RequestBody::Meter(meter())),
                    "meter-features" => multipart(RequestBody::MeterFeatures(Empty)),
                    "a-reply" => Message::BarrierReply(Empty),
                    other => {
                        let is_it = |row: &&'static ExtRow| row.name == other;
                        let row = self
                            .catalogue
                            .values(ExtKind::Multipart)
                            .find(is_it)
                            .unwrap();
                        let text = words[2..].join(" ");
                        let value = ExtValue::parse(row, &text, &self.catalogue).unwrap();
                        multipart(RequestBody::Experimenter(ExtBody(value)))
                    }
                });
            }
            "experimenter" => {
                let is_it = |row: &&'static ExtRow| row.name == words[1];
                let row = self.catalogue.values(ExtKind::Message).find(is_it).unwrap();
                let numbers: Result<Vec<u64>, _> = words[2..].iter().map(|n| n.parse()).collect();
                let value = match numbers {
                    Ok(args) if row.body.is_none() => ExtValue::new(row, args, Bytes::default()),
                    _ => ExtValue::parse(row, &words[2..].join(" "), &self.catalogue).unwrap(),
                };
                self.message(Message::Experimenter(value));
            }
            "reshape" => {
                let present = self.switch.datapath().shape().features();
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
                            .effects
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
                ..bofuss_oflib::message::TableMod::default()
            })),
            "frags" => self.message(Message::SetConfig(bofuss_oflib::message::SwitchConfig {
                flags: bofuss_oflib::message::config::ConfigFlags(words[1].parse().unwrap()),
                miss_send_len: bofuss_oflib::types::MaxLen(words[2].parse().unwrap()),
            })),
            other => panic!("no such command: {other}"),
        }
    }
}
