//! Packets of any flows, rules, keys, engines' writes, ports that come and go, and time, in any
//! order, on a switch whose table of flows is small: each packet leaves as the rules of this moment
//! say, which a plain model knows, and no more is kept than may be.

use std::array;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bofuss_datapath::{Asker, Config, Engine, PacketInEvent, Sink, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::{
    ControllerRole, FlowModCommand, FlowRemoved, PortDesc, PortStatusReason,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, ExtValue, Mac, PortNo, Version};
use bofuss_packet::craft;

/// Bytes of an operation: what, and three numbers.
const OPERATION_BYTES: usize = 4;
/// Ports, of which packets come in through the first; and the flows that are known at most.
const PORTS: u8 = 4;
const MAX_FLOWS: u64 = 32;
/// Destinations that rules name.
const DESTINATIONS: u8 = 4;

/// One for all lists: the rows of a catalogue live as long as the process.
static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(|| Arc::new(bofuss_ext::catalogue()));

/// The ports of a rule for what goes to a destination: the port, and the failover port.
#[derive(Clone, Copy, Debug)]
struct ModelRule {
    port: u8,
    failover: u8,
}

/// A model of what the switch has to do, as plain as can be.
#[derive(Default)]
struct Model {
    rules: BTreeMap<u8, ModelRule>,
    is_up: [bool; PORTS as usize + 1],
}

impl Model {
    /// The ports by which a packet leaves.
    fn ports(&self, destination: u8) -> Vec<u8> {
        let Some(rule) = self.rules.get(&destination) else {
            return Vec::new();
        };
        let choices = [rule.port, rule.failover].into_iter();
        let mut up = choices.filter(|port| self.is_up[usize::from(*port)]);
        up.next().into_iter().collect()
    }
}

/// The packets that left: the port and the bytes of each packet.
#[derive(Default)]
struct Left(Vec<(u8, Vec<u8>)>);

impl Sink for Left {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.0.push((port.0 as u8, frame.bytes().into()));
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

struct Driver {
    datapath: Datapath,
    model: Model,
    now: Time,
    left: Left,
}

impl Driver {
    fn new(engine: Engine) -> Self {
        let config = Config {
            engine,
            ..bofuss_disciplines::config()
        };
        let mut datapath = Datapath::new(config, Arc::clone(&CATALOGUE), Pool::new(1 << 20));
        let flows = MAX_FLOWS.to_string();
        let options = [
            ("table", "0"),
            ("forwarding", "1"),
            ("qos", "2"),
            ("unknown", "drop"),
            ("flows", &flows),
            ("idle-ms", "1000"),
        ];
        for mut hook in bofuss_ext::hooks(&CATALOGUE) {
            if hook.name() == "openqflow" {
                for (option, value) in options {
                    hook.set_option(option, value).expect("it is an option");
                }
            }
            datapath.add_hook(hook);
        }
        let mut this = Self {
            datapath,
            model: Model::default(),
            now: Time(1),
            left: Left::default(),
        };
        (1..=PORTS).for_each(|port| this.set_port(port, true));
        this
    }

    fn set_port(&mut self, port: u8, up: bool) {
        let port_no = PortNo(port.into());
        self.model.is_up[usize::from(port)] = up;
        if !up {
            return self
                .datapath
                .port_control(self.now, &mut self.left)
                .removed(port_no);
        }
        let desc = PortDesc {
            port_no,
            ..PortDesc::default()
        };
        let capabilities = OffloadCapabilities::default();
        self.datapath
            .port_control(self.now, &mut self.left)
            .changed(desc, capabilities);
    }

    /// Sends a packet of a flow, and holds what becomes of it to the model.
    fn send(&mut self, destination: u8, source_port: u16) {
        let udp = craft::udp(source_port, 7, &[destination]);
        let address = [10, 0, 1, destination].into();
        let ip = craft::ipv4([10, 0, 0, 1].into(), address, 64, udp);
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let frame = self.datapath.pool().frame(&bytes);
        let mut frames = vec![frame.expect("no frame is kept")];
        self.datapath
            .receive(self.now, PortNo(1), &mut frames, &mut self.left);
        let ports = self.model.ports(destination);
        let expected: Vec<_> = ports
            .into_iter()
            .map(|port| (port, bytes.clone()))
            .collect();
        assert_eq!(
            self.left.0, expected,
            "{destination}: {:?}",
            self.model.rules
        );
        self.left.0.clear();
    }

    fn flow_mod(&mut self, text: &str, command: FlowModCommand) {
        let flow_mod = parse_flow(text, command, &CATALOGUE).expect(text);
        let done = self
            .datapath
            .control(self.now, &mut self.left)
            .flow_mod(&flow_mod);
        done.expect("there is room, and no port guarantees anything");
        self.datapath
            .hook_calls(self.now, &mut self.left)
            .flow_mod_done(|_| None, &flow_mod);
    }

    fn set_rule(&mut self, destination: u8, rule: ModelRule) {
        let text = format!(
            "table=1,priority=9,ip,nw_dst=10.0.1.{destination},\
             actions=qflow_forward(port={},failover={})",
            rule.port, rule.failover
        );
        self.flow_mod(&text, FlowModCommand::ADD);
        self.model.rules.insert(destination, rule);
    }

    fn delete_rule(&mut self, destination: u8) {
        let text = format!("table=1,ip,nw_dst=10.0.1.{destination}");
        self.flow_mod(&text, FlowModCommand::DELETE);
        self.model.rules.remove(&destination);
    }

    /// Sends a message of an engine or a controller; an error is an answer, too.
    fn ask(&mut self, name: &str, text: &str) {
        let mut rows = CATALOGUE.values(ExtKind::Message);
        let row = rows.find(|row| row.name == name).expect("it is a row");
        let value = ExtValue::parse(row, text, &CATALOGUE).expect(text);
        let asker = Asker {
            connection: 1,
            role: ControllerRole::MASTER,
            version: Version::V1_3,
            form: 0,
        };
        // No such flow, for example.
        let _ = self
            .datapath
            .hook_calls(self.now, &mut self.left)
            .message(asker, &value);
    }

    fn operate(&mut self, [what, one, two, three]: [u8; OPERATION_BYTES]) {
        let destination = 1 + one % DESTINATIONS;
        match what % 16 {
            0..=7 => self.send(destination, u16::from_be_bytes([two % 2, three])),
            8 => self.set_rule(
                destination,
                ModelRule {
                    port: 2 + two % 3,
                    failover: 2 + three % 3,
                },
            ),
            9 => self.delete_rule(destination),
            10 => self.set_port(2 + one % 3, two % 2 == 0),
            11 => {
                let after_ms = 10 * u64::from(two);
                self.now = self.now.after(after_ms * Time::SEC / 1000);
                self.datapath.tick(self.now, &mut self.left);
            }
            12 => {
                let record = match two % 3 {
                    0 => "weight=3",
                    1 => "priority=2,cap=5",
                    _ => "type=guaranteed,rate=9,of=flow",
                };
                let rule = format!(
                    "table=2,priority=9,ip,nw_dst=10.0.1.{destination},actions=qflow_qos({record})"
                );
                self.flow_mod(&rule, FlowModCommand::ADD);
            }
            13 => self.ask("qflow_key_mod", &format!("set,key=1,sport={two:#x}")),
            14 => self.ask("qflow_key_mod", "port=2,key=1"),
            _ => {
                // A class and registers, but no path: that would be another model.
                let flow = format!(
                    "in_port=1,eth_type=0x800,ip_proto=17,sport={three},dport=7,src=10.0.0.1,\
                     dst=10.0.1.{destination},weight=2,key=1,registers=1+2+3+4,copy_bytes={two}"
                );
                self.ask("qflow_write", &flow);
            }
        }
    }

    /// Returns what the extension counts under a name.
    fn metric(&self, name: &str) -> u64 {
        let mut list = Vec::new();
        for hook in 0.. {
            let found = self.datapath.hooks().metrics(self.now, hook, 0, &mut list);
            let Some((extension, _)) = found else { break };
            if extension == "openqflow" {
                break;
            }
            list.clear();
        }
        let metric = list.iter().find(|metric| metric.name == name);
        metric.expect("it is counted").value
    }
}

/// Panics: if the switch breaks its word.
pub fn run(bytes: &[u8]) {
    let Some((engine, operations)) = bytes.split_first() else {
        return;
    };
    let mut driver = Driver::new(Engine::ALL[usize::from(*engine) % Engine::ALL.len()].1);
    for operation in operations.chunks_exact(OPERATION_BYTES) {
        driver.operate(array::from_fn(|i| operation[i]));
    }
    let [flows, created, expired, evicted] =
        ["flows", "created", "expired", "evicted"].map(|name| driver.metric(name));
    assert!(flows <= MAX_FLOWS, "{flows} flows");
    assert_eq!(
        created - expired - evicted,
        flows,
        "each flow that came is there or has ended"
    );
    // All that is idle is forgotten, and nothing stays of it.
    for _ in 0..20 {
        driver.now = driver.now.after(Time::SEC);
        driver.datapath.tick(driver.now, &mut driver.left);
    }
    let left = ["flows", "aggregates", "records", "waiting"].map(|name| driver.metric(name));
    assert_eq!(left, [0; 4]);
}
