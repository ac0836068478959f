//! Frames that are changed, or leave by several ports, below the switch.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use bofuss_tests::ip;

use crate::{HEADERS, Tap, below, both, counters, datagram, send_slowly, standing};

#[test]
fn changed_frames_and_copies_are_those_of_the_switch_alone() {
    let Some(labs) = both(&[]) else { return };
    let seen = labs.each_ref().map(|lab| {
        for flow in [
            "in_port=1,udp,dl_vlan=7,actions=set_field:4105->vlan_vid,output:2,pop_vlan,dec_ttl,\
             output:3",
            "in_port=1,udp,dl_vlan=8,actions=pop_vlan,push_vlan:0x8100,set_field:4099->vlan_vid,\
             set_field:10.9.9.9->ip_dst,set_field:10.8.8.8->ip_src,output:2",
            "priority=9,in_port=1,udp,actions=output:2,push_vlan:0x8100,set_field:4101->vlan_vid,\
             set_field:3->vlan_pcp,set_field:02:00:00:00:00:09->eth_dst,dec_ttl,dec_ttl,output:3,\
             set_field:46->ip_dscp,output:3",
            "in_port=2,udp,actions=write_actions(push_vlan:0x8100,dec_ttl,output:1),goto_table:1",
            "table=1,actions=write_actions(set_field:02:00:00:00:00:07->eth_src)",
            "in_port=3,udp,dl_vlan=7,actions=output:1",
            "in_port=3,udp,dl_vlan=8,actions=set_queue:0,output:1",
        ] {
            lab.asks(&["add-flow", flow]);
        }
        let [mut one, mut two, mut three] = [1, 2, 3].map(|host| Tap::of(lab, host));
        let frames: Vec<Vec<u8>> = (0..600)
            .map(|n| {
                // One has the bit DEI.
                let tag = [None, Some(7), Some(0xb007), Some(8)][n as usize % 4];
                let mut frame = datagram(n, tag, [0, 14, 200, 1400][n as usize / 4 % 4]);
                if n % 3 == 0 {
                    // A checksum, which need not be right.
                    let at = HEADERS - 2 + if tag.is_some() { 4 } else { 0 };
                    frame[at..at + 2].copy_from_slice(&[n as u8, 9]);
                }
                frame
            })
            .collect();
        send_slowly(&mut one, &frames);
        send_slowly(&mut two, &frames[..100]);
        send_slowly(&mut three, &frames[..100]);
        std::thread::sleep(Duration::from_millis(100));
        let mut frames = [one, two, three].map(|mut tap| {
            tap.receive();
            tap.frames
        });
        frames.iter_mut().for_each(|list| list.sort());
        (frames, counters(lab))
    });
    let [with, without] = seen;
    assert_eq!(without.0.each_ref().map(Vec::len), [100, 600, 600]);
    assert_eq!(with.1, without.1);
    for (port, (with, without)) in with.0.iter().zip(&without.0).enumerate() {
        assert_eq!(with.len(), without.len(), "port {port}");
        let differs = with
            .iter()
            .zip(without)
            .find(|(with, without)| with != without);
        assert_eq!(differs, None, "port {port}");
    }
    assert!(below(&labs[0]) > 500, "{}", standing(&labs[0]));
}

#[test]
fn tcp_with_offloads_passes_changes_of_addresses_tags_and_ttl() {
    let Some(labs) = both(&[]) else { return };
    for lab in &labs {
        // Host 2 sees host 1 by another address.
        for flow in [
            "in_port=1,ip,actions=set_field:10.0.0.77->ip_src,set_field:10->ip_dscp,dec_ttl,\
             push_vlan:0x8100,set_field:4099->vlan_vid,output:3,pop_vlan,output:2",
            "in_port=2,ip,ip_dst=10.0.0.77,actions=set_field:10.0.0.1->ip_dst,dec_ttl,output:1",
            "arp,actions=flood",
        ] {
            lab.asks(&["add-flow", flow]);
        }
        let mac = |host: u8| lab.host(host, || ip("-o link show eth0"));
        let of_one = mac(1);
        let words: Vec<&str> = of_one.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "link/ether").unwrap();
        let neighbour = format!(
            "neighbour replace 10.0.0.77 lladdr {} dev eth0",
            words[at + 1]
        );
        lab.host(2, || ip(&neighbour));
        lab.tcp(1, 2, 32);
        let rows = counters(lab);
        let tagged = rows.iter().find(|row| row.contains("actions=set_field"));
        assert!(tagged.is_some(), "{rows:?}");
    }
    assert!(below(&labs[0]) > 1000, "{}", standing(&labs[0]));
}
