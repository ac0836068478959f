//! What a known way counts, what it does to super-frames, and what a full cache does.

extern crate std;

mod steps;

use alloc::{boxed::Box, format, string::String, sync::Arc, vec, vec::Vec};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::field::METADATA;
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::{parse_flow, parse_meter};
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::{arrival, craft, survey};

use crate::cache::{Cache, MAX_UNSETTLED};
use crate::control::queues::tests::{super_frame, switch};
use crate::egress::queue::{QueueSpec, Rate};
use crate::upcoming::Lookahead;
use crate::{
    Cursor, Datapath, Engine, EntryKey, Hook, HookContext, HookEffect, PacketInEvent, Sink, Time,
    Verdict,
};

fn flow(datapath: &mut Datapath, text: &str) {
    let flow = parse_flow(
        text,
        FlowModCommand::ADD,
        &datapath.pipeline.catalogue.clone(),
    );
    let flow = flow.expect(text);
    let sink = &mut Vec::<Frame>::new();
    datapath.flow_mod(Time(0), &flow, sink).expect(text);
}

fn delete(datapath: &mut Datapath, text: &str) {
    let delete = parse_flow(
        text,
        FlowModCommand::DELETE,
        &datapath.pipeline.catalogue.clone(),
    );
    let delete = delete.expect("a right flow");
    let sink = &mut Vec::<Frame>::new();
    datapath.flow_mod(Time(0), &delete, sink).expect("is right");
    while datapath.has_work() {
        datapath.work(Time(0), sink);
    }
}

/// Sends a frame of flow number `n`; the frames that leave.
fn send(datapath: &mut Datapath, n: u16) -> Vec<Frame> {
    send_at(datapath, Time(1), n)
}

fn send_at(datapath: &mut Datapath, now: Time, n: u16) -> Vec<Frame> {
    let from = [10, 0, (n >> 8) as u8, n as u8];
    let ip = craft::ipv4(
        from.into(),
        [10, 9, 9, 9].into(),
        64,
        craft::udp(1, 2, b"x"),
    );
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    let frame = datapath.lane.pool.frame(&bytes).expect("within the limit");
    let mut out = Vec::new();
    datapath.receive(now, PortNo(1), &mut vec![frame], &mut out);
    out
}

fn packets(datapath: &Datapath) -> u64 {
    let entries = datapath.pipeline.tables[0].entries(EntryKey::FIRST);
    entries.map(|(_, entry)| entry.packets).sum()
}

#[test]
fn the_settled_view_has_every_packet() {
    let mut datapath = switch(0, 2);
    flow(&mut datapath, "ip,nw_src=10.0.0.0/8,actions=output:2");
    (0..9).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), 1));
    assert!(packets(&datapath) < 9, "known flows count for themselves");
    let settled = datapath.settled();
    let counts = settled.table_counts(TableId(0));
    assert_eq!((counts.lookups, counts.matches), (9, 9));
    let (mut cursor, mut packets) = (Cursor::new(TableId::ALL), 0);
    assert!(settled.slice(&mut cursor, |_, entry| packets += entry.packets));
    assert_eq!(packets, 9);
}

#[test]
fn flows_that_wait_to_be_counted_are_few() {
    let mut datapath = switch(0, 2);
    flow(&mut datapath, "ip,nw_src=10.0.0.0/8,actions=output:2");
    let flows = 2 * MAX_UNSETTLED as u16 + 10;
    for _ in 0..2 {
        (0..flows).for_each(|n| assert_eq!(send(&mut datapath, n).len(), 1));
    }
    assert!(datapath.lane.cache.unsettled.len() < MAX_UNSETTLED);
    let counted = packets(&datapath);
    assert!(
        counted >= 2 * u64::from(flows) - MAX_UNSETTLED as u64,
        "{counted}"
    );
    datapath.settle();
    assert_eq!(packets(&datapath), 2 * u64::from(flows));
    assert_eq!(
        datapath.pipeline.tables[0].lookup_count,
        2 * u64::from(flows)
    );
}

#[test]
fn a_full_cache_keeps_what_lives() {
    let mut datapath = switch(0, 2);
    datapath.lane.cache = Cache::new(1, 4, 64);
    flow(&mut datapath, "ip,nw_src=10.0.0.0/8,actions=output:2");
    (0..4).for_each(|n| drop(send(&mut datapath, n)));
    (100..200).for_each(|n| drop(send(&mut datapath, n)));
    (0..4).for_each(|n| drop(send(&mut datapath, n)));
    let stats = datapath.cache_stats();
    assert_eq!((stats.hits, stats.refused, stats.evicted), (4, 100, 0));
    (0..3).for_each(|_| drop(send(&mut datapath, 300)));
    let stats = datapath.cache_stats();
    assert_eq!((stats.hits, stats.refused, stats.evicted), (5, 101, 1));
    assert_eq!(datapath.lane.cache.flows.len(), 4);
    datapath.settle();
    assert_eq!(packets(&datapath), 4 + 100 + 4 + 3);
}

#[test]
fn flows_that_are_left_far_from_each_other_keep_no_memory() {
    let mut datapath = switch(0, 2);
    flow(&mut datapath, "cookie=1,priority=1,ip,actions=output:2");
    for n in (0..2000u16).step_by(100) {
        let [high, low] = n.to_be_bytes();
        let text = format!("ip,nw_src=10.0.{high}.{low},actions=output:2");
        flow(&mut datapath, &text);
    }
    (0..2000).for_each(|n| assert_eq!(send(&mut datapath, n).len(), 1));
    delete(&mut datapath, "cookie=1/-1");
    assert_eq!(datapath.lane.cache.flows.len(), 2000);
    for now in [1, 9].map(|second| Time(second * Time::SEC)) {
        while datapath.next_tick().is_some_and(|at| at <= now) {
            datapath.tick(now, &mut Vec::<Frame>::new());
        }
        datapath.tick(now, &mut Vec::<Frame>::new());
    }
    assert_eq!(datapath.lane.cache.flows.len(), 0, "20 would keep 8 chunks");
    for n in (0..2000).step_by(100) {
        assert_eq!(send(&mut datapath, n).len(), 1);
    }
    datapath.settle();
    assert_eq!(packets(&datapath), 40);
}

#[test]
fn a_packet_on_a_known_way_keeps_its_entry_from_idling_out() {
    let (mut datapath, sink) = (switch(0, 2), &mut Vec::<Frame>::new());
    flow(&mut datapath, "idle_timeout=1,ip,actions=output:2");
    let (late, end) = (Time(Time::SEC * 9 / 10), Time(Time::SEC * 19 / 10));
    for now in [Time(1), late] {
        assert_eq!(send_at(&mut datapath, now, 1).len(), 1);
    }
    datapath.tick(Time(Time::SEC), sink);
    assert_eq!(
        (datapath.pipeline.tables[0].len(), datapath.next_tick()),
        (1, Some(end))
    );
    datapath.tick(end, sink);
    assert_eq!(datapath.pipeline.tables[0].len(), 0);
}

#[test]
fn a_flow_that_a_change_makes_wrong_is_counted_first() {
    let mut datapath = switch(0, 2);
    flow(&mut datapath, "priority=1,ip,actions=output:2");
    (0..3).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), 1));
    flow(&mut datapath, "priority=5,ip,actions=drop");
    assert_eq!(send(&mut datapath, 1).len(), 0);
    datapath.settle();
    assert_eq!((packets(&datapath), datapath.cache_stats().refuted), (4, 1));
}

#[test]
fn a_program_goes_with_its_last_flow() {
    let mut datapath = switch(0, 2);
    datapath.lane.cache = Cache::new(1, 2, 64);
    for n in 0..9 {
        flow(
            &mut datapath,
            &format!("ip,nw_src=10.0.0.{n},actions=set_queue:{n},output:2"),
        );
        (0..2).for_each(|_| drop(send(&mut datapath, n)));
    }
    assert_eq!(datapath.cache_stats().evicted, 7);
    assert_eq!(
        (
            datapath.lane.cache.flows.len(),
            datapath.lane.cache.programs.len()
        ),
        (2, 2)
    );
}

/// Lets time pass, turn by turn as the switch is asked to; how many turns that took.
fn rest(datapath: &mut Datapath, end: Time) -> usize {
    let mut turns = 0;
    while let Some(at) = datapath.next_tick().filter(|at| *at <= end) {
        datapath.tick(at, &mut Vec::<Frame>::new());
        turns += 1;
    }
    turns
}

#[test]
fn flows_whose_entries_are_gone_are_forgotten_within_seconds() {
    let mut datapath = switch(0, 2);
    for n in 0..=255 {
        flow(&mut datapath, &format!("ip,nw_src=10.0.0.{n},actions=drop"));
    }
    let keep = |datapath: &Datapath| {
        (
            datapath.lane.cache.flows.len(),
            datapath.lane.cache.programs.len(),
        )
    };
    (0..=255).for_each(|n| drop(send(&mut datapath, n)));
    assert_eq!(keep(&datapath).0, 256);
    delete(&mut datapath, "ip,nw_src=10.0.0.0/25");
    rest(&mut datapath, Time(Time::SEC));
    datapath.tick(Time(Time::SEC), &mut Vec::<Frame>::new());
    assert_eq!(keep(&datapath).0, 256);
    // Two turns for 256 flows, and one that finds no more.
    assert_eq!(rest(&mut datapath, Time(5 * Time::SEC)), 3);
    assert_eq!(keep(&datapath), (128, 1));
    flow(&mut datapath, "table=1,tcp,tcp_dst=5,actions=drop");
    assert_eq!(
        (keep(&datapath), datapath.lane.cache.forgotten.len()),
        ((0, 0), 1)
    );
    rest(&mut datapath, Time(5 * Time::SEC));
    assert_eq!(datapath.lane.cache.forgotten.len(), 0);
}

// I7
#[test]
fn a_super_frame_on_a_known_way_does_what_it_does_without() {
    for meter in [
        "pktps,burst,bands=type=drop,rate=1,burst_size=27",
        "pktps,bands=type=dscp_remark,prec_level=1,rate=15",
    ] {
        let run = |engine: Engine| {
            let mut datapath = switch(0, 2);
            datapath.pipeline.config.engine = engine;
            let meter = parse_meter(&format!("meter=1,{meter}"), MeterModCommand::ADD);
            let sink = &mut Vec::<Frame>::new();
            let meter = meter.expect("a right meter");
            datapath.meter_mod(Time(0), &meter, sink).expect("is right");
            flow(
                &mut datapath,
                "ip,actions=set_field:10.7.7.7->nw_dst,goto_table:1",
            );
            flow(
                &mut datapath,
                "table=1,ip,nw_dst=10.7.7.7,actions=meter:1,dec_ttl,goto_table:2",
            );
            flow(
                &mut datapath,
                "table=2,priority=2,ip,ip_dscp=10,actions=output:2",
            );
            flow(&mut datapath, "table=2,priority=1,actions=output:2");
            let mut out = Vec::new();
            for at in 0..5 {
                let mut frames = vec![
                    super_frame(&datapath.lane.pool),
                    super_frame(&datapath.lane.pool),
                ];
                datapath.receive(Time(at * Time::SEC / 3), PortNo(1), &mut frames, &mut out);
            }
            datapath.settle();
            let tables = datapath.pipeline.tables[..3].iter();
            let counts: Vec<_> = tables.map(|t| (t.lookup_count, t.matched_count)).collect();
            let entries = datapath.pipeline.tables[..3]
                .iter()
                .flat_map(|t| t.entries(EntryKey::FIRST));
            let entries: Vec<_> = entries.map(|(_, e)| (e.packets, e.bytes)).collect();
            let frames: Vec<Vec<u8>> = out.iter().map(|frame| frame.bytes().into()).collect();
            let drops: Vec<String> = datapath.drops().map(|drop| format!("{drop:?}")).collect();
            (frames, counts, entries, drops)
        };
        let (known, unknown) = (run(Engine::Cache), run(Engine::Tables));
        assert_eq!(known, unknown);
        assert_eq!(known.1[0], (100, 100), "ten super-frames of ten segments");
    }
}

#[test]
fn an_entry_for_what_a_way_has_rewritten_is_seen() {
    for (rewrite, rival) in [
        ("write_metadata:1", "metadata=1"),
        ("set_field:10.7.7.7->nw_dst", "ip,nw_dst=10.7.7.7"),
    ] {
        let mut datapath = switch(0, 2);
        flow(&mut datapath, &format!("ip,actions={rewrite},goto_table:1"));
        flow(&mut datapath, "table=1,priority=1,actions=output:2");
        // The key has the fields already.
        flow(&mut datapath, "table=2,metadata=9,actions=drop");
        flow(&mut datapath, "table=2,ip,nw_dst=10.1.1.1,actions=drop");
        (0..2).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), 1));
        flow(&mut datapath, "table=2,priority=5,metadata=1,actions=drop");
        assert_eq!(send(&mut datapath, 1).len(), 1, "another table's entry");
        flow(
            &mut datapath,
            &format!("table=1,priority=5,{rival},actions=drop"),
        );
        assert_eq!(send(&mut datapath, 1).len(), 0, "{rewrite}");
        assert!(datapath.cache_stats().confirmed > 0 && datapath.cache_stats().refuted > 0);
    }
}

#[test]
fn a_way_older_than_the_log_is_looked_up_again() {
    let mut datapath = switch(0, 2);
    datapath.lane.cache = Cache::new(1, 9, 1);
    flow(&mut datapath, "ip,nw_src=10.0.0.1,actions=goto_table:1");
    let sets_fields = "ip,nw_src=10.0.0.2,actions=set_field:10.7.7.7->nw_dst,goto_table:1";
    flow(&mut datapath, sets_fields);
    flow(&mut datapath, "table=1,priority=1,actions=output:2");
    flow(&mut datapath, "table=2,ip,nw_dst=10.1.1.1,actions=drop");
    let two_changes = |datapath: &mut Datapath| {
        // Their matches are those of the packets, so that they may concern them.
        for n in 1..3 {
            let text = format!("table=2,priority={n},udp,udp_dst=2,actions=drop");
            flow(datapath, &text);
        }
    };
    two_changes(&mut datapath);
    (0..2).for_each(|_| (1..3).for_each(|n| assert_eq!(send(&mut datapath, n).len(), 1)));
    two_changes(&mut datapath);
    (1..3).for_each(|n| assert_eq!(send(&mut datapath, n).len(), 1));
    let rival = "table=1,priority=5,ip,nw_dst=10.7.7.7,actions=drop";
    flow(&mut datapath, rival);
    two_changes(&mut datapath);
    let left: Vec<usize> = (1..3).map(|n| send(&mut datapath, n).len()).collect();
    assert_eq!(left, [1, 0]);
    let stats = datapath.cache_stats();
    assert_eq!((stats.overrun, stats.retraced), (4, 2));
}

#[test]
fn changes_for_others_leave_known_flows_on_their_paths() {
    let mut datapath = switch(0, 2);
    let changes = |datapath: &mut Datapath, round: u32| {
        for n in 0..500 {
            let [_, _, high, low] = (round * 1000 + n).to_be_bytes();
            let text = format!("priority=2,ip,nw_src=10.1.{high}.{low}");
            flow(datapath, &format!("{text},actions=drop"));
            if n % 2 == 0 {
                delete(datapath, &text.replace("priority=2,", ""));
            }
        }
    };
    flow(
        &mut datapath,
        "priority=1,ip,nw_src=10.0.0.0/16,actions=output:2",
    );
    changes(&mut datapath, 0);
    (0..50).for_each(|n| assert_eq!(send(&mut datapath, n).len(), 1));
    changes(&mut datapath, 1);
    (0..50).for_each(|n| assert_eq!(send(&mut datapath, n).len(), 1));
    let stats = datapath.cache_stats();
    assert!(
        stats.confirmed > 30,
        "more changes than the log has: {stats:?}"
    );
    flow(&mut datapath, "priority=3,ip,nw_src=10.0.0.7,actions=drop");
    let left: Vec<usize> = (0..50).map(|n| send(&mut datapath, n).len()).collect();
    assert_eq!(left.iter().sum::<usize>(), 49);
    assert_eq!(left[7], 0);
}

#[test]
fn a_remark_is_seen_by_the_next_table_on_a_known_way() {
    let mut datapath = switch(0, 2);
    let meter = "meter=1,pktps,burst,bands=type=dscp_remark,prec_level=1,rate=1,burst_size=3";
    let meter = parse_meter(meter, MeterModCommand::ADD).expect("a right meter");
    let sink = &mut Vec::<Frame>::new();
    datapath.meter_mod(Time(0), &meter, sink).expect("is right");
    flow(
        &mut datapath,
        "ip,actions=set_field:10->ip_dscp,goto_table:1",
    );
    flow(&mut datapath, "table=1,ip,actions=meter:1,goto_table:2");
    flow(
        &mut datapath,
        "table=2,priority=2,ip,ip_dscp=12,actions=drop",
    );
    flow(&mut datapath, "table=2,priority=1,actions=output:2");
    let left = [(); 6].map(|()| send(&mut datapath, 1).len());
    assert_eq!(left, [1, 1, 1, 1, 0, 0]);
}

/// Writes the metadata 1 before each lookup in table 1, once it has something to do.
struct Writer(Arc<AtomicBool>);

impl Hook for Writer {
    fn name(&self) -> &'static str {
        "writer"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        if self.0.load(Relaxed) && table == TableId(1) {
            HookEffect::Branch
        } else {
            HookEffect::None
        }
    }
    fn generation(&self) -> u64 {
        self.0.load(Relaxed).into()
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        cx.set(METADATA, 1);
        Verdict::Continue
    }
}

#[test]
fn a_hook_that_becomes_busy_is_asked_in_every_table_again() {
    let (mut datapath, busy) = (switch(0, 2), Arc::new(AtomicBool::new(false)));
    datapath.add_hook(Box::new(Writer(Arc::clone(&busy))));
    flow(&mut datapath, "ip,actions=goto_table:1");
    flow(&mut datapath, "table=1,priority=2,metadata=1,actions=drop");
    flow(&mut datapath, "table=1,priority=1,actions=output:2");
    for is_busy in [false, true, false] {
        busy.store(is_busy, Relaxed);
        let leave = usize::from(!is_busy);
        (0..3).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), leave));
    }
    let stats = datapath.cache_stats();
    assert_eq!((stats.hits, stats.misses), (2 + 4 + 3, 1 + 2));
}

#[test]
fn a_header_that_is_cut_off_is_not_one_of_zeros() {
    let mut datapath = switch(0, 2);
    flow(&mut datapath, "tcp,tcp_dst=0,actions=output:2");
    let layer = craft::tcp(0, 0, 0, b"");
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, layer);
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    for (end, leave) in [(bytes.len(), 1), (bytes.len() - 20, 0), (bytes.len(), 1)] {
        let frame = datapath
            .lane
            .pool
            .frame(&bytes[..end])
            .expect("within the limit");
        let mut out = Vec::<Frame>::new();
        datapath.receive(Time(1), PortNo(1), &mut vec![frame], &mut out);
        assert_eq!(out.len(), leave, "{end} bytes");
    }
}

#[test]
fn what_has_a_label_is_found_among_the_others() {
    let mut datapath = switch(0, 2);
    let left = |datapath: &Datapath| datapath.pipeline.tables[0].len();
    for n in 0..150 {
        let port = 1 + n % 3;
        flow(
            &mut datapath,
            &format!("cookie={},in_port={n},actions=output:{port}", n % 20),
        );
    }
    let delete = |datapath: &mut Datapath, text: &str| {
        let delete = parse_flow(
            text,
            FlowModCommand::DELETE,
            &datapath.pipeline.catalogue.clone(),
        );
        let sink = &mut Vec::<Frame>::new();
        let delete = delete.expect("a right flow");
        datapath.flow_mod(Time(0), &delete, sink).expect("is right");
    };
    delete(&mut datapath, "cookie=3/-1,out_port=2");
    assert_eq!((left(&datapath), datapath.has_work()), (148, false));
    delete(&mut datapath, "cookie=3/-1");
    assert_eq!(
        (left(&datapath), datapath.has_work()),
        (142, false),
        "in one slice"
    );
    delete(&mut datapath, "out_port=1");
    while datapath.has_work() {
        datapath.work(Time(0), &mut Vec::<Frame>::new());
    }
    let entries = datapath.pipeline.tables[0].entries(EntryKey::FIRST);
    assert!(
        entries
            .into_iter()
            .all(|(_, e)| !e.outputs_to(PortNo(1), bofuss_oflib::types::GroupId::ANY))
    );
    assert_eq!(left(&datapath), 95);
}

/// Becomes busy with the first packet that no entry matches, and then writes metadata.
struct Once(bool);

impl Hook for Once {
    fn name(&self) -> &'static str {
        "once"
    }
    fn effect(&self, _: TableId) -> HookEffect {
        if self.0 {
            HookEffect::Branch
        } else {
            HookEffect::Live
        }
    }
    fn generation(&self) -> u64 {
        self.0.into()
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        cx.set(METADATA, self.0.into());
        Verdict::Continue
    }
    fn on_miss(&mut self, _: &mut HookContext<'_>) -> bool {
        self.0 = true;
        false
    }
}

/// What left, and what was offered to controllers.
#[derive(Default, PartialEq, Debug)]
struct Seen {
    left: Vec<(PortNo, Vec<u8>)>,
    offered: usize,
    wants_misses: bool,
}

impl Sink for Seen {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.left.push((port, frame.bytes().into()));
    }
    fn wants_misses(&self) -> bool {
        self.wants_misses
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {
        self.offered += 1;
    }
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// What becomes of frames of flow `n`, each sort of flow in its own way.
const WAYS: [&str; 20] = [
    "output:2",
    "output:3",
    "output:4",
    "output:5",
    "output:1",
    "output:77",
    "in_port",
    "drop",
    "write_actions(output:2)",
    "output:2,goto_table:1",
    "write_actions(output:2),goto_table:1",
    "write_actions(output:2),goto_table:2",
    "write_metadata:1,goto_table:3",
    "output:2,output:3",
    "clear_actions",
    "goto_table:4",
    "output:2,goto_table:4",
    "set_queue:0,output:5",
    "write_actions(output:3),goto_table:4",
    "output:2,write_actions(output:3)",
];

/// Frames of all flows, and of some more; tagged, fragments, and with unfinished checksums.
fn frames_of_all_ways(pool: &Pool) -> Vec<Frame> {
    let frame = |n: u8| {
        let layer = craft::udp(1, n.into(), b"abcdefgh");
        let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 9, 9, n % 24].into(), 64, layer);
        let ip = match n % 7 {
            6 => craft::vlan(0x8100, 0x2005, ip),
            _ => ip,
        };
        let mut bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        if n % 7 == 5 {
            // A later fragment.
            bytes[21] = 1;
        }
        let mut frame = pool.frame(&bytes).expect("within the limit");
        frame.offload.checksum = (n % 7 == 4).then_some((34, 6));
        frame
    };
    (0..168).map(frame).chain([super_frame(pool)]).collect()
}

/// A switch with a port that finishes no checksums, one that is down and one with a queue.
fn switch_of_all_ways(engine: Engine) -> Datapath {
    let (mut datapath, sink) = (switch(1000, 6), &mut Vec::<Frame>::new());
    datapath.pipeline.config.engine = engine;
    let plain = datapath.pipeline.ports[&PortNo(3)].desc.clone();
    datapath.port_changed(Time(0), plain, OffloadCapabilities::default(), sink);
    let down = PortConfig::PORT_DOWN;
    datapath.configure_port(PortNo(4), down, down, sink);
    let spec = QueueSpec {
        max: Some(Rate::Kbps(10)),
        ..QueueSpec::default()
    };
    let queue = datapath.modify_queue(Time(0), PortNo(5), QueueId(0), spec);
    queue.expect("the port's rate is known");
    for (n, actions) in WAYS.iter().enumerate() {
        let text = format!("ip,nw_dst=10.9.9.{n},actions={actions}");
        flow(&mut datapath, &text);
    }
    for text in [
        "table=1,actions=write_actions(output:3)",
        "table=2,actions=clear_actions",
        "table=3,metadata=1,actions=goto_table:5",
        "table=5,dl_vlan=5,actions=output:3",
        "table=5,priority=0,actions=output:6",
    ] {
        flow(&mut datapath, text);
    }
    datapath
}

// I14
#[test]
fn guesses_equal_the_whole_key() {
    // Few words of a key, and more than a flow has in place.
    let entries = [
        "priority=9,ip,nw_dst=10.9.9.30,actions=drop",
        "priority=9,tcp6,ipv6_src=fe80::1,ipv6_dst=fe80::2,tp_src=9,dl_vlan=7,actions=drop",
    ];
    let (mut datapath, mut state) = (switch_of_all_ways(Engine::Cache), 1_u64);
    for text in entries {
        flow(&mut datapath, text);
        let frames = frames_of_all_ways(datapath.pool());
        let cache = &datapath.lane.cache;
        let key = arrival(PortNo(1), datapath.pipeline.catalogue.additions());
        let base = cache.words(1 << 16, &key);
        let mut lookahead = Lookahead::seeking(datapath.pipeline.catalogue.additions());
        let mut read = 0;
        for mut frame in frames {
            for _ in 0..50 {
                // A linear congruential generator (Knuth): any byte of the headers may be any.
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (state >> 32) as usize % frame.len().min(64);
                frame.bytes_mut()[at] = (state >> 56) as u8;
                survey(frame.bytes(), &mut lookahead.layout);
                lookahead.clear();
                cache.look_at(frame.bytes(), &base, &mut lookahead);
                cache.prefetch(&mut lookahead);
                read += usize::from(lookahead.is_read);
                assert!(cache.is_exact(&lookahead, &frame, &key), "{lookahead:?}");
            }
        }
        assert!(read > 1000, "{read} frames were read ahead");
    }
}

// I14
#[test]
fn a_frame_of_which_little_is_read_does_what_it_does_otherwise() {
    for (fragments, wants_misses) in [(0, false), (1, true)] {
        let run = |engine: Engine| {
            let mut datapath = switch_of_all_ways(engine);
            let mut seen = Seen {
                wants_misses,
                ..Seen::default()
            };
            for at in 0..3 {
                if at > 0 {
                    datapath.pipeline.fragments = ConfigFlags(fragments);
                }
                let mut frames = frames_of_all_ways(&datapath.lane.pool);
                datapath.receive(Time(at * 1000 + 1), PortNo(1), &mut frames, &mut seen);
            }
            datapath.settle();
            let tables = datapath.pipeline.tables[..6].iter();
            let counts: Vec<_> = tables.map(|t| (t.lookup_count, t.matched_count)).collect();
            let entries = datapath.pipeline.tables[..6]
                .iter()
                .flat_map(|t| t.entries(EntryKey::FIRST));
            let entries: Vec<_> = entries.map(|(_, e)| (e.packets, e.bytes)).collect();
            let ports: Vec<_> = datapath
                .pipeline
                .ports
                .values()
                .map(|p| p.stats.clone())
                .collect();
            let drops: Vec<String> = datapath.drops().map(|drop| format!("{drop:?}")).collect();
            (seen, counts, entries, format!("{ports:?} {drops:?}"))
        };
        assert_eq!(run(Engine::Cache), run(Engine::Tables));
    }
}

#[test]
fn a_hook_that_becomes_busy_is_asked_about_the_frames_behind() {
    let mut datapath = switch(0, 2);
    datapath.add_hook(Box::new(Once(false)));
    flow(&mut datapath, "priority=2,metadata=1,actions=drop");
    flow(
        &mut datapath,
        "priority=1,ip,nw_src=10.0.0.1,actions=output:2",
    );
    (0..2).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), 1));
    let frame = |n: u8| {
        let (from, to) = ([10, 0, 0, n].into(), [10, 9, 9, 9].into());
        let ip = craft::ipv4(from, to, 64, craft::udp(1, 2, b"x"));
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        datapath.lane.pool.frame(&bytes).expect("within the limit")
    };
    let (mut frames, mut out) = (vec![frame(1), frame(9), frame(1)], Vec::new());
    datapath.receive(Time(1), PortNo(1), &mut frames, &mut out);
    assert_eq!(out.len(), 1);
}
