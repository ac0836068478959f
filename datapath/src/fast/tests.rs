//! Tests of counters, super-frames and changes on cached paths, and of a full cache.

extern crate std;

mod all_paths;
mod busy_hooks;
mod steps;

use alloc::{format, string::String, vec, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::{parse_flow, parse_meter};
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use crate::cache::{Cache, MAX_UNSETTLED};
use crate::control::queues::tests::{super_frame, switch};
use crate::{Cursor, Datapath, Engine, EntryKey, PacketInEvent, Sink, Time};

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

/// Sends a frame of flow number `n`. Returns the frames that are sent.
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
fn a_full_cache_keeps_active_flows() {
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
fn scattered_flows_do_not_retain_memory() {
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
fn packets_on_a_cached_path_keep_their_entry_from_idling_out() {
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
fn a_flow_that_a_change_makes_wrong_is_settled_first() {
    let mut datapath = switch(0, 2);
    flow(&mut datapath, "priority=1,ip,actions=output:2");
    (0..3).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), 1));
    flow(&mut datapath, "priority=5,ip,actions=drop");
    assert_eq!(send(&mut datapath, 1).len(), 0);
    datapath.settle();
    assert_eq!((packets(&datapath), datapath.cache_stats().refuted), (4, 1));
}

#[test]
fn a_program_is_freed_with_its_last_flow() {
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

/// Advances time from tick to tick. Returns how many ticks there were.
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
    // Two turns of 128 flows each, and one that finds no more.
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
fn a_super_frame_is_treated_alike_on_a_cached_path_and_by_the_tables() {
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
fn an_entry_that_matches_rewritten_fields_changes_a_cached_path() {
    for (rewrite, rival) in [
        ("write_metadata:1", "metadata=1"),
        ("set_field:10.7.7.7->nw_dst", "ip,nw_dst=10.7.7.7"),
    ] {
        let mut datapath = switch(0, 2);
        flow(&mut datapath, &format!("ip,actions={rewrite},goto_table:1"));
        flow(&mut datapath, "table=1,priority=1,actions=output:2");
        // The key already has the fields.
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
fn a_flow_older_than_the_log_of_changes_is_looked_up_again() {
    let mut datapath = switch(0, 2);
    datapath.lane.cache = Cache::new(1, 9, 1);
    flow(&mut datapath, "ip,nw_src=10.0.0.1,actions=goto_table:1");
    let sets_fields = "ip,nw_src=10.0.0.2,actions=set_field:10.7.7.7->nw_dst,goto_table:1";
    flow(&mut datapath, sets_fields);
    flow(&mut datapath, "table=1,priority=1,actions=output:2");
    flow(&mut datapath, "table=2,ip,nw_dst=10.1.1.1,actions=drop");
    let two_changes = |datapath: &mut Datapath| {
        // Their matches have the packets' values, so that they may concern the flows.
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
fn the_next_table_sees_a_remark_on_a_cached_path() {
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

/// The frames sent, and the packet-ins.
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
