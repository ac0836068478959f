//! Members, groups and action sets of action profiles.

use std::ops::Range;

use bofuss_p4runtime::wire::entities::{
    Action, ActionProfileAction, ActionProfileActionSet, ActionProfileGroup,
    ActionProfileGroupMember, ActionProfileMember, EntityKind, TableAction, TableActionType,
    TableEntry,
};
use bofuss_p4runtime::wire::messages::UpdateType;
use tonic::Code;

use crate::common::{Controller, action, action_set, done, exact, id, start};

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
