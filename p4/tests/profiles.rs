//! Members and groups of action profiles: what uses them, and the room that they have.

use std::fs;

use bofuss_p4::{Bound, ControlError, Does, Entry, Int, Match, Named, Program, Switch};

/// The table, the profile and an action for members.
struct Choice {
    table: usize,
    profile: usize,
    bound: Bound,
}

/// A switch whose profile with a selector has so many members, and what it has for this.
fn switch(max_size: u32) -> (Switch, Choice) {
    let root = env!("CARGO_MANIFEST_DIR");
    let file = format!("{root}/../testdata/p4/control_plane/control_plane.json");
    let json = fs::read_to_string(file).expect("the file is there");
    let wanted = format!("\"max_size\" : {max_size},");
    let json = json.replace("\"max_size\" : 8,", &wanted);
    let switch = Switch::new(Program::load(json.as_bytes()).expect("p4c wrote it"), 7);
    let index = |kind, name| switch.program().index(kind, name).expect("it is there");
    let table = index(Named::Table, "MyIngress.selected");
    let profile = index(Named::Profile, "MyIngress.choice");
    let action = switch.action_of(table, "MyIngress.set");
    let bound = (action.expect("it is there"), vec![Int::Small(1)]);
    let choice = Choice {
        table,
        profile,
        bound,
    };
    (switch, choice)
}

#[test]
fn a_member_stays_while_a_default_entry_an_entry_or_a_group_has_it() {
    let (mut switch, choice) = switch(8);
    let Choice { table, profile, .. } = choice;
    let in_use = Err(ControlError::InUse);
    for id in [1, 2] {
        let set = switch.set_member(profile, id, choice.bound.clone());
        set.expect("there is room");
    }
    let set = switch.set_default(table, Some(Does::Member(1)));
    set.expect("it is there");
    assert_eq!(switch.delete_member(profile, 1), in_use);
    switch.set_default(table, None).expect("it has none");
    let key = vec![Match::Exact(Int::Small(2))];
    let added = switch.insert(table, Entry::new(key, 0, Does::Member(1)));
    let handle = added.expect("there is room");
    assert_eq!(switch.delete_member(profile, 1), in_use);
    let modified = switch.modify(table, handle, Does::Member(2));
    modified.expect("both are there");
    let set = switch.set_group(profile, 1, &[(1, 2), (2, 1)]);
    set.expect("there is room");
    assert_eq!(switch.delete_member(profile, 1), in_use);
    let set = switch.set_group(profile, 1, &[(2, 3)]);
    set.expect("there is room");
    let deleted = switch.delete_member(profile, 1);
    deleted.expect("nothing has it");
    let modified = switch.modify(table, handle, Does::Group(1));
    modified.expect("both are there");
    assert_eq!(switch.delete_group(profile, 1), in_use);
    assert_eq!(switch.delete_member(profile, 2), in_use);
    switch.delete(table, handle).expect("it is there");
    let deleted = switch.delete_group(profile, 1);
    deleted.expect("nothing has it");
    let deleted = switch.delete_member(profile, 2);
    deleted.expect("nothing has it");
}

#[test]
fn members_in_place_of_others_need_no_room() {
    let (mut switch, Choice { profile, bound, .. }) = switch(2);
    for id in [1, 2] {
        let set = switch.set_member(profile, id, bound.clone());
        set.expect("there is room");
    }
    let full = Err(ControlError::Full);
    assert_eq!(switch.set_member(profile, 3, bound.clone()), full);
    let set = switch.replace_members(profile, 3, bound.clone(), 1);
    set.expect("one goes");
    assert_eq!(switch.replace_members(profile, 4, bound, 1), full);
}

#[test]
fn a_group_of_a_large_profile_has_no_weights_that_fill_the_memory() {
    let (mut switch, Choice { profile, bound, .. }) = switch(u32::MAX);
    let set = switch.set_member(profile, 1, bound);
    set.expect("there is room");
    let set = switch.set_group(profile, 1, &[(1, 1 << 16)]);
    set.expect("there is room");
    let full = switch.set_group(profile, 1, &[(1, (1 << 16) + 1)]);
    assert_eq!(full, Err(ControlError::Full));
    // So many are in all groups.
    for id in 2..=256 {
        let set = switch.set_group(profile, id, &[(1, 1 << 16)]);
        set.expect("there is room");
    }
    let full = switch.set_group(profile, 257, &[(1, 1)]);
    assert_eq!(full, Err(ControlError::Full));
}
