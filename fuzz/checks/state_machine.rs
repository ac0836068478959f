//! A random extended machine does to random packets what a plain model of it does, in each engine.
//!
//! Each choice is one byte; short input reads as zeros. Hosts are the flows of one stateful table;
//! an entry matches state, a condition and a port, changes variables and the state, and sends on.

#[path = "state_machine/model.rs"]
mod model;

use std::sync::Arc;

use bofuss_datapath::{Asker, Config, Engine, PacketInEvent, Sink, Time};
use bofuss_ext::openstate::{StateRecord, StateStats};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::{
    ControllerRole, FlowModCommand, FlowRemoved, PortDesc, PortStatusReason,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, ExtValue, Mac, PortNo, Version};
use bofuss_packet::craft;

use model::{
    COMPARISONS, Choices, ENTRIES, HOSTS, Model, Operand, PORTS, Packet, STEPS, VARIABLES,
};

/// The ports by which frames leave.
#[derive(Default)]
struct Left(Vec<u32>);

impl Sink for Left {
    fn transmit(&mut self, port: PortNo, _: QueueId, _: Frame) {
        self.0.push(port.0);
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch that is told what the model has.
struct Driven {
    datapath: Datapath,
    catalogue: Arc<Catalogue>,
    pool: Pool,
}

const ASKER: Asker = Asker {
    connection: 1,
    role: ControllerRole::EQUAL,
    version: Version::V1_3,
    form: 0,
};

impl Driven {
    fn new(engine: Engine, model: &Model) -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let pool = Pool::new(1 << 18);
        let config = Config {
            n_tables: 2,
            engine,
            cache_flows: 64,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        for mut hook in bofuss_ext::hooks(&catalogue) {
            // The others have no options.
            let _ = hook.set_option("dialect", "opp");
            datapath.add_hook(hook);
        }
        let none = &mut Vec::<Frame>::new();
        for port_no in (1..=3).map(PortNo) {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            datapath
                .port_control(Time(0), none)
                .changed(desc, OffloadCapabilities::default());
        }
        let mut this = Self {
            datapath,
            catalogue,
            pool,
        };
        let update = if model.updates_destination {
            "eth_dst"
        } else {
            "eth_src"
        };
        this.state_mod(0, "table_config,stateful=1");
        this.state_mod(0, "set_lookup_extractor,fields=eth_src");
        this.state_mod(0, &format!("set_update_extractor,fields={update}"));
        for (id, field) in ["udp_dst", "ipv4_src", "tcp_src"].iter().enumerate() {
            this.state_mod(0, &format!("set_header_extractor,id={id},fields={field}"));
        }
        for (id, condition) in model.conditions.iter().enumerate() {
            let [a, b] = condition.operands.map(Operand::text);
            let name = COMPARISONS[condition.comparison];
            this.state_mod(
                0,
                &format!("set_condition,id={id},condition={a}+{name}+{b}"),
            );
        }
        for (i, entry) in model.entries.iter().enumerate() {
            let text = entry.text(ENTRIES - i);
            let flow = parse_flow(&text, FlowModCommand::ADD, &this.catalogue).expect(&text);
            let done = this.datapath.control(Time(0), none).flow_mod(&flow);
            done.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        }
        this
    }

    fn row(&self, name: &str) -> &'static ExtRow {
        let mut rows = self.catalogue.values_of("openstate").iter();
        rows.find(|row| row.name == name)
            .expect("the extension is there")
    }

    fn state_mod(&mut self, now: u64, text: &str) {
        let row = self.row("state_mod");
        let value = ExtValue::parse(row, text, &self.catalogue).expect(text);
        let none = &mut Vec::<Frame>::new();
        let done = self
            .datapath
            .hook_calls(Time(now), none)
            .message(ASKER, &value);
        done.unwrap_or_else(|error| panic!("{text}: {error:?}"));
    }

    /// The ports by which a packet leaves.
    fn receive(&mut self, packet: &Packet) -> Vec<u32> {
        let source = [10, 0, 0, packet.from].into();
        let destination = [10, 0, 0, packet.to].into();
        let udp = craft::udp(9, packet.port, b"data");
        let ip = craft::ipv4(source, destination, 64, udp);
        let bytes = craft::ethernet(mac(packet.to), mac(packet.from), ip);
        let frame = self.pool.frame(&bytes).expect("there are buffers");
        let mut left = Left::default();
        let now = Time(packet.now);
        self.datapath
            .receive(now, PortNo(1), &mut vec![frame], &mut left);
        left.0
    }

    fn records(&mut self, now: u64) -> Vec<StateRecord> {
        let row = self.row("state_stats");
        let value = ExtValue::parse(row, "table=0", &self.catalogue).expect("it is right");
        let none = &mut Vec::<Frame>::new();
        let part = self
            .datapath
            .hook_calls(Time(now), none)
            .multipart(ASKER, &value, 0);
        let (part, _) = part.expect("it is answered");
        let body = part.value.as_ref().and_then(ExtValue::body);
        let Some(StateStats::Reply(_, records)) = body else {
            panic!("{body:?}");
        };
        records.clone()
    }
}

/// A host's address.
fn mac(host: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, host])
}

/// Plays one machine under packets in all engines, and holds each against the model.
pub fn run(bytes: &[u8]) {
    let mut from = Choices(bytes);
    let mut model = Model::chosen(&mut from);
    let mut switches = Engine::ALL.map(|(_, engine)| Driven::new(engine, &model));
    let mut now = 1;
    for _ in 0..STEPS {
        if from.0.is_empty() {
            break;
        }
        let host = 1 + from.below(HOSTS.into()) as u8;
        match from.below(16) {
            0 => {
                let id = from.below(VARIABLES.into()) as u8;
                let value = from.number();
                model.globals[usize::from(id)] = value;
                let text = format!("set_global_variable,id={id},value={value}");
                switches
                    .iter_mut()
                    .for_each(|one| one.state_mod(now, &text));
            }
            1 => {
                let id = from.below(VARIABLES.into()) as u8;
                let value = from.number();
                model.set(Operand::Flow(id), value, host, now);
                let key = format!("02000000000{host}");
                let text = format!("set_flow_variable,id={id},key={key},value={value}");
                switches
                    .iter_mut()
                    .for_each(|one| one.state_mod(now, &text));
            }
            2 | 3 => now += [1, 999, 1000, 1001, 3000, 5001][from.below(6)],
            _ => {
                let packet = Packet {
                    from: host,
                    to: 1 + from.below(HOSTS.into()) as u8,
                    port: PORTS[from.below(PORTS.len())],
                    now,
                };
                let wanted: Vec<u32> = model.receive(&packet).into_iter().collect();
                for switch in &mut switches {
                    assert_eq!(switch.receive(&packet), wanted);
                }
            }
        }
    }
    let all = model.flows.iter().map(|(host, flow)| (*host, flow.at(now)));
    let wanted: Vec<_> = all
        .map(|(host, flow)| (host, flow.state, flow.variables))
        .collect();
    for switch in &mut switches {
        let mut records = switch.records(now);
        records.retain(|record| !record.key.is_empty());
        records.sort_by(|a, b| a.key.cmp(&b.key));
        let found = records
            .iter()
            .map(|one| (one.key[5], one.state, one.variables));
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    }
}
