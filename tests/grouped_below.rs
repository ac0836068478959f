//! Frames that go to groups or are flooded, below the switch.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use bofuss_tests::Lab;

use crate::{Tap, below, both, counters, datagram, send_slowly, standing};

/// A datagram from another port of UDP, so that it is of another flow.
fn of_flow(flow: u8, number: u32, tag: Option<u16>) -> Vec<u8> {
    let mut frame = datagram(number, tag, 60);
    let at = 14 + if tag.is_some() { 4 } else { 0 } + 12;
    frame[at + 3] = flow;
    frame
}

#[test]
fn groups_and_floods_below_count_as_the_switch_alone() {
    let Some(labs) = both(&[]) else { return };
    let seen = labs.each_ref().map(|lab| {
        for group in [
            "group_id=1,type=select,bucket=set_field:02:00:00:00:00:08->eth_dst,output:2,\
             bucket=weight:2,output:3",
            "group_id=2,type=all,bucket=set_field:02:00:00:00:00:07->eth_dst,output:2,\
             bucket=set_field:02:00:00:00:00:06->eth_dst,dec_ttl,output:3",
            "group_id=3,type=indirect,bucket=pop_vlan,output:3",
            "group_id=4,type=ff,bucket=watch_port:2,output:2,bucket=watch_port:3,output:3",
        ] {
            lab.asks(&["add-group", group]);
        }
        for flow in [
            "priority=9,in_port=1,udp,dl_vlan=7,actions=dec_ttl,group:2",
            "priority=9,in_port=1,udp,dl_vlan=8,actions=group:3,output:2",
            "priority=9,in_port=1,udp,dl_vlan=9,actions=group:4",
            "priority=8,in_port=1,udp,actions=group:1",
            "in_port=2,udp,actions=flood",
            "in_port=3,udp,actions=pop_vlan,all",
        ] {
            lab.asks(&["add-flow", flow]);
        }
        let [mut one, mut two, mut three] = [1, 2, 3].map(|host| Tap::of(lab, host));
        let frames: Vec<Vec<u8>> = (0..800)
            .map(|n| {
                let tag = [None, Some(7), Some(8), Some(9)][n as usize % 4];
                of_flow((n / 4 % 8) as u8, n, tag)
            })
            .collect();
        send_slowly(&mut one, &frames[..400]);
        // The first bucket of the group 4 dies, and all that was flooded leaves elsewhere.
        lab.asks(&["mod-port", "2", "down"]);
        send_slowly(&mut one, &frames[400..600]);
        lab.asks(&["mod-port", "2", "up"]);
        lab.asks(&[
            "mod-group",
            "group_id=2,type=all,bucket=output:3,bucket=output:2",
        ]);
        send_slowly(&mut one, &frames[600..]);
        send_slowly(&mut two, &frames[..100]);
        lab.asks(&["-O", "OpenFlow10", "mod-port", "3", "no-flood"]);
        send_slowly(&mut two, &frames[..100]);
        send_slowly(&mut three, &frames[..100]);
        std::thread::sleep(Duration::from_millis(100));
        let groups = lab.asks(&["dump-group-stats"]);
        let words = groups.split([',', '\n']).map(String::from);
        let is_time = |word: &String| word.starts_with("duration") || word.contains("reply");
        let groups = words.filter(|word| !is_time(word)).collect();
        let mut frames = [one, two, three].map(|mut tap| {
            tap.receive();
            tap.frames
        });
        frames.iter_mut().for_each(|list| list.sort());
        (frames, [counters(lab), groups].concat())
    });
    let [with, without] = seen;
    assert_eq!(with.1, without.1);
    for (port, (with, without)) in with.0.iter().zip(&without.0).enumerate() {
        assert_eq!(with.len(), without.len(), "port {port}");
        let mut pairs = with.iter().zip(without);
        assert_eq!(pairs.find(|(with, without)| with != without), None);
    }
    let [one, two, three] = without.0.each_ref().map(Vec::len);
    assert!(
        one == 300 && two > 500 && three > 500,
        "{one} {two} {three}"
    );
    assert!(below(&labs[0]) > 550, "{}", standing(&labs[0]));
}

#[test]
fn counters_of_groups_are_exact_while_frames_pass_and_new_for_a_new_group() {
    let Some([lab, _]) = both(&[]) else { return };
    let [mut one, mut two, mut three] = [1, 2, 3].map(|host| Tap::of(&lab, host));
    let counted = |lab: &Lab| -> Vec<u64> {
        let text = lab.asks(&["dump-group-stats", "group_id=1"]);
        let words = text.split([',', '\n', ':']);
        let counts = words.filter_map(|word| word.strip_prefix("packet_count="));
        counts.map(|count| count.parse().unwrap()).collect()
    };
    let (mut wanted, mut number) = ([0, 0], 0);
    for round in 0..6 {
        let to = 2 + round % 2;
        if round == 3 {
            lab.asks(&["del-groups", "group_id=1"]);
        }
        let verb = if round % 3 == 0 {
            "add-group"
        } else {
            "mod-group"
        };
        lab.asks(&[verb, &format!("group_id=1,type=select,bucket=output:{to}")]);
        lab.asks(&["add-flow", "in_port=1,udp,actions=group:1"]);
        for part in 1..4 {
            let frames: Vec<_> = (number..number + 20)
                .map(|n| datagram(n, None, 60))
                .collect();
            number += 20;
            send_slowly(&mut one, &frames);
            wanted[round % 2] += 20;
            two.waits_for(wanted[0]);
            three.waits_for(wanted[1]);
            // The group's counter stays when it is modified; those of its buckets are new.
            let of_bucket = 20 * part;
            let of_group = 60 * (round as u64 % 3) + of_bucket;
            assert_eq!(counted(&lab), [of_group, of_bucket], "round {round}");
        }
    }
    assert!(below(&lab) > 200, "{}", standing(&lab));
}
