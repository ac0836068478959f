//! What depends on the links of ports: members of groups that watch them, and copies with backups.

use std::fs;

use bofuss_p4::{
    Backups, ControlError, Does, Entry, Int, Match, Named, Program, Replica, Sent, Session, Sink,
    Switch,
};

/// What leaves, and what is told of it.
#[derive(Default)]
struct Left {
    sent: Vec<Sent>,
    steps: Vec<String>,
}

impl Sink for Left {
    fn transmit(&mut self, sent: Sent) {
        self.sent.push(sent);
    }

    fn traces(&self) -> bool {
        true
    }

    fn step(&mut self, _depth: usize, text: String) {
        self.steps.push(text);
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
        left.sent[0].frame[3]
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
fn a_trace_tells_which_member_is_chosen_and_by_which_hash() {
    let (mut switch, profile) = selecting();
    for (watched, is_up, told) in [
        (2, true, "group 1: hash 0x5 chooses member 2"),
        (2, false, "group 1: hash 0x5 chooses member 1"),
        (1, true, "group 1: hash 0x5 chooses member 2"),
    ] {
        switch.set_link(7, is_up);
        let set = switch.set_watched_group(profile, 1, &[(1, 1), (2, 1)], &[(watched, 7)]);
        set.expect("they are there");
        let mut left = Left::default();
        switch.explain(0, &[2, 5, 0, 0], 0, &mut left);
        let steps = left.steps;
        assert!(steps.iter().any(|step| step == told), "{steps:#?}");
        assert_eq!(left.sent.len(), 1);
    }
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

/// A switch that sends what is for 5 to multicast group 1, and clones what is for 6 to session 1.
fn copying() -> Switch {
    let mut switch = Switch::new(program("controlled"), 7);
    let table = switch.program().index(Named::Table, "MyIngress.exactly");
    let table = table.expect("it is there");
    for (key, action) in [(5, "MyIngress.copy_all"), (6, "MyIngress.clone_it")] {
        let action = switch.action_of(table, action).expect("it is there");
        let does = Does::Action(action, vec![Int::Small(1)]);
        let key = vec![Match::Exact(Int::Small(key))];
        let added = switch.insert(table, Entry::new(key, 0, does));
        added.expect("room");
    }
    switch
}

fn to(port: u32, instance: u16) -> Replica {
    Replica { port, instance }
}

/// The ports at which packets for a key leave, in order.
fn ports(switch: &mut Switch, key: u8) -> Vec<u32> {
    let mut left = Left::default();
    switch.receive(0, &[1, key, 0, 0, 0, 0, 0, 0], 0, &mut left);
    let mut ports: Vec<u32> = left.sent.iter().map(|sent| sent.port).collect();
    ports.sort_unstable();
    ports
}

#[test]
fn a_copy_goes_to_the_first_of_its_ports_that_has_a_link() {
    let mut switch = copying();
    let backups = Backups::from([(to(2, 1), vec![to(3, 2), to(4, 3)])]);
    let replication = switch.replication_mut();
    let set = replication.set_backed_group(1, vec![to(1, 0), to(2, 1)], backups.clone());
    set.expect("there is room");
    let session = Session {
        replicas: vec![to(2, 1)],
        truncate: None,
    };
    let set = replication.set_backed_session(1, session, backups);
    set.expect("there is room");
    for (port, is_up, copies, clones) in [
        (1, false, &[1, 2][..], &[1, 2][..]),
        (2, false, &[1, 3], &[1, 3]),
        (3, false, &[1, 4], &[1, 4]),
        (4, false, &[1], &[1]),
        (3, true, &[1, 3], &[1, 3]),
        (2, true, &[1, 2], &[1, 2]),
    ] {
        switch.set_link(port, is_up);
        assert_eq!(ports(&mut switch, 5), copies, "port {port}");
        assert_eq!(ports(&mut switch, 6), clones, "port {port}");
    }
}

#[test]
fn what_is_set_again_has_no_backups_and_a_backup_has_a_port_of_the_switch() {
    let mut switch = copying();
    let backups = |port| Backups::from([(to(2, 1), vec![to(port, 2)])]);
    switch.set_link(2, false);
    let replication = switch.replication_mut();
    let refused = replication.set_backed_group(1, vec![to(2, 1)], backups(3));
    assert!(matches!(refused, Err(ControlError::Invalid(_))));
    assert!(replication.groups().is_empty());
    switch.set_link(3, true);
    let replication = switch.replication_mut();
    let set = replication.set_backed_group(1, vec![to(2, 1)], backups(3));
    set.expect("there is room");
    assert_eq!(ports(&mut switch, 5), [3]);
    let set = switch.replication_mut().set_group(1, Some(vec![to(2, 1)]));
    set.expect("it is there");
    assert_eq!(ports(&mut switch, 5), [2]);
}
