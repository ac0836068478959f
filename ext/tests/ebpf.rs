//! Programs of eBPF: any code, and in a switch what a trace, the flow cache and the limits do.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::fs;
use std::sync::Arc;

use bofuss_datapath::{Asker, Config, Engine, PacketInEvent, Sink, Step, Time};
use bofuss_ext::ebpf::error::{FULL, NO_PROGRAM};
use bofuss_ext::ebpf::{MAX_MAP_BYTES, MAX_PROGRAMS};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::{
    ControllerRole, FlowModCommand, FlowRemoved, PortDesc, PortStatusReason,
};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, PortNo, Version};
use bofuss_packet::Packet;

#[path = "../../fuzz/checks/ebpf_program.rs"]
mod ebpf_program;

/// Opcodes of instructions that are known, of which the last end a program or call a helper.
const OPCODES: [u8; 49] = [
    0x07, 0x0f, 0x17, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x47, 0x4f, 0x57, 0x5f, 0x67, 0x6f, 0x77, 0x7f,
    0x06, 0x91, 0xd7, 0x87, 0x97, 0x9f, 0xa7, 0xaf, 0xb7, 0xbf, 0xc7, 0xcf, 0x04, 0x0c, 0xb4, 0xbc,
    0xd4, 0x61, 0x69, 0x71, 0x79, 0x62, 0x6a, 0x72, 0x7a, 0x63, 0x7b, 0xdb, 0x05, 0x1d, 0xa6, 0x85,
    0x95,
];

#[test]
fn any_code_that_is_loaded_ends() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/ebpf_program");
    for entry in fs::read_dir(folder).expect("the corpus is there") {
        let input = fs::read(entry.expect("a folder lists").path()).expect("an input is a file");
        assert!(ebpf_program::run(&input));
    }
    let mut state = 1u64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut loaded = 0;
    for _ in 0..4_000 {
        let mut input = vec![7; 64];
        for _ in 0..next(12) {
            let opcode = OPCODES[next(OPCODES.len() as u64) as usize];
            let registers = (next(11) << 4 | next(10)) as u8;
            let offset = next(40) as i16 - 20;
            let is_call = opcode == 0x85;
            let imm = if is_call {
                [1, 2, 3, 5, 31][next(5) as usize]
            } else {
                next(70) as i32
            };
            let registers = if is_call { 0 } else { registers };
            // Half of the jumps are short ones.
            let offset = if next(2) == 0 { offset / 8 } else { offset };
            input.extend([opcode, registers]);
            input.extend(offset.to_le_bytes());
            input.extend(imm.to_le_bytes());
        }
        input.extend([0x95, 0, 0, 0, 0, 0, 0, 0]);
        loaded += usize::from(ebpf_program::run(&input));
    }
    assert!(loaded > 200, "{loaded} of so many are right");
}

/// Has no map, and returns CONTINUE.
const GOES_ON: &str = "code=b4000000fcffffff9500000000000000";
/// Counts in the first value of its map, an array with numbers of 8 bytes.
const COUNTS: &str = "map0=(name=n,type=array,key=4,value=8,entries=1),code=\
    620afcff0000000018110000000000000000000000000000bfa200000000000007020000fcffffff\
    bfa300000000000007030000f0ffffff850000000100000079a1f0ff00000000\
    791200000000000007020000010000007b21000000000000b4000000fcffffff9500000000000000";

/// A switch with this extension, two ports, and an entry that runs the program `p`.
struct Bench {
    catalogue: Arc<Catalogue>,
    datapath: Datapath,
    pool: Pool,
    out: Vec<Frame>,
}

impl Bench {
    fn new(engine: Engine) -> Self {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let pool = Pool::new(1 << 20);
        let config = Config {
            engine,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        for hook in bofuss_ext::hooks(&catalogue) {
            datapath.add_hook(hook);
        }
        let mut out = Vec::new();
        for number in [1, 2] {
            let port = PortDesc {
                port_no: PortNo(number),
                ..PortDesc::default()
            };
            let mut ports = datapath.port_control(Time(0), &mut out);
            ports.changed(port, Default::default());
        }
        let flow = "priority=1,actions=ebpf:p,output:2";
        let flow = parse_flow(flow, FlowModCommand::ADD, &catalogue).unwrap();
        datapath.control(Time(0), &mut out).flow_mod(&flow).unwrap();
        Self {
            catalogue,
            datapath,
            pool,
            out,
        }
    }

    fn value(&self, kind: ExtKind, name: &str, text: &str) -> ExtValue {
        let row = self.catalogue.values(kind).find(|row| row.name == name);
        ExtValue::parse(row.unwrap(), text, &self.catalogue).unwrap()
    }

    fn say(&mut self, name: &str, text: &str) -> Result<(), ErrorCode> {
        let value = self.value(ExtKind::Message, name, text);
        let mut calls = self.datapath.hook_calls(Time(0), &mut self.out);
        calls.message(asker(), &value).map(|_| ())
    }

    /// The reply to a multipart request, as text.
    fn ask(&mut self, name: &str, text: &str) -> String {
        let request = self.value(ExtKind::Multipart, name, text);
        let mut calls = self.datapath.hook_calls(Time(0), &mut self.out);
        let (part, _) = calls.multipart(asker(), &request, 0).unwrap();
        part.value.unwrap().to_string()
    }

    fn send(&mut self, frame: Frame) {
        self.datapath
            .receive(Time(0), PortNo(1), &mut vec![frame], &mut self.out);
    }

    fn frame(&self) -> Frame {
        self.pool.frame(&[2; 60]).unwrap()
    }
}

fn asker() -> Asker {
    Asker {
        connection: 1,
        role: ControllerRole::EQUAL,
        version: Version::V1_3,
        form: 0,
    }
}

#[derive(Default)]
struct Steps(String);

impl Sink for Steps {
    const TRACES: bool = true;
    const DRY: bool = true;
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
    fn step(&mut self, step: Step<'_>) {
        writeln!(self.0, "{step}").unwrap();
    }
}

#[test]
fn a_trace_says_what_the_program_did_and_changes_no_map() {
    let mut bench = Bench::new(Engine::Cache);
    bench
        .say("program_mod", &format!("add,name=p,{COUNTS}"))
        .unwrap();
    let count = |bench: &mut Bench| bench.ask("map_entries", "program=p,map=n");
    bench.send(bench.frame());
    let before = count(&mut bench);
    assert!(before.contains("data=0100000000000000"), "{before}");
    let mut steps = Steps::default();
    let packet = Packet::new(bench.frame(), PortNo(1));
    bench.datapath.control(Time(0), &mut steps).trace(packet);
    assert!(
        steps.0.contains("program p returns 0xfffffffc after"),
        "{}",
        steps.0
    );
    assert_eq!(count(&mut bench), before);
    bench.send(bench.frame());
    assert!(count(&mut bench).contains("data=0200000000000000"));
}

#[test]
fn a_program_is_run_for_each_packet_of_a_path_that_is_remembered() {
    let mut bench = Bench::new(Engine::Cache);
    bench
        .say("program_mod", &format!("add,name=p,{COUNTS}"))
        .unwrap();
    for _ in 0..10 {
        bench.send(bench.frame());
    }
    assert!(bench.datapath.lane().engine.stats().hits >= 8);
    let count = bench.ask("map_entries", "program=p,map=n");
    assert!(count.contains("data=0a00000000000000"), "{count}");
    let hooks = bench.datapath.hooks();
    let mut metrics = Vec::new();
    let listed = |hook: &usize| hooks.metrics(Time(0), *hook, 0, &mut metrics).is_some();
    assert!((0..).take_while(listed).count() > 1);
    let runs = metrics.iter().find(|metric| metric.name == "runs");
    assert_eq!(runs.map(|metric| metric.value), Some(10));
}

#[test]
fn a_program_sees_the_checksum_that_its_host_left_to_others() {
    let mut bench = Bench::new(Engine::Cache);
    bench
        .say("program_mod", &format!("add,name=p,{GOES_ON}"))
        .unwrap();
    let mut frame = bench.frame();
    frame.offload.checksum = Some((34, 16));
    bench.send(frame);
    let sent = bench.out.pop().unwrap();
    assert!(sent.offload.checksum.is_none());
    assert_ne!(sent.bytes()[50..52], [2, 2]);
}

#[test]
fn further_programs_and_maps_than_there_is_room_for_are_refused() {
    let mut bench = Bench::new(Engine::Cache);
    for number in 0..MAX_PROGRAMS {
        bench
            .say("program_mod", &format!("add,name=p{number},{GOES_ON}"))
            .unwrap();
    }
    let one_more = bench.say("program_mod", &format!("add,name=more,{GOES_ON}"));
    assert_eq!(one_more, Err(FULL));
    bench
        .say("program_mod", &format!("add,name=p0,{GOES_ON}"))
        .unwrap();
    // Maps of 1 MiB each fill what there is; what is refused leaves the program as it was.
    let entries = MAX_MAP_BYTES / 16 / 1024;
    let map = |number| {
        format!("map{number}=(name=m{number},type=array,key=4,value=1024,entries={entries})")
    };
    let all: Vec<_> = (0..16).map(map).collect();
    let all = all.join(",");
    bench
        .say("program_mod", &format!("add,name=p0,{all},{GOES_ON}"))
        .unwrap();
    let small = "map0=(name=m,type=array,key=4,value=1,entries=1)";
    let refused = bench.say("program_mod", &format!("add,name=p1,{small},{GOES_ON}"));
    assert_eq!(refused, Err(FULL));
    bench
        .say("program_mod", &format!("add,name=p0,{all},{GOES_ON}"))
        .unwrap();
    bench.say("program_mod", "delete,name=p0").unwrap();
    assert_eq!(bench.say("program_mod", "delete,name=p0"), Err(NO_PROGRAM));
    bench
        .say("program_mod", &format!("add,name=p1,{small},{GOES_ON}"))
        .unwrap();
}
