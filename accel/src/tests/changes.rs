//! Changes of frames in the kernel, and copies that are changed differently, as by the switch.

use bofuss_fastpath::{Departure, Way};
use bofuss_frame::Pool;
use bofuss_oflib::field::{
    ARP_OP, ETH_TYPE, ICMPV6_TYPE, IP_PROTO, MPLS_LABEL, TCP_DST, TCP_FLAGS, TCP_SRC, VLAN_VID,
};
use bofuss_oflib::types::EtherType;
use bofuss_oflib::{Action, FieldSet, PortNo};
use bofuss_packet::Packet;

use super::*;
use crate::error::Refusal;
use crate::way::{Route, Ways};

/// What the switch makes of a frame by these actions.
fn executed(actions: &[Action], frame: &[u8]) -> Vec<u8> {
    let pool = Pool::new(1 << 20);
    let mut packet = Packet::new(pool.frame(frame).unwrap(), PortNo(1));
    for action in actions {
        // An action on a header that the frame does not have does nothing.
        let _ = match action {
            Action::SetField(set) => packet.set_field(set.0.field, &set.0.value),
            Action::DecNwTtl => packet.dec_nw_ttl(),
            Action::PushVlan(ty) => packet.push_vlan(ty.0),
            Action::PopVlan => packet.pop_vlan(),
            _ => Ok(()),
        };
    }
    packet.frame.bytes().to_vec()
}

#[test]
fn changes_in_the_kernel_are_those_of_the_switch() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    let mut numbers = Numbers(11);
    let mut changed = 0;
    for _ in 0..20_000 {
        let mut frame = numbers.frame();
        if numbers.below(8) == 0 {
            // No checksum, a wrong one, which stays so, or data where others have one.
            let at = 34 + 2 * numbers.below(17);
            frame[at..at + 2].fill([0, 0xff][numbers.below(2)]);
        }
        let mut actions = random_changes(&mut numbers);
        actions.push(Action::output(PortNo(1)));
        table.forget_all();
        if !add_with(&mut table, 5, &frame, 1514, &actions) {
            continue;
        }
        if let Some((out, bytes)) = run(&mut table, &frame, 0) {
            changed += 1;
            assert_eq!(out, OUT);
            assert_eq!(bytes, executed(&actions, &frame), "{actions:?} {frame:x?}");
        }
    }
    assert!(changed > 4000, "{changed} frames were changed");
}

#[test]
fn what_the_kernel_does_not_do_is_declined() {
    let key = key::of_frame(&segment(100), INTERFACE).unwrap();
    let output = Action::output(PortNo(1));
    let declined = [
        Action::PushVlan(EtherType(0x88a8)),
        Action::PopMpls(EtherType(0x800)),
        Action::CopyTtlIn,
        Action::set_field(TCP_FLAGS, 1),
    ];
    let mask = [0; KEY_BYTES];
    let refused = |actions: &[Action]| changes(&way_of(actions), &key, &mask).err();
    for action in declined {
        let why = Refusal::Action(action.clone());
        assert_eq!(refused(&[action, output.clone()]), Some(why));
    }
    let push = Action::PushVlan(EtherType(0x8100));
    let why = Refusal::Action(push.clone());
    assert_eq!(
        refused(&[push.clone(), push, output]),
        Some(why),
        "two tags"
    );
}

/// Some changes of fields, of the TTL and of the tag.
fn random_changes(numbers: &mut Numbers) -> Vec<Action> {
    let settable = [&FIELDS[..], &[ARP_OP, MPLS_LABEL]].concat();
    let mut actions = Vec::new();
    for _ in 0..1 + numbers.below(4) {
        let field = settable[numbers.below(settable.len())];
        let value = numbers.below(1 << 30) as u128 * 0x0123_4567_89ab_cdef_0123;
        actions.push(match numbers.below(10) {
            0 => Action::DecNwTtl,
            1 => Action::PushVlan(EtherType(0x8100)),
            2 => Action::PopVlan,
            _ if [ETH_TYPE, IP_PROTO, ICMPV6_TYPE, TCP_FLAGS].contains(&field) => continue,
            _ => Action::set_field(field, value),
        });
        if matches!(actions.last(), Some(Action::PushVlan(_))) && numbers.below(2) == 0 {
            actions.extend([Action::set_field(VLAN_VID, 0x1005), Action::PopVlan]);
        }
    }
    actions
}

#[test]
fn each_copy_is_changed_as_if_it_were_the_only_one() {
    let Some(mut table) = table() else { return };
    let mut numbers = Numbers(5);
    let mut seen = [0; 2];
    for _ in 0..20_000 {
        let read = FIELDS.iter().filter(|_| numbers.below(3) > 0);
        let mut fields = FieldSet::EMPTY;
        read.for_each(|field| fields.insert(FieldSet::of(field)));
        table.forget_all();
        table.set_mask(key::mask_of(fields).unwrap());
        let frame = numbers.frame();
        let mut way = Way::default();
        for _ in 0..2 + numbers.below(3) {
            let mut changes = random_changes(&mut numbers);
            if numbers.below(3) == 0 {
                changes.push(Action::PushVlan(EtherType(0x8100)));
            }
            way.departures.push(Departure {
                changes,
                port: PortNo(1),
                more_bytes: 0,
            });
        }
        let last = way.departures.last_mut().unwrap();
        last.changes.push(Action::PopVlan);
        let wanted = last.changes.clone();
        if key::of_frame(&frame, INTERFACE).is_none() {
            continue;
        }
        let is_added = add_way(&mut table, 5, (&frame, 1514), way.clone());
        seen[usize::from(is_added)] += 1;
        if let Some((_, bytes)) = run(&mut table, &frame, 0) {
            assert_eq!(bytes, executed(&wanted, &frame), "{way:?} {frame:x?}");
        }
    }
    assert!(seen[0] > 1000 && seen[1] > 1000, "{seen:?}");
}

#[test]
fn flows_of_one_way_share_its_legs_and_give_them_back() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::of(TCP_SRC)).unwrap());
    let output = Action::output(PortNo(1));
    let shared = [Action::DecNwTtl, output.clone(), output.clone()];
    // Each has a bucket of slots, of which few are full.
    for round in 0..3 {
        for port in 0..LEGS as u16 {
            let own = [Action::set_field(TCP_DST, port.into()), output.clone()];
            assert!(add_with(
                &mut table,
                port.into(),
                &of_port(port),
                1514,
                &own
            ));
        }
        let left = table.len();
        assert!(left > LEGS - 400 && left < LEGS, "round {round}: {left}");
        if round == 1 {
            table.forget_all();
        } else {
            table.forget(&table.flows());
        }
        for port in 0..LEGS as u16 {
            assert!(add_with(
                &mut table,
                port.into(),
                &of_port(port),
                1514,
                &shared
            ));
        }
        assert!(table.len() > LEGS - 400, "round {round}: {}", table.len());
        table.forget(&table.flows());
    }
}

#[test]
fn other_protocols_of_ipv4_pass_with_their_addresses() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    let packet = |protocol: u8| {
        // Ones, which no checksum may become zeros of.
        let payload = Layer::new(protocol.into(), &[0xff; 60]);
        let ip = ipv4([10; 4].into(), [11; 4].into(), 64, payload);
        ethernet(Mac([2; 6]), Mac([4; 6]), ip)
    };
    let output = Action::output(PortNo(1));
    let down = [Action::DecNwTtl, output.clone()];
    for protocol in [0, 4, 47, 50, 127] {
        assert!(add_with(
            &mut table,
            protocol.into(),
            &packet(protocol),
            1514,
            &down
        ));
        let (_, bytes) = run(&mut table, &packet(protocol), 0).unwrap();
        assert_eq!(bytes, executed(&down, &packet(protocol)));
    }
    assert!(
        decide(&mut table, &packet(46), 0).is_none(),
        "of another flow"
    );
    assert!(
        !add_with(&mut table, 9, &packet(132), 1514, &down),
        "SCTP has fields"
    );
    let elsewhere = [Action::set_field(IPV4_DST, 7), output];
    assert!(!add_with(&mut table, 9, &packet(48), 1514, &elsewhere));
}

#[test]
fn there_is_room_for_a_way_while_there_are_legs_or_it_is_there() {
    let Some(table) = table() else { return };
    let legs = &table.program.legs;
    let key = key::of_frame(&segment(10), INTERFACE).unwrap();
    let way = way_of(&[Action::DecNwTtl, Action::output(PortNo(1))]);
    let change = changes(&way, &key, &[0; KEY_BYTES]).unwrap().remove(0);
    let route = |out: u32| -> Route { [(change.clone(), out)].into() };
    let mut ways = Ways::default();
    for out in 1..LEGS as u32 {
        assert!(ways.have_room(&route(out), legs));
        assert!(ways.add(&route(out), legs).is_some());
    }
    assert!(!ways.have_room(&route(LEGS as u32), legs));
    assert!(ways.have_room(&route(1), legs));
}
