//! Members, groups and action sets of action profiles.

use std::ops::Range;
use std::time::Duration;

use bofuss_p4::Switch;
use bofuss_p4runtime::Job;
use bofuss_p4runtime::wire::entities::{
    Action, ActionProfileAction, ActionProfileActionSet, ActionProfileActionWatchKind as Watch,
    ActionProfileGroup, ActionProfileGroupMember, ActionProfileGroupMemberWatchKind as MemberWatch,
    ActionProfileMember, EntityKind, TableAction, TableActionType, TableEntry,
};
use bofuss_p4runtime::wire::messages::{SetForwardingPipelineConfigRequestAction, UpdateType};
use tonic::Code;

use crate::common::{Controller, Running, action, action_set, done, exact, id, start};

#[tokio::test(flavor = "multi_thread")]
async fn a_group_has_no_member_twice_and_keeps_its_max_size() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let action_profile_id = id("MyIngress.choice");
    let member = EntityKind::ActionProfileMember(ActionProfileMember {
        action_profile_id,
        member_id: 1,
        action: Some(action("MyIngress.set", &[7])),
    });
    let added = done(&mut controller, UpdateType::Insert, member).await;
    assert_eq!(added, Code::Ok);
    let member = |weight| ActionProfileGroupMember {
        member_id: 1,
        weight,
        watch_kind: None,
    };
    for (kind, members, max_size, expected) in [
        (
            UpdateType::Insert,
            vec![member(1); 2],
            4,
            Code::InvalidArgument,
        ),
        (
            UpdateType::Insert,
            vec![member(1)],
            5,
            Code::InvalidArgument,
        ),
        (
            UpdateType::Insert,
            vec![member(1)],
            -1,
            Code::InvalidArgument,
        ),
        (UpdateType::Insert, vec![member(1)], 4, Code::Ok),
        (
            UpdateType::Modify,
            vec![member(2)],
            3,
            Code::InvalidArgument,
        ),
        (UpdateType::Modify, vec![member(2)], 4, Code::Ok),
    ] {
        let group = EntityKind::ActionProfileGroup(ActionProfileGroup {
            action_profile_id,
            group_id: 1,
            members,
            max_size,
        });
        assert_eq!(done(&mut controller, kind, group).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn number_0_is_that_of_no_member_and_no_group() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let action_profile_id = id("MyIngress.choice");
    let member = EntityKind::ActionProfileMember(ActionProfileMember {
        action_profile_id,
        member_id: 0,
        action: Some(action("MyIngress.set", &[7])),
    });
    let group = EntityKind::ActionProfileGroup(ActionProfileGroup {
        action_profile_id,
        group_id: 0,
        members: Vec::new(),
        max_size: 4,
    });
    for entity in [member, group] {
        let added = done(&mut controller, UpdateType::Insert, entity.clone()).await;
        assert_eq!(added, Code::InvalidArgument);
        let removed = done(&mut controller, UpdateType::Delete, entity).await;
        assert_eq!(removed, Code::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_set_takes_the_place_of_another_in_a_full_profile() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let entry = |key: u8, values: Range<u8>| {
        let rows = values.map(|value| ActionProfileAction {
            action: Some(action("MyIngress.set", &[value])),
            weight: 1,
            watch_kind: None,
        });
        let set = ActionProfileActionSet {
            action_profile_actions: rows.collect(),
            ..ActionProfileActionSet::default()
        };
        let action = TableAction {
            r#type: Some(TableActionType::ActionProfileActionSet(set)),
        };
        EntityKind::TableEntry(TableEntry {
            action: Some(action),
            ..exact("MyIngress.selected", key, Action::default())
        })
    };
    // The profile has room for 16 members, and a group for 4.
    for key in 0..4 {
        let added = done(&mut controller, UpdateType::Insert, entry(key, 1..5)).await;
        assert_eq!(added, Code::Ok);
    }
    for (kind, written, expected) in [
        (UpdateType::Insert, entry(4, 1..2), Code::ResourceExhausted),
        (UpdateType::Modify, entry(0, 5..9), Code::Ok),
        (UpdateType::Modify, entry(0, 1..6), Code::InvalidArgument),
    ] {
        assert_eq!(done(&mut controller, kind, written).await, expected);
    }
    let asked = EntityKind::TableEntry(TableEntry {
        table_id: id("MyIngress.selected"),
        ..TableEntry::default()
    });
    let read = controller.read(asked).await.expect("it is there");
    let others = (1..4).map(|key| entry(key, 1..5));
    let wanted: Vec<EntityKind> = [entry(0, 5..9)].into_iter().chain(others).collect();
    assert_eq!(read, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_for_an_action_set_has_no_other_user() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let entry = |key, does| {
        let action = TableAction { r#type: Some(does) };
        EntityKind::TableEntry(TableEntry {
            action: Some(action),
            ..exact("MyIngress.selected", key, Action::default())
        })
    };
    let set = action_set(action("MyIngress.set", &[7])).r#type;
    let with_set = entry(5, set.expect("it is a set"));
    let added = done(&mut controller, UpdateType::Insert, with_set).await;
    assert_eq!(added, Code::Ok);
    // The numbers that the switch uses begin here.
    for id in [1 << 31, (1 << 31) + 1] {
        for does in [
            TableActionType::ActionProfileMemberId(id),
            TableActionType::ActionProfileGroupId(id),
        ] {
            let other = entry(6, does);
            let added = done(&mut controller, UpdateType::Insert, other).await;
            assert_eq!(added, Code::NotFound);
        }
    }
}

/// Says that a port of the switch has a link, or none.
async fn link(running: &Running, port: u32, is_up: bool) {
    let set = move |switch: &mut Switch, _: u64| {
        switch.set_link(port, is_up);
        Vec::new()
    };
    let sent = running.jobs.send(Job::Control(Box::new(set), None)).await;
    assert!(sent.is_ok());
}

/// The parameter of the action that the entry for 5 chooses.
async fn chosen(running: &Running) -> u8 {
    let frame = vec![6, 5, 0, 0, 0, 0, 0, 0];
    let sent = running.jobs.send(Job::Packet { port: 0, frame }).await;
    assert!(sent.is_ok());
    let sent = running.sent.recv_timeout(Duration::from_secs(5));
    sent.expect("it leaves").frame[3]
}

/// An entry for 5 whose set has the actions 7 and 8, of which the first watches something.
fn watching(watch_kind: Option<Watch>) -> EntityKind {
    let row = |value, watch_kind| ActionProfileAction {
        action: Some(action("MyIngress.set", &[value])),
        weight: 1,
        watch_kind,
    };
    let set = ActionProfileActionSet {
        action_profile_actions: vec![row(7, watch_kind), row(8, None)],
        ..ActionProfileActionSet::default()
    };
    let action = TableAction {
        r#type: Some(TableActionType::ActionProfileActionSet(set)),
    };
    EntityKind::TableEntry(TableEntry {
        action: Some(action),
        ..exact("MyIngress.selected", 5, Action::default())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_whose_watched_port_has_no_link_is_not_chosen() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    link(&running, 300, true).await;
    let port = |bytes: &[u8]| Some(Watch::WatchPort(bytes.to_vec()));
    for (watched, expected) in [
        (Some(Watch::Watch(300)), Code::Unimplemented),
        (port(&[1, 45]), Code::InvalidArgument),
        (port(&[1, 0, 0, 0, 0]), Code::InvalidArgument),
        (port(&[0, 1, 44]), Code::Ok),
    ] {
        let entry = watching(watched);
        let added = done(&mut controller, UpdateType::Insert, entry).await;
        assert_eq!(added, expected);
    }
    let asked = EntityKind::TableEntry(TableEntry {
        table_id: id("MyIngress.selected"),
        ..TableEntry::default()
    });
    let read = controller.read(asked).await.expect("it is there");
    assert_eq!(read, [watching(port(&[1, 44]))]);
    assert_eq!(chosen(&running).await, 7);
    link(&running, 300, false).await;
    assert_eq!(chosen(&running).await, 8);
    link(&running, 300, true).await;
    assert_eq!(chosen(&running).await, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_of_a_group_watches_a_port_until_the_group_says_otherwise() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    link(&running, 3, false).await;
    let action_profile_id = id("MyIngress.choice");
    for (member_id, value) in [(1, 7), (2, 8)] {
        let member = EntityKind::ActionProfileMember(ActionProfileMember {
            action_profile_id,
            member_id,
            action: Some(action("MyIngress.set", &[value])),
        });
        let added = done(&mut controller, UpdateType::Insert, member).await;
        assert_eq!(added, Code::Ok);
    }
    let group = |watch_kind| {
        let member = |member_id, watch_kind| ActionProfileGroupMember {
            member_id,
            weight: 1,
            watch_kind,
        };
        EntityKind::ActionProfileGroup(ActionProfileGroup {
            action_profile_id,
            group_id: 1,
            members: vec![member(1, watch_kind), member(2, None)],
            max_size: 4,
        })
    };
    let entry = EntityKind::TableEntry(TableEntry {
        action: Some(TableAction {
            r#type: Some(TableActionType::ActionProfileGroupId(1)),
        }),
        ..exact("MyIngress.selected", 5, Action::default())
    });
    let watched = group(Some(MemberWatch::WatchPort(vec![3])));
    for added in [watched.clone(), entry] {
        let added = done(&mut controller, UpdateType::Insert, added).await;
        assert_eq!(added, Code::Ok);
    }
    for action in [
        SetForwardingPipelineConfigRequestAction::Verify,
        SetForwardingPipelineConfigRequestAction::ReconcileAndCommit,
    ] {
        controller.configure(action).await;
        assert_eq!(chosen(&running).await, 8);
        let asked = EntityKind::ActionProfileGroup(ActionProfileGroup::default());
        let read = controller.read(asked).await.expect("it is there");
        assert_eq!(read, std::slice::from_ref(&watched));
    }
    let modified = done(&mut controller, UpdateType::Modify, group(None)).await;
    assert_eq!(modified, Code::Ok);
    assert_eq!(chosen(&running).await, 7);
}
