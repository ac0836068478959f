//! Tests of counters, super-frames and changes on cached paths, and of a full cache.

extern crate std;

mod all_paths;
mod below;
mod busy_hooks;
mod in_memory;
mod parting;
mod stage;
mod steps;

use alloc::{format, vec, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::text::{parse_flow, parse_meter};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Mac, Match, PortNo};
use bofuss_packet::{KeyMatch, craft};

use crate::Datapath;
use crate::cache::MAX_UNSETTLED;
use bofuss_datapath::{Config, Cursor, Engine, Time};

use self::stage::*;

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
fn what_packets_of_a_port_share_is_kept_for_two_ports() {
    let mut datapath = switch(0, 3);
    for port in [1, 2, 1, 3] {
        let frame = datapath.pool().frame(&[0xff; 60]);
        let mut frames = vec![frame.expect("within the limit")];
        let sink = &mut Vec::<Frame>::new();
        datapath.receive(Time(1), PortNo(port), &mut frames, sink);
    }
    let cache = &datapath.lane().engine;
    let kept = [&cache.arrival, &cache.other_arrival];
    let ports = kept.map(|one| one.as_ref().map(|one| one.known_as.0));
    assert_eq!(ports, [Some(PortNo(3)), Some(PortNo(1))]);
}

#[test]
fn flows_that_wait_to_be_counted_are_few() {
    let mut datapath = switch(0, 2);
    flow(&mut datapath, "ip,nw_src=10.0.0.0/8,actions=output:2");
    let flows = 2 * MAX_UNSETTLED as u16 + 10;
    for _ in 0..2 {
        (0..flows).for_each(|n| assert_eq!(send(&mut datapath, n).len(), 1));
    }
    assert!(datapath.lane().engine.unsettled.len() < MAX_UNSETTLED);
    let counted = packets(&datapath);
    assert!(
        counted >= 2 * u64::from(flows) - MAX_UNSETTLED as u64,
        "{counted}"
    );
    let lookups = datapath.settled().table_counts(TableId(0)).lookups;
    assert_eq!(packets(&datapath), 2 * u64::from(flows));
    assert_eq!(lookups, 2 * u64::from(flows));
}

#[test]
fn a_full_cache_keeps_active_flows() {
    let config = Config {
        cache_flows: 4,
        ..Config::default()
    };
    let mut datapath = switch_of(config, 0, 2);
    flow(&mut datapath, "ip,nw_src=10.0.0.0/8,actions=output:2");
    (0..4).for_each(|n| drop(send(&mut datapath, n)));
    (100..200).for_each(|n| drop(send(&mut datapath, n)));
    (0..4).for_each(|n| drop(send(&mut datapath, n)));
    let stats = datapath.lane().engine.stats();
    assert_eq!((stats.hits, stats.refused, stats.evicted), (4, 100, 0));
    (0..3).for_each(|_| drop(send(&mut datapath, 300)));
    let stats = datapath.lane().engine.stats();
    assert_eq!((stats.hits, stats.refused, stats.evicted), (5, 101, 1));
    assert_eq!(datapath.lane().engine.flows.len(), 4);
    datapath.settled();
    assert_eq!(packets(&datapath), 4 + 100 + 4 + 3);
}

#[test]
fn a_cache_without_room_has_no_flow_and_packets_pass() {
    let config = Config {
        cache_flows: 0,
        ..Config::default()
    };
    let mut datapath = switch_of(config, 0, 2);
    flow(&mut datapath, "ip,actions=output:2");
    (0..3).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), 1));
    assert_eq!(datapath.lane().engine.stats().refused, 3);
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
    assert_eq!(datapath.lane().engine.flows.len(), 2000);
    for now in [1, 9].map(|second| Time(second * Time::SEC)) {
        while datapath.next_tick().is_some_and(|at| at <= now) {
            datapath.tick(now, &mut Vec::<Frame>::new());
        }
        datapath.tick(now, &mut Vec::<Frame>::new());
    }
    assert_eq!(
        datapath.lane().engine.flows.len(),
        0,
        "20 would keep 8 chunks"
    );
    for n in (0..2000).step_by(100) {
        assert_eq!(send(&mut datapath, n).len(), 1);
    }
    datapath.settled();
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
        (datapath.tables()[0].len(), datapath.next_tick()),
        (1, Some(end))
    );
    datapath.tick(end, sink);
    assert_eq!(datapath.tables()[0].len(), 0);
}

#[test]
fn a_flow_that_a_change_makes_wrong_is_settled_first() {
    let mut datapath = switch(0, 2);
    flow(&mut datapath, "priority=1,ip,actions=output:2");
    (0..3).for_each(|_| assert_eq!(send(&mut datapath, 1).len(), 1));
    flow(&mut datapath, "priority=5,ip,actions=drop");
    assert_eq!(send(&mut datapath, 1).len(), 0);
    datapath.settled();
    assert_eq!(
        (packets(&datapath), datapath.lane().engine.stats().refuted),
        (4, 1)
    );
}

#[test]
fn a_program_is_freed_with_its_last_flow() {
    let config = Config {
        cache_flows: 2,
        ..Config::default()
    };
    let mut datapath = switch_of(config, 0, 2);
    for n in 0..9 {
        flow(
            &mut datapath,
            &format!("ip,nw_src=10.0.0.{n},actions=set_queue:{n},output:2"),
        );
        (0..2).for_each(|_| drop(send(&mut datapath, n)));
    }
    assert_eq!(datapath.lane().engine.stats().evicted, 7);
    assert_eq!(
        (
            datapath.lane().engine.flows.len(),
            datapath.lane().engine.programs.0.len()
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
            datapath.lane().engine.flows.len(),
            datapath.lane().engine.programs.0.len(),
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
        (keep(&datapath), datapath.lane().engine.forgotten.len()),
        ((0, 0), 1)
    );
    rest(&mut datapath, Time(5 * Time::SEC));
    assert_eq!(datapath.lane().engine.forgotten.len(), 0);
}

// I7
#[test]
fn a_super_frame_is_special_alike_on_a_cached_path_and_by_the_tables() {
    for meter in [
        "pktps,burst,bands=type=drop,rate=1,burst_size=27",
        "pktps,bands=type=dscp_remark,prec_level=1,rate=15",
    ] {
        let run = |engine: Engine| {
            let mut datapath = switch_of(with_engine(engine), 0, 2);
            let meter = parse_meter(&format!("meter=1,{meter}"), MeterModCommand::ADD);
            let sink = &mut Vec::<Frame>::new();
            let meter = meter.expect("a right meter");
            datapath
                .control(Time(0), sink)
                .meter_mod(&meter)
                .expect("is right");
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
                let mut frames = vec![super_frame(datapath.pool()), super_frame(datapath.pool())];
                datapath.receive(Time(at * Time::SEC / 3), PortNo(1), &mut frames, &mut out);
            }
            let lookups = datapath.settled().table_counts(TableId(0)).lookups;
            let frames: Vec<Vec<u8>> = out.iter().map(|frame| frame.bytes().into()).collect();
            (frames, lookups, counters(&mut datapath, 3))
        };
        let (known, unknown) = (run(Engine::Cache), run(Engine::Tables));
        assert_eq!(known, unknown);
        assert_eq!(known.1, 100, "ten super-frames of ten segments");
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
        assert!(
            datapath.lane().engine.stats().confirmed > 0
                && datapath.lane().engine.stats().refuted > 0
        );
    }
}

#[test]
fn a_flow_older_than_the_log_of_changes_is_looked_up_again() {
    let config = Config {
        cache_flows: 9,
        cache_changes: 1,
        ..Config::default()
    };
    let mut datapath = switch_of(config, 0, 2);
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
    let stats = datapath.lane().engine.stats();
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
    let stats = datapath.lane().engine.stats();
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
    datapath
        .control(Time(0), sink)
        .meter_mod(&meter)
        .expect("is right");
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
            .pool()
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
    let left = |datapath: &Datapath| datapath.tables()[0].len();
    for n in 0..150 {
        let port = 1 + n % 3;
        flow(
            &mut datapath,
            &format!("cookie={},in_port={n},actions=output:{port}", n % 20),
        );
    }
    let delete = |datapath: &mut Datapath, text: &str| {
        let delete = parse_flow(text, FlowModCommand::DELETE, &datapath.catalogue().clone());
        let sink = &mut Vec::<Frame>::new();
        let delete = delete.expect("a right flow");
        datapath
            .control(Time(0), sink)
            .flow_mod(&delete)
            .expect("is right");
    };
    delete(&mut datapath, "cookie=3/-1,out_port=2");
    assert_eq!(
        (left(&datapath), datapath.changes().in_progress()),
        (148, false)
    );
    delete(&mut datapath, "cookie=3/-1");
    assert_eq!(
        (left(&datapath), datapath.changes().in_progress()),
        (142, false),
        "in one slice"
    );
    delete(&mut datapath, "out_port=1");
    while datapath.changes().in_progress() {
        datapath.control(Time(0), &mut Vec::<Frame>::new()).work();
    }
    let every = KeyMatch::new(&Match::default(), None);
    let mut entries = datapath.tables()[0].entries_within(&every);
    assert!(entries.all(|e| !e.outputs_to(PortNo(1), bofuss_oflib::types::GroupId::ANY)));
    assert_eq!(left(&datapath), 95);
}
