//! Groups and meters in bundles, and bundles at random.

use bofuss_datapath::Engine;
use bofuss_oflib::Message;
use bofuss_oflib::message::FlowModCommand as C;
use bofuss_oflib::message::bundle::BundleControlType as T;
use bofuss_oflib::message::group_mod::GroupModCommand as G;
use bofuss_oflib::message::meter_mod::MeterModCommand as M;
use bofuss_oflib::text::{parse_group, parse_meter};
use bofuss_oflib::types::{GroupId, MeterId};

use super::{BOTH, ENGINES, add, ask, commit, control, dump, flow, lab, out};
use crate::common::{Lab, Random};

#[test]
fn groups_and_meters_of_a_bundle_come_with_its_flows() {
    for engine in ENGINES {
        let mut lab = lab(engine);
        let two = [group(G::ADD, 1, "output:2"), group(G::ADD, 2, "output:2")];
        two.into_iter().for_each(|message| lab.message(message));
        lab.flow(C::ADD, "priority=5,actions=group:1,group:2,goto_table:1");
        lab.flow(C::ADD, "table=1,priority=5,actions=output:2");
        assert_eq!(out(&mut lab, 1), [2, 2, 2]);
        for message in [
            flow(&lab, C::MODIFY, "table=1,actions=output:3"),
            group(G::MODIFY, 1, "output:3"),
            meter(M::ADD, 1),
            group(G::ADD, 3, "output:3"),
            flow(
                &lab,
                C::MODIFY,
                "table=0,actions=meter:1,group:1,group:3,goto_table:1",
            ),
            group(G::DELETE, 2, "drop"),
        ] {
            assert_eq!(add(&mut lab, 1, message), []);
        }
        assert_eq!(ask(&mut lab, 9, control(T::COMMIT_REQUEST, BOTH)), []);
        let mut seen = Vec::new();
        while lab.switch.has_work(&lab.io) {
            seen.push(out(&mut lab, 1));
            lab.switch.work(lab.now, &mut lab.io);
            seen.push(out(&mut lab, 1));
        }
        seen.dedup();
        assert_eq!(seen, [[2; 3], [3; 3]], "{engine:?}");
        assert_eq!(lab.io.messages, [control(T::COMMIT_REPLY, BOTH)]);
        let datapath = lab.switch.datapath();
        let all: Vec<_> = datapath.groups().stats(lab.now, ALL_GROUPS).collect();
        let refs = |place: usize| (all[place].0.group_id.0, all[place].0.ref_count);
        assert_eq!((all.len(), refs(0), refs(1)), (2, (1, 1), (3, 1)));
        assert!(
            all[0].0.packet_count > all[1].0.packet_count,
            "it keeps its counter"
        );
    }
}

#[test]
fn groups_count_on_while_many_are_copied_in_slices() {
    const MANY: u32 = 300;
    let mut lab = lab(Engine::default());
    for id in 1..=MANY {
        lab.message(group(G::ADD, id, "output:2"));
    }
    lab.message(meter(M::ADD, 1));
    lab.flow(C::ADD, "priority=5,actions=meter:1,group:7");
    assert_eq!(out(&mut lab, 1), [2]);
    add(&mut lab, 1, group(G::MODIFY, 8, "output:3"));
    assert_eq!(ask(&mut lab, 9, control(T::COMMIT_REQUEST, BOTH)), []);
    let mut sent = 1;
    let mut turns = 0;
    while lab.switch.has_work(&lab.io) {
        lab.switch.work(lab.now, &mut lab.io);
        assert_eq!(out(&mut lab, 1), [2]);
        sent += 1;
        turns += 1;
        // Removing and adding a port makes the switch examine all groups again.
        lab.port(4);
    }
    assert!(turns > 15, "{turns} slices");
    let datapath = lab.switch.datapath();
    let all: Vec<_> = datapath.groups().stats(lab.now, ALL_GROUPS).collect();
    assert_eq!(all.len(), MANY as usize);
    let counted = &all[6].0;
    assert_eq!((counted.ref_count, counted.packet_count), (1, sent));
    assert_eq!(counted.bucket_stats[0].packet_count, sent);
    let meters = MeterId(0)..=MeterId::MAX;
    let meters: Vec<_> = datapath.meters().stats(lab.now, meters).collect();
    assert_eq!(meters[0].input.packet_count, sent);
}

#[test]
fn a_group_that_a_bundle_deletes_and_adds_begins_anew() {
    let mut lab = lab(Engine::default());
    lab.message(group(G::ADD, 1, "output:2"));
    lab.flow(C::ADD, "priority=5,actions=group:1");
    assert_eq!(out(&mut lab, 1), [2]);
    add(&mut lab, 1, group(G::DELETE, 1, "drop"));
    add(&mut lab, 1, group(G::ADD, 1, "output:3"));
    commit(&mut lab, &[(C::ADD, "priority=6,actions=group:1")]);
    assert_eq!(out(&mut lab, 1), [3]);
    let stats: Vec<_> = lab
        .switch
        .datapath()
        .groups()
        .stats(lab.now, ALL_GROUPS)
        .collect();
    assert_eq!((stats[0].0.ref_count, stats[0].0.packet_count), (1, 1));
    assert_eq!(dump(&mut lab).len(), 1, "what used it is gone");
}

pub(super) const ALL_GROUPS: std::ops::RangeInclusive<GroupId> = GroupId(0)..=GroupId::MAX;

pub(super) fn group(command: G, id: u32, actions: &str) -> Message {
    let mut text = format!("group_id={id}");
    if command != G::DELETE {
        text += &format!(",type=all,bucket={actions}");
    }
    let catalogue = bofuss_oflib::Catalogue::default();
    Message::GroupMod(parse_group(&text, command, &catalogue).expect(&text))
}

fn meter(command: M, id: u32) -> Message {
    let mut text = format!("meter={id}");
    if command != M::DELETE {
        text += ",pktps,bands=type=drop,rate=1000";
    }
    Message::MeterMod(parse_meter(&text, command).expect(&text))
}

/// A random message.
fn random_mod(random: &mut Random, lab: &Lab) -> Message {
    let id = 1 + random.below(3) as u32;
    let actions = random.of(&["output:2", "output:3", "group:2", "drop"]);
    match random.below(12) {
        0 => return group(G::ADD, id, actions),
        1 => return group(G::MODIFY, id, actions),
        2 => return group(G::DELETE, id, "drop"),
        3 => return meter(random.of(&[M::ADD, M::ADD, M::MODIFY, M::DELETE]), id),
        _ => {}
    }
    let commands = [
        C::ADD,
        C::ADD,
        C::MODIFY,
        C::MODIFY_STRICT,
        C::DELETE,
        C::DELETE_STRICT,
    ];
    let command = random.of(&commands);
    let mut text = format!("table={}", random.below(2));
    for word in ["send_flow_rem", "reset_counts", "check_overlap"] {
        if random.below(6) == 0 && (word != "check_overlap" || command == C::ADD) {
            text += &format!(",{word}");
        }
    }
    if command != C::DELETE && command != C::MODIFY {
        text += &format!(",priority={}", random.below(3));
    }
    text += random.of(&["", ",dl_src=02:00:00:00:00:01", ",in_port=1", ",in_port=2"]);
    if command == C::ADD {
        text += random.of(&["", "", ",hard_timeout=7", ",idle_timeout=4"]);
    }
    if command != C::DELETE && command != C::DELETE_STRICT {
        let more = random.of(&["", "", "", "meter:1,", "group:1,", "group:3,"]);
        text += &format!(",actions={more}output:{}", 2 + random.below(3));
    }
    flow(lab, command, &text)
}

/// All flows, groups and meters as text.
fn all(lab: &mut Lab) -> Vec<String> {
    let mut told = dump(lab);
    let datapath = lab.switch.datapath();
    told.extend(
        datapath
            .groups()
            .stats(lab.now, ALL_GROUPS)
            .map(|one| format!("{:?}", one.0)),
    );
    told.extend(
        datapath
            .groups()
            .descs(ALL_GROUPS)
            .map(|one| format!("{one:?}")),
    );
    let meters = MeterId(0)..=MeterId::MAX;
    told.extend(
        datapath
            .meters()
            .stats(lab.now, meters)
            .map(|one| format!("{one:?}")),
    );
    told
}

#[test]
fn a_random_bundle_does_what_its_messages_do_or_nothing() {
    let (mut done, mut failures) = (0, 0);
    for seed in 0..240 {
        let engine = ENGINES[seed as usize % 3];
        let random = &mut Random(seed);
        let (mut one, mut other) = (lab(engine), lab(engine));
        for _ in 0..random.below(30) {
            let message = random_mod(random, &one);
            for lab in [&mut one, &mut other] {
                lab.message(message.clone());
                lab.work();
            }
        }
        for round in 0..6 {
            for last in 0..3 {
                assert_eq!(out(&mut one, last), out(&mut other, last));
            }
            let before = all(&mut one);
            assert_eq!(before, all(&mut other), "seed {seed} round {round}");
            let count = random.below(8);
            let mut mods: Vec<_> = (0..count).map(|_| random_mod(random, &one)).collect();
            let wrong = random.below(3) == 0;
            if wrong {
                let place = random.below(mods.len() as u64 + 1) as usize;
                mods.insert(place, flow(&one, C::ADD, "actions=group:9"));
            }
            for (xid, message) in (100..).zip(&mods) {
                assert_eq!(add(&mut one, xid, message.clone()), []);
            }
            if mods.is_empty() {
                continue;
            }
            let told = commit(&mut one, &[]);
            let failed = told.last() != Some(&control(T::COMMIT_REPLY, BOTH));
            assert!(failed || !wrong);
            if failed {
                failures += 1;
                assert_eq!(all(&mut one), before, "seed {seed} {mods:?}");
            } else {
                done += 1;
                for message in mods {
                    other.message(message);
                    other.work();
                }
                other.io.messages.clear();
            }
            one.advance(2_000);
            other.advance(2_000);
        }
    }
    assert!(done > 200 && failures > 200, "{done} {failures}");
}
