//! What depends on the links of ports: the members of groups that watch them.

use std::fs;

use bofuss_p4::{ControlError, Does, Entry, Int, Match, Named, Program, Sent, Sink, Switch};

/// What leaves.
#[derive(Default)]
struct Left(Vec<Sent>);

impl Sink for Left {
    fn transmit(&mut self, sent: Sent) {
        self.0.push(sent);
    }
}

fn program(name: &str) -> Program {
    let root = env!("CARGO_MANIFEST_DIR");
    let json = fs::read(format!("{root}/../testdata/p4/{name}/{name}.json"));
    Program::load(&json.expect("the file is there")).expect("p4c wrote it")
}

/// A switch with the members 1 to 3, which write their numbers, an entry for group 1, and the index
/// of the profile.
fn selecting() -> (Switch, usize) {
    let mut switch = Switch::new(program("control_plane"), 7);
    let index = |kind, name| switch.program().index(kind, name).expect("it is there");
    let table = index(Named::Table, "MyIngress.selected");
    let profile = index(Named::Profile, "MyIngress.choice");
    let set = switch.action_of(table, "MyIngress.set");
    let set = set.expect("it is there");
    for id in 1..=3 {
        let member = (set, vec![Int::Small(i128::from(id))]);
        switch.set_member(profile, id, member).expect("room");
    }
    let made = switch.set_group(profile, 1, &[]);
    made.expect("room");
    let key = vec![Match::Exact(Int::Small(2))];
    let added = switch.insert(table, Entry::new(key, 0, Does::Group(1)));
    added.expect("room");
    (switch, profile)
}

/// The members that the hashes 0 to 5 choose; 0 is none.
fn chosen(switch: &mut Switch) -> [u8; 6] {
    [0, 1, 2, 3, 4, 5].map(|hash| {
        let mut left = Left::default();
        switch.receive(0, &[2, hash, 0, 0], 0, &mut left);
        left.0[0].frame[3]
    })
}

#[test]
fn a_member_whose_port_has_no_link_is_not_chosen() {
    let (mut switch, profile) = selecting();
    let all = [(1, 1), (2, 1), (3, 1)];
    let set = switch.set_watched_group(profile, 1, &all, &[(3, 8), (2, 7)]);
    set.expect("nothing was said of ports");
    assert_eq!(chosen(&mut switch), [1, 2, 3, 1, 2, 3]);
    switch.set_link(7, false);
    // Those of the others stay.
    assert_eq!(chosen(&mut switch), [1, 1, 3, 1, 3, 3]);
    switch.set_link(8, false);
    assert_eq!(chosen(&mut switch), [1; 6]);
    switch.set_link(7, true);
    assert_eq!(chosen(&mut switch), [1, 2, 1, 1, 2, 2]);
    assert_eq!(switch.watched_port(profile, 1, 2), Some(7));
    assert_eq!(switch.watched_port(profile, 1, 1), None);
    let set = switch.set_group(profile, 1, &all);
    set.expect("they are there");
    assert_eq!(chosen(&mut switch), [1, 2, 3, 1, 2, 3]);
    assert_eq!(switch.watched_port(profile, 1, 2), None);
}

#[test]
fn a_group_whose_members_have_no_links_does_nothing() {
    let (mut switch, profile) = selecting();
    switch.set_link(7, false);
    let set = switch.set_watched_group(profile, 1, &[(1, 2), (2, 1)], &[(1, 7), (2, 7)]);
    set.expect("they are there");
    assert_eq!(chosen(&mut switch), [0; 6]);
    switch.set_link(7, true);
    assert_eq!(chosen(&mut switch), [1, 1, 2, 1, 1, 2]);
}

#[test]
fn a_watched_port_is_one_of_the_switch() {
    let (mut switch, profile) = selecting();
    switch.set_link(7, true);
    for port in [8, 1 << 9] {
        let refused = switch.set_watched_group(profile, 1, &[(1, 1)], &[(1, port)]);
        assert!(matches!(refused, Err(ControlError::Invalid(_))));
    }
    assert_eq!(chosen(&mut switch), [0; 6]);
}

#[test]
fn a_switch_in_the_place_of_another_has_its_links() {
    let (mut old, _) = selecting();
    old.set_link(7, false);
    let (mut switch, profile) = selecting();
    let set = switch.set_watched_group(profile, 1, &[(1, 1), (2, 1)], &[(2, 7)]);
    set.expect("nothing was said of ports");
    switch.take_links(&old);
    assert_eq!(chosen(&mut switch), [1; 6]);
}
