//! No packet sees a part of a bundle: probes are sent between all slices of commits of several
//! sizes.

use bofuss_agent::FailMode;
use bofuss_datapath::Engine;
use bofuss_oflib::message::FlowModCommand as C;
use bofuss_oflib::message::bundle::BundleControlType as T;
use bofuss_oflib::{Mac, PortNo, Version};
use bofuss_packet::craft;

use super::{BOTH, BUNDLER, ENGINES, add, ask, control, flow};
use crate::common::Lab;

/// Flow-mods of the longest bundle; fewer in a debug build, which is slower.
const MANY: u32 = if cfg!(debug_assertions) {
    20_000
} else {
    100_000
};
/// How many different entries these change in the plain engine, which scans all of them for each
/// flow-mod.
const FEW: u32 = 100;
/// Ethernet types of the probes: those of the first take the direct path; those of the second get
/// an MPLS header and so become packets.
const TYPES: [u16; 2] = [0x88b5, 0x88b6];
/// Copies of a probe: one for each table.
const COPIES: usize = 2;

/// Flow-mods with which tables 0 and 1 each send a copy of a probe to `port`; the last one
/// completes the path.
fn path(port: u32) -> [(C, String); 3] {
    let direct = format!("table=1,priority=5,dl_type=0x88b5,actions=output:{port}");
    let tagged =
        format!("table=1,priority=5,dl_type=0x88b6,actions=push_mpls:0x8847,output:{port}");
    let first = format!("priority=5,actions=output:{port},goto_table:1");
    [(C::ADD, first), (C::ADD, direct), (C::ADD, tagged)]
}

/// Sends a batch of probes: of flows that were there before and of new ones. Returns the port that
/// all copies of all of them left by; fails if they left by several.
fn probe(lab: &mut Lab, round: usize) -> u32 {
    let [_, _, high, low] = (round as u32).to_be_bytes();
    let sources = [Mac([2; 6]), Mac([2, 0, 0, 1, high, low])];
    let mut frames = Vec::new();
    for source in sources {
        for ty in TYPES {
            let layer = craft::Layer::new(ty, &[0; 60]);
            let bytes = craft::ethernet(source, Mac([4; 6]), layer);
            frames.push(lab.pool.frame(&bytes).unwrap());
        }
    }
    let copies = frames.len() * COPIES;
    lab.io.out.clear();
    lab.switch
        .receive(lab.now, PortNo(1), &mut frames, &mut lab.io);
    let port = lab.io.out[0];
    assert_eq!(lab.io.out, vec![port; copies], "round {round}");
    port
}

/// Commits a bundle of `mods` flow-mods placed between those of [`path`].
fn commit_between_probes(engine: Engine, mods: u32) {
    let entries = if engine == Engine::Reference {
        mods.min(FEW)
    } else {
        mods
    };
    let mut lab = Lab::with_engine(2 * MANY, FailMode::Secure, engine);
    lab.switch.connected(lab.now, BUNDLER, Version::V1_4, false);
    for (command, text) in path(2) {
        lab.flow(command, &text);
    }
    assert_eq!(probe(&mut lab, 0), 2);
    let [first, second, third] = path(3);
    let other = |n: u32| {
        let [_, a, b, c] = (n % entries).to_be_bytes();
        let text = format!("table=1,priority=1,ip,nw_src=10.{a}.{b}.{c},actions=output:4");
        (C::ADD, text)
    };
    let begin = [first].into_iter();
    let all = begin.chain((0..mods).map(other)).chain([second, third]);
    for (command, text) in all {
        let message = flow(&lab, command, &text);
        assert_eq!(add(&mut lab, 100, message), []);
    }
    assert_eq!(probe(&mut lab, 0), 2, "nothing is done yet");
    assert_eq!(ask(&mut lab, 9, control(T::COMMIT_REQUEST, BOTH)), []);
    let (mut port, mut rounds) = (2, 0);
    while lab.switch.has_work(&lab.io) {
        rounds += 1;
        let before = probe(&mut lab, rounds);
        assert_eq!(before, port, "nothing changes between slices");
        lab.switch.work(lab.now, &mut lab.io);
        port = probe(&mut lab, rounds);
        assert!(port >= before, "nothing comes back");
    }
    assert_eq!(port, 3);
    assert!(rounds > mods as usize / 100, "{rounds} slices");
    assert_eq!(lab.io.messages, [control(T::COMMIT_REPLY, BOTH)]);
    let tables = lab.switch.datapath().tables();
    assert_eq!(
        (tables[0].len(), tables[1].len()),
        (1, entries as usize + 2)
    );
}

#[test]
fn no_packet_meets_a_part_of_a_bundle_of_1() {
    for engine in ENGINES {
        commit_between_probes(engine, 1);
    }
}

#[test]
fn no_packet_meets_a_part_of_a_bundle_of_1000() {
    for engine in ENGINES {
        commit_between_probes(engine, 1_000);
    }
}

#[test]
fn no_packet_meets_a_part_of_a_bundle_of_many() {
    for engine in ENGINES {
        commit_between_probes(engine, MANY);
    }
}
