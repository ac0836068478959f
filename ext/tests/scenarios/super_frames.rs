//! A super-frame has the same effects as its segments one by one: frames, messages, counters.

use bofuss_datapath::DropReason;
use bofuss_packet::offload::segment;

use super::engines::{Random, counters, line, stage};
use super::*;

const OPERATIONS: usize = 4_000;
/// Counters are compared after this many operations.
const COMPARED_EVERY: usize = 29;

/// Returns true if the checksums of the frame in a line `out PORT HEX` are right.
fn is_sound(line: &str) -> bool {
    let bytes = frame(&["hex", line.rsplit(' ').next().unwrap()]);
    let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let mut at = 12;
    let ip = loop {
        match word(at) {
            0x8100 => at += 4,
            0x8847 => {
                let last = (at + 2..).step_by(4).find(|at| bytes[at + 2] & 1 == 1);
                break last.unwrap() + 4;
            }
            0x0800 => break at + 2,
            _ => return true,
        }
    };
    if bytes[ip] != 0x45 || ![6, 17].contains(&bytes[ip + 9]) {
        return true;
    }
    let l4 = ip + 20;
    let pseudo = sum(&bytes[ip + 12..l4]) + u64::from(bytes[ip + 9]) + (bytes.len() - l4) as u64;
    fold(sum(&bytes[ip..l4])) == 0xffff && fold(pseudo + sum(&bytes[l4..])) == 0xffff
}

/// Plays a line; if it sends a super-frame, its segments are sent instead.
fn play_cut(stage: &mut Stage, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words[0] != "send" || words[2] != "gso" {
        return stage.play(line);
    }
    let (whole, mut parts) = (stage.frame(&words[2..]), Vec::new());
    assert!(segment(&whole, |mut part| {
        offload::finish_checksum(&mut part);
        parts.push(part);
    }));
    for part in parts {
        let port = parse_port(words[1]).unwrap();
        stage
            .switch
            .receive(stage.now, port, &mut vec![part], &mut stage.io);
    }
}

/// A packet-in without its buffer, whose number depends on the order of packet-ins.
fn without_buffer(line: &str) -> String {
    line.split(" buffer=").next().unwrap().into()
}

/// Entries that distinguish segments or edit what they send on. They are added again after every
/// `EDITED_EVERY` operations.
const EDITS: [&str; 5] = [
    "flow add table=0,priority=2,tcp,tcp_flags=+psh,actions=output:3,group:1,goto_table:1",
    "flow add table=1,priority=2,tcp,tcp_flags=-fin+cwr,actions=output:1,output:2",
    "flow add table=0,priority=0,tcp,actions=set_field:10.0.0.9->nw_dst,dec_ttl,output:3,\
     set_field:9->tcp_src,output:1,goto_table:1",
    "flow add table=0,priority=0,udp,actions=set_field:10.0.0.9->nw_src,controller,\
     push_vlan:0x8100,output:2,output:3,goto_table:1",
    "flow add table=0,priority=1,udp,udp_dst=80,actions=set_field:9->udp_dst,set_field:3->ip_dscp,\
     push_mpls:0x8847,output:1,output:3",
];
const EDITED_EVERY: usize = 200;

/// Words that lines must not have, one list for each run, so that no MPLS label stands before a
/// VLAN tag: the IP header after both is not found, and such a super-frame is dropped.
const WITHOUT: [&[&str]; 2] = [&["push_mpls"], &["push_vlan", "vlan 7", "vlan 8"]];

// I7
#[test]
fn a_super_frame_does_what_its_segments_do() {
    for (name, engine) in Engine::ALL {
        let mut counts = [0; 4];
        for (seed, without) in (5..).zip(WITHOUT) {
            let more = compare(engine, seed, without);
            counts
                .iter_mut()
                .zip(more)
                .for_each(|(count, more)| *count += more);
        }
        let [frames, left, asked, lost] = counts;
        println!("{name}: {frames} super-frames, {left} left, {asked} packet-ins, {lost} metered");
        assert!(
            frames > 500 && left > 500 && asked > 50 && lost > 50,
            "{name}"
        );
    }
}

/// Plays random operations twice, the second time with segments in place of super-frames. Returns
/// the number of super-frames, of segments and packet-ins that they caused, and of packets that
/// meters dropped.
fn compare(engine: Engine, seed: u64, without: &[&str]) -> [u64; 4] {
    let mut stages = [stage(engine, 1 << 20, 2), stage(engine, 1 << 20, 2)];
    let (mut random, mut history, mut counts) = (Random(seed), Vec::new(), [0; 4]);
    for number in 0..OPERATIONS {
        let line = match number % EDITED_EVERY {
            n if n < EDITS.len() => EDITS[n].into(),
            _ => line(&mut random),
        };
        // Left out: a state that the first segment sets already holds for the others; and which
        // packet-ins a meter drops depends on their order.
        let shared = line.contains("state=") || line.contains("meter=CONTROLLER");
        if shared || without.iter().any(|words| line.contains(words)) {
            continue;
        }
        history.push(line.clone());
        let recent = || history[history.len().saturating_sub(40)..].join("\n");
        let [whole, by_segments] = &mut stages;
        let play = |stage: &mut Stage, play: &dyn Fn(&mut Stage)| {
            stage.io.effects.clear();
            play(stage);
            let lines = core::mem::take(&mut stage.io.effects);
            let mut lines: Vec<_> = lines.iter().map(|line| without_buffer(line)).collect();
            // Of a super-frame, all segments leave by one output before the next output.
            lines.sort();
            if number % COMPARED_EVERY == 0 {
                lines.extend(counters(stage));
            }
            lines
        };
        let did = play(whole, &|stage| stage.play(&line));
        let should = play(by_segments, &|stage| play_cut(stage, &line));
        assert_eq!(did, should, "{engine:?} after\n{}", recent());
        if line.contains(" gso ") {
            let outs = did.iter().filter(|line| line.starts_with("out "));
            let outs: Vec<_> = outs.collect();
            assert!(
                outs.iter().all(|line| is_sound(line)),
                "after\n{}",
                recent()
            );
            let asked = did.iter().filter(|line| line.contains("packet-in"));
            let more = [1, outs.len() as u64, asked.count() as u64, 0];
            counts
                .iter_mut()
                .zip(more)
                .for_each(|(count, more)| *count += more);
        }
    }
    let mut drops = stages[1].switch.datapath().lane().drops();
    let metered = drops.find(|(reason, _)| *reason == DropReason::Meter);
    counts[3] = metered.map_or(0, |(_, count)| count);
    counts
}
