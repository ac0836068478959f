//! The whole switch with every extension: no allocation per packet, traces without effect, per-flow
//! state.
#![allow(clippy::unwrap_used)]

use std::alloc::System;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Engine, Time};
use bofuss_ext::Switch;
use bofuss_ext::{catalogue, hooks, queues, trace};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::{parse_flow, parse_meter};
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, ExtValue, Mac, Message, PortNo, Version};
use bofuss_packet::craft;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Counts frames and keeps messages.
#[derive(Default)]
struct Sink {
    frames: usize,
    last: PortNo,
    messages: Vec<Message>,
}

impl SwitchIo for Sink {
    fn transmit(&mut self, port: PortNo, _: QueueId, _: Frame) {
        self.frames += 1;
        self.last = port;
    }
    fn flush(&mut self) {}
    fn send(&mut self, _: ConnId, _: u32, message: Message) {
        self.messages.push(message);
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

struct Bench {
    switch: Switch,
    io: Sink,
    pool: Pool,
    catalogue: Arc<Catalogue>,
}

const CONN: ConnId = ConnId(1);

impl Bench {
    fn new(engine: Engine) -> Self {
        let pool = Pool::new(1 << 24);
        let catalogue = Arc::new(catalogue());
        let config = Config {
            engine,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        hooks(&catalogue)
            .into_iter()
            .for_each(|hook| datapath.add_hook(hook));
        let mut switch = Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure);
        let mut io = Sink::default();
        for port_no in (1..=4).map(PortNo) {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            switch.ports(Time(0), &mut io, |ports| {
                ports.changed(desc, OffloadCapabilities::default())
            });
        }
        switch.connected(Time(0), CONN, Version::V1_3, true);
        Self {
            switch,
            io,
            pool,
            catalogue,
        }
    }

    fn message(&mut self, now: Time, message: Message) {
        let request = Request {
            xid: 1,
            head: &[],
            message: Ok(message),
        };
        self.switch.message(now, CONN, request, &mut self.io);
    }

    fn flow(&mut self, text: &str) {
        let flow = parse_flow(text, FlowModCommand::ADD, &self.catalogue).unwrap();
        self.message(Time(0), Message::FlowMod(flow));
        assert_eq!(self.io.messages, []);
    }

    fn send(&mut self, now: Time, port: u32, frames: &mut Vec<Frame>, bytes: &[u8]) {
        frames.push(self.pool.frame(bytes).unwrap());
        self.switch.receive(now, PortNo(port), frames, &mut self.io);
        while self.switch.has_work(&self.io) {
            self.switch.work(now, &mut self.io);
        }
    }
}

fn frame(from: u8, to: u8) -> Vec<u8> {
    let ip = craft::ipv4(
        [10, 0, 0, from].into(),
        [10, 0, 0, to].into(),
        64,
        craft::udp(1, 2, b"x"),
    );
    craft::ethernet(Mac([2, 0, 0, 0, 0, to]), Mac([2, 0, 0, 0, 0, from]), ip)
}

/// Frames that may allocate, then frames that may not.
const WARM_UP: usize = 100;
const MEASURED: usize = 2_000;
/// How long a round without an allocation is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn no_packet_allocates_after_warm_up() {
    Engine::ALL
        .iter()
        .for_each(|(name, engine)| allocates_nothing(name, *engine));
}

fn allocates_nothing(name: &str, engine: Engine) {
    for flow in [
        "priority=1,in_port=1,actions=output:2",
        "priority=1,in_port=1,actions=learn(table=1,dl_dst[]=dl_src[],output:in_port[]),output:2",
        "priority=1,actions=normal",
        "priority=1,ip,actions=set_field:10.9.9.9->nw_dst,dec_ttl,push_vlan:0x8100,output:2",
        "priority=1,in_port=1,actions=output:2,output:3,write_metadata:1,goto_table:1",
        "priority=1,in_port=1,actions=set_queue:5,output:3",
        "priority=1,in_port=1,actions=meter:1,output:2",
    ] {
        let mut bench = Bench::new(engine);
        let queue = queues::parse("priority=3").unwrap();
        let made = bench
            .switch
            .modify_queue(Time(0), PortNo(3), QueueId(5), queue);
        assert_eq!(made, Ok(()));
        let meter = "meter=1,pktps,bands=type=dscp_remark,prec_level=1,rate=5";
        let meter = parse_meter(meter, MeterModCommand::ADD).unwrap();
        bench.message(Time(0), Message::MeterMod(meter));
        bench.flow(flow);
        bench.flow("table=1,priority=0,actions=write_actions(output:4)");
        let mut frames = Vec::new();
        let there = frame(1, 2);
        let back = frame(2, 1);
        bench.send(Time(1), 2, &mut frames, &back);
        (0..WARM_UP).for_each(|_| bench.send(Time(1), 1, &mut frames, &there));
        // Other tests run in parallel and allocate, too, but not to the end.
        let start = Instant::now();
        loop {
            let sent = bench.io.frames;
            let region = Region::new(GLOBAL);
            (0..MEASURED).for_each(|_| bench.send(Time(2), 1, &mut frames, &there));
            let change = region.change();
            assert!(bench.io.frames >= sent + MEASURED, "every frame left");
            let count = change.allocations + change.reallocations;
            if count == 0 {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{name}: {flow}: {count}");
        }
    }
}

#[test]
fn unused_extensions_leave_cached_flows_valid_after_changes_of_other_entries() {
    let mut bench = Bench::new(Engine::Cache);
    bench.flow("priority=1,udp,in_port=1,nw_src=10.0.0.0/24,actions=output:2");
    let mut frames = Vec::new();
    for round in 0..2u8 {
        // More changes than the cache can list.
        for n in 0..200 {
            bench.flow(&format!(
                "priority=2,udp,in_port=1,nw_src=10.1.{round}.{n},actions=drop"
            ));
        }
        (0..50).for_each(|n| bench.send(Time(1), 1, &mut frames, &frame(n, 9)));
    }
    let stats = bench.switch.datapath().lane().engine.stats();
    assert_eq!((stats.misses, bench.io.frames), (50, 100));
    assert!(stats.confirmed >= 40, "{stats:?}");
}

/// The text of a trace that a reply has.
fn trace_text(reply: ExtValue) -> String {
    let lines = String::from_utf8(reply.data.0).unwrap();
    trace::Trace::read(&lines).unwrap().to_string()
}

#[test]
fn a_trace_reports_the_path_and_changes_nothing() {
    Engine::ALL
        .iter()
        .for_each(|(_, engine)| trace_test(*engine));
}

fn trace_test(engine: Engine) {
    let mut bench = Bench::new(engine);
    bench.flow("priority=1,in_port=1,actions=set_flow_state(state=1,idle_timeout=0),normal");
    let before = (
        bench.pool.stats().bytes_in_use,
        bench.switch.datapath().lane().drops().count(),
    );
    bench.message(
        Time(1),
        Message::Experimenter(trace::request(PortNo(1), &frame(1, 2))),
    );
    let Some(Message::Experimenter(text)) = bench.io.messages.pop() else {
        panic!()
    };
    let text = trace_text(text);
    assert!(
        text.contains("table 0") && text.contains("leave by port 4"),
        "{text}"
    );
    assert!(
        !text.contains("extension") && !text.contains("flow_state=0"),
        "no extension did anything: {text}"
    );
    assert_eq!(bench.io.frames, 0);
    let after = (
        bench.pool.stats().bytes_in_use,
        bench.switch.datapath().lane().drops().count(),
    );
    assert_eq!(before, after);
    assert_eq!(bench.switch.settled().table_counts(TableId(0)).lookups, 0);
    // The trace has learned nothing and set no state: the real packet is flooded, in state 0.
    bench.flow("priority=9,flow_state=1,actions=drop");
    bench.send(Time(2), 1, &mut Vec::new(), &frame(1, 2));
    assert_eq!(bench.io.frames, 3, "to all ports but one");
}

#[test]
fn a_flow_keeps_its_state_until_it_is_idle() {
    Engine::ALL
        .iter()
        .for_each(|(_, engine)| flow_test(*engine));
}

fn flow_test(engine: Engine) {
    let mut bench = Bench::new(engine);
    bench.flow("priority=1,actions=set_flow_state(state=7,idle_timeout=2),output:2");
    bench.flow("priority=5,flow_state=7,actions=output:3");
    bench.flow("priority=5,flow_state=0x100/0x100,actions=output:4");
    let mut frames = Vec::new();
    let one = frame(1, 2);
    let two = frame(3, 2);
    let mut goes = |bench: &mut Bench, at_ms: u64, bytes: &[u8]| {
        bench.send(Time(at_ms * 1_000_000), 1, &mut frames, bytes);
        bench.io.last.0
    };
    assert_eq!(
        goes(&mut bench, 0, &one),
        2,
        "the first packet sets the state"
    );
    assert_eq!(goes(&mut bench, 1, &one), 3, "the next has it");
    assert_eq!(goes(&mut bench, 2, &two), 2, "another flow has its own");
    assert_eq!(goes(&mut bench, 1999, &one), 3);
    assert_eq!(
        goes(&mut bench, 3998, &one),
        3,
        "each packet restarts the idle time"
    );
    assert_eq!(
        goes(&mut bench, 5998, &one),
        2,
        "two idle seconds forget it"
    );
    bench.message(
        Time(7_000_000_000),
        Message::Experimenter(trace::request(PortNo(1), &one)),
    );
    let Some(Message::Experimenter(text)) = bench.io.messages.pop() else {
        panic!()
    };
    let text = trace_text(text);
    assert!(
        text.contains("leave by port 3"),
        "a trace reads the state: {text}"
    );
    for part in [
        "extension flow_state prepares",
        "the packet now has flow_state=7",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        goes(&mut bench, 7998, &one),
        2,
        "a trace does not restart the idle time"
    );
    let ask = &bofuss_ext::flow_state::VALUES[1];
    let ask = ExtValue::new(ask, vec![], Bytes::default());
    bench.message(Time(8_000_000_000), Message::Experimenter(ask));
    let Some(Message::Experimenter(reply)) = bench.io.messages.pop() else {
        panic!()
    };
    assert_eq!(reply.args, [1, 0], "one flow has a state, none was refused");
    assert_eq!(
        reply.data.0,
        [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 0, 0, 7]
    );
}

#[test]
fn a_trace_says_what_would_be_learned_and_learns_nothing() {
    let mut bench = Bench::new(Engine::Cache);
    bench.flow("priority=1,actions=learn(table=1,dl_dst[]=dl_src[],output:in_port[]),output:2");
    let before = bench.switch.datapath().next_entry_number();
    let trace = trace::Trace::of(&mut bench.switch, Time(1), PortNo(1), 0, &frame(1, 2)).unwrap();
    let text = trace.to_string();
    assert!(text.contains("learns "), "{text}");
    assert!(text.contains("dl_dst=02:00:00:00:00:01"), "{text}");
    assert!(!bench.switch.has_work(&bench.io));
    assert_eq!(bench.switch.datapath().next_entry_number(), before);
}

#[test]
fn replicas_of_a_switch_refuse_to_learn() {
    let mut bench = Bench::new(Engine::Cache);
    bench.switch.replica().begin(false);
    let text = "priority=1,actions=clone(learn(table=1,dl_dst[]=dl_src[]))";
    let flow = parse_flow(text, FlowModCommand::ADD, &bench.catalogue).unwrap();
    bench.message(Time(0), Message::FlowMod(flow));
    let [Message::Error(error)] = &bench.io.messages[..] else {
        panic!("{:?}", bench.io.messages);
    };
    assert_eq!(error.error, bofuss_oflib::error::BadAction::BAD_EXP_TYPE);
}

#[test]
fn what_a_burst_is_too_long_to_learn_is_learned_by_later_packets() {
    const HOSTS: u16 = 1500;
    let mut bench = Bench::new(Engine::Cache);
    bench.flow("priority=1,actions=learn(table=1,dl_dst[]=dl_src[],output:in_port[]),output:2");
    let learned = [(); 3].map(|()| {
        let frames = (0..HOSTS).map(|host| {
            let mut bytes = frame(1, 2);
            bytes[10..12].copy_from_slice(&host.to_be_bytes());
            bench.pool.frame(&bytes).unwrap()
        });
        let mut frames = frames.collect();
        let (now, port) = (Time(1), PortNo(1));
        bench.switch.receive(now, port, &mut frames, &mut bench.io);
        while bench.switch.has_work(&bench.io) {
            bench.switch.work(now, &mut bench.io);
        }
        bench.switch.datapath().tables()[1].len()
    });
    assert!(learned[0] >= 1024, "{learned:?}");
    assert_eq!(learned[2], usize::from(HOSTS));
}

#[test]
fn a_packet_in_that_a_replica_lost_counts_at_the_main_connection() {
    let mut bench = Bench::new(Engine::Cache);
    let auxiliary = ConnId(CONN.0 + 1);
    assert!(bench.switch.connected_auxiliary(CONN, auxiliary, 1, false));
    for conn in [CONN, auxiliary, ConnId(CONN.0 + 2)] {
        bench.switch.note_lost_packet_in(conn);
    }
    assert_eq!(bench.switch.lost(CONN).packet_ins, 2);
}
