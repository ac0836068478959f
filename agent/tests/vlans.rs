//! NORMAL with VLANs of ports: which ports a frame reaches, and with which tag.
#![allow(clippy::unwrap_used)]

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, DropReason, Engine, PortVlans, VlanMode};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use crate::common::Lab;

const BROADCAST: u8 = 0xff;
/// TPID of a tag.
const TPID: u16 = 0x8100;

/// A frame with the bytes of these tags' TCI.
fn frame(to: u8, from: u8, tags: &[u16]) -> Vec<u8> {
    let mac = |n: u8| Mac([if n == BROADCAST { 0xff } else { 2 }, 0, 0, 0, 0, n]);
    let mut payload = craft::Layer::new(0x88b5, &[0x5a; 60]);
    for tci in tags.iter().rev() {
        payload = craft::vlan(TPID, *tci, payload);
    }
    craft::ethernet(mac(to), mac(from), payload)
}

/// Port 1 is an access port of VLAN 10, port 2 a trunk, port 3 has the native VLAN 10 untagged
/// besides 20, and port 4 the native VLAN 20 tagged besides 10.
fn config(lab: &Lab) -> Config {
    let port = |mode, tag, trunks: &[u16]| {
        let trunks = trunks.iter().copied().collect();
        PortVlans { mode, tag, trunks }
    };
    Config {
        port_vlans: [
            (PortNo(1), port(VlanMode::Access, 10, &[])),
            (PortNo(3), port(VlanMode::NativeUntagged, 10, &[20])),
            (PortNo(4), port(VlanMode::NativeTagged, 20, &[10])),
        ]
        .into(),
        ..lab.switch.datapath().config().clone()
    }
}

/// Sends a frame, and returns by which ports it left with which tags.
fn sent(lab: &mut Lab, port: u32, bytes: &[u8]) -> Vec<(u32, Vec<u16>)> {
    lab.io.out.clear();
    lab.io.frames = Some(Vec::new());
    lab.send(port, bytes);
    let frames = lab.io.frames.take().unwrap();
    let ports = lab.io.out.iter().copied();
    ports.zip(frames.iter().map(|frame| tags(frame))).collect()
}

fn tags(frame: &[u8]) -> Vec<u16> {
    let words = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let places = (12..).step_by(4).take_while(|at| words(*at) == TPID);
    places.map(|at| words(at + 2)).collect()
}

#[test]
fn a_frame_reaches_the_ports_of_its_vlan_with_the_tag_that_it_has_there() {
    for (name, engine) in Engine::ALL {
        let mut lab = Lab::with_engine(10, FailMode::Secure, engine);
        lab.flow(FlowModCommand::ADD, "actions=normal");
        lab.reconfigure(config(&lab));
        // The priority is in the upper bits.
        let high = |vlan: u16| 0x6000 | vlan;
        for (port, tci, wanted) in [
            (1, &[][..], &[(2, &[10][..]), (3, &[]), (4, &[10])][..]),
            (
                1,
                &[high(0)],
                &[(2, &[high(10)]), (3, &[]), (4, &[high(10)])],
            ),
            (1, &[10], &[]),
            (2, &[], &[]),
            (2, &[10], &[(1, &[]), (3, &[]), (4, &[10])]),
            (2, &[high(20)], &[(3, &[high(20)]), (4, &[high(20)])]),
            (2, &[20, 10], &[(3, &[20, 10]), (4, &[20, 10])]),
            (2, &[10, 20], &[(1, &[20]), (3, &[20]), (4, &[10, 20])]),
            (2, &[30], &[]),
            (3, &[], &[(1, &[]), (2, &[10]), (4, &[10])]),
            (3, &[20], &[(2, &[20]), (4, &[20])]),
            (3, &[30], &[]),
            (4, &[], &[(2, &[20]), (3, &[20])]),
            (4, &[10], &[(1, &[]), (2, &[10]), (3, &[])]),
        ] {
            let wanted: Vec<_> = wanted.iter().map(|(p, tags)| (*p, tags.to_vec())).collect();
            for _ in 0..3 {
                let left = sent(&mut lab, port, &frame(BROADCAST, port as u8, tci));
                assert_eq!(left, wanted, "{name}: port {port}, tags {tci:x?}");
            }
        }
        let lost: Vec<_> = lab.switch.datapath().lane().drops().collect();
        let expected = [(DropReason::NoOutput, 6), (DropReason::Vlan, 6)];
        assert_eq!(lost, expected, "{name}");
    }
}

#[test]
fn frames_of_no_vlan_keep_their_priority_and_join_no_native_vlan() {
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=normal");
    let native = |mode| PortVlans {
        mode,
        tag: 20,
        ..PortVlans::default()
    };
    lab.reconfigure(Config {
        port_vlans: [
            (PortNo(3), native(VlanMode::NativeUntagged)),
            (PortNo(4), native(VlanMode::NativeTagged)),
        ]
        .into(),
        ..lab.switch.datapath().config().clone()
    });
    for (tags, outside) in [(&[][..], vec![]), (&[0], vec![]), (&[0x6000], vec![0x6000])] {
        let left = sent(&mut lab, 1, &frame(BROADCAST, 1, tags));
        assert_eq!(left, [(2, outside)], "{tags:x?}");
    }
    let left = sent(&mut lab, 3, &frame(BROADCAST, 3, &[]));
    let tagged = vec![20];
    assert_eq!(left, [1, 2, 4].map(|port| (port, tagged.clone())));
}

#[test]
fn a_station_is_known_in_its_vlan_alone_and_forgotten_when_its_ports_vlans_change() {
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=normal");
    lab.reconfigure(config(&lab));
    sent(&mut lab, 1, &frame(BROADCAST, 1, &[]));
    sent(&mut lab, 2, &frame(BROADCAST, 2, &[20]));
    let to_2 = frame(2, 9, &[20]);
    assert_eq!(sent(&mut lab, 2, &frame(1, 9, &[10])), [(1, vec![])]);
    assert_eq!(sent(&mut lab, 4, &frame(2, 8, &[])), [(2, vec![20])]);
    assert_eq!(sent(&mut lab, 2, &frame(1, 9, &[20])).len(), 2, "unknown");
    assert_eq!(sent(&mut lab, 3, &to_2), [(2, vec![20])]);
    // A static address of a VLAN that its port does not carry is not reached.
    let fixed = ((0x1014, Mac([2, 0, 0, 0, 0, 5])), PortNo(1));
    lab.reconfigure(Config {
        static_addresses: [fixed].into(),
        ..config(&lab)
    });
    assert_eq!(sent(&mut lab, 3, &frame(5, 9, &[20])), []);
    assert_eq!(sent(&mut lab, 3, &to_2), [(2, vec![20])], "it stays");
    let mut other = config(&lab);
    other.port_vlans.insert(PortNo(2), PortVlans::default());
    other.port_vlans.remove(&PortNo(1));
    lab.reconfigure(other);
    assert_eq!(sent(&mut lab, 3, &to_2).len(), 3, "port 2 changed");
    let known = lab.switch.datapath().bridge().stations(lab.now);
    assert!(known.map(|known| known.1).all(|port| port != PortNo(1)));
}

#[test]
fn a_switch_without_vlans_of_ports_leaves_tags_alone() {
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=normal");
    for tci in [&[][..], &[0x6000], &[10], &[20, 10]] {
        let left = sent(&mut lab, 1, &frame(BROADCAST, 1, tci));
        assert_eq!(left, [2, 3, 4].map(|port| (port, tci.to_vec())));
    }
}
