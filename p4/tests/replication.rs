//! Multicast groups and clone sessions: the room that they have.

use bofuss_p4::{ControlError, Program, Replica, Session, Switch};

#[test]
fn groups_and_sessions_are_changed_and_removed_where_there_is_no_room_for_more() {
    let mut switch = Switch::new(Program::default(), 0);
    let replication = switch.replication_mut();
    let to = |port| vec![Replica { port, instance: 0 }];
    let session = |port| Session {
        replicas: to(port),
        truncate: None,
    };
    for id in 1..=1 << 16 {
        let set = replication.set_group(id, Some(to(1)));
        set.expect("there is room");
        let set = replication.set_session(id, Some(session(1)));
        set.expect("there is room");
    }
    let more = (1 << 16) + 1;
    let full = Err(ControlError::Full);
    assert_eq!(replication.set_group(more, Some(to(1))), full);
    assert_eq!(replication.set_session(more, Some(session(1))), full);
    assert_eq!(replication.set_session_group(more, 1), full);
    let set = replication.set_group(1, Some(to(2)));
    set.expect("it is there");
    let set = replication.set_session(1, Some(session(2)));
    set.expect("it is there");
    assert_eq!(replication.groups()[&1], to(2));
    let emptied = replication.set_group(1, Some(Vec::new()));
    emptied.expect("it is there");
    assert_eq!(replication.set_group(more, Some(to(1))), full);
    let removed = replication.set_group(1, None);
    removed.expect("it is there");
    let set = replication.set_group(more, Some(to(1)));
    set.expect("there is room again");
}
