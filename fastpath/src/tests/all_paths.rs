//! Every kind of path: the words read ahead are right, and each frame is treated as by the tables.

use alloc::{format, vec::Vec};

use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::{arrival, craft};

use super::stage::{Seen, counters, flow, super_frame, switch_of, with_engine};
use crate::Datapath;
use bofuss_datapath::engine::Lookahead;
use bofuss_datapath::{Engine, Time};
use bofuss_datapath::{QueueSpec, Rate};

/// The actions of flow `n`; each flow has a different kind of path.
const ACTIONS: [&str; 20] = [
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

/// Frames of all flows and of some unknown flows: tagged, fragments, and with unfinished checksums.
fn frames_of_all_paths(pool: &Pool) -> Vec<Frame> {
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

/// A switch with a port without checksum offload, one that is down and one with a queue.
fn switch_of_all_paths(engine: Engine) -> Datapath {
    let (mut datapath, sink) = (
        switch_of(with_engine(engine), 1000, 6),
        &mut Vec::<Frame>::new(),
    );
    let plain = datapath.ports()[&PortNo(3)].desc.clone();
    datapath
        .port_control(Time(0), sink)
        .changed(plain, OffloadCapabilities::default());
    let down = PortConfig::PORT_DOWN;
    datapath
        .port_control(Time(0), sink)
        .configure(PortNo(4), down, down);
    let spec = QueueSpec {
        max: Some(Rate::Kbps(10)),
        ..QueueSpec::default()
    };
    let queue = datapath.modify_queue(Time(0), PortNo(5), QueueId(0), spec);
    queue.expect("the port's rate is known");
    for (n, actions) in ACTIONS.iter().enumerate() {
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
    // A short key, and one with more words than a flow holds in place.
    let entries = [
        "priority=9,ip,nw_dst=10.9.9.30,actions=drop",
        "priority=9,tcp6,ipv6_src=fe80::1,ipv6_dst=fe80::2,tp_src=9,dl_vlan=7,actions=drop",
    ];
    let (mut datapath, mut state) = (switch_of_all_paths(Engine::Cache), 1_u64);
    for text in entries {
        flow(&mut datapath, text);
        let frames = frames_of_all_paths(datapath.pool());
        let cache = &datapath.lane().engine;
        let key = arrival(PortNo(1), datapath.catalogue().additions());
        let base = cache.key.words(1 << 16, &key);
        let mut lookahead = Lookahead::seeking(datapath.catalogue().additions());
        let mut read = 0;
        for mut frame in frames {
            for _ in 0..50 {
                // A linear congruential generator (Knuth) changes any byte of the headers to any
                // value.
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (state >> 32) as usize % frame.len().min(64);
                frame.bytes_mut()[at] = (state >> 56) as u8;
                lookahead.survey(frame.bytes());
                cache.key.look_at(frame.bytes(), &base, &mut lookahead);
                cache.prefetch(&mut lookahead);
                read += usize::from(lookahead.is_read);
                assert!(
                    cache.key.is_exact(&lookahead, &frame, &key),
                    "{lookahead:?}"
                );
            }
        }
        assert!(read > 1000, "{read} frames were read ahead");
    }
}

// I14
#[test]
fn the_direct_path_treats_every_frame_as_the_tables_do() {
    for (fragments, wants_misses) in [(0, false), (1, true)] {
        let run = |engine: Engine| {
            let mut datapath = switch_of_all_paths(engine);
            let mut seen = Seen {
                wants_misses,
                ..Seen::default()
            };
            for at in 0..3 {
                if at > 0 {
                    datapath.set_fragments(ConfigFlags(fragments));
                }
                let mut frames = frames_of_all_paths(datapath.pool());
                datapath.receive(Time(at * 1000 + 1), PortNo(1), &mut frames, &mut seen);
            }
            (seen, counters(&mut datapath, 6))
        };
        assert_eq!(run(Engine::Cache), run(Engine::Tables));
    }
}
