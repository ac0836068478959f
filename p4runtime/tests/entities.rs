//! Entities that do not fit, and what updates leave as it was.

use std::time::Duration;

use bofuss_p4::{Program, Switch};
use bofuss_p4runtime::wire::entities::{
    Action, CounterData, CounterEntry, DigestEntry, DigestEntryConfig, DirectCounterEntry,
    EntityKind, ExternEntry, FieldMatch, FieldMatchExact, FieldMatchFieldMatchType, Index,
    MeterConfig, MeterCounterData, MeterEntry, MulticastGroupEntry, PacketReplicationEngineEntry,
    PacketReplicationEngineEntryType, Replica, ReplicaPortKind, TableAction, TableActionType,
    TableEntry, TableEntryIdleTimeout, ValueSetEntry, ValueSetMember,
};
use bofuss_p4runtime::wire::messages::{StreamMessageResponseUpdate, Update, UpdateType};
use bofuss_p4runtime::{Change, ChangePlayer, Job, Pipeline};
use tonic::Code;

use crate::common::{Controller, action, action_set, codes, done, entity, exact, file, id, start};

fn group(ports: impl Iterator<Item = u32>) -> EntityKind {
    let replicas = ports.map(|port| Replica {
        port_kind: Some(ReplicaPortKind::EgressPort(port)),
        ..Replica::default()
    });
    let group = MulticastGroupEntry {
        multicast_group_id: 1,
        replicas: replicas.collect(),
        metadata: Vec::new(),
    };
    let group = PacketReplicationEngineEntryType::MulticastGroupEntry(group);
    EntityKind::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
        r#type: Some(group),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_too_many_replicas_is_refused_before_they_are_compared() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let many = group((0..1024).chain([0]));
    let refused = done(&mut controller, UpdateType::Insert, many).await;
    assert_eq!(refused, Code::ResourceExhausted);
    let twice = group((0..511).chain([0]));
    let refused = done(&mut controller, UpdateType::Insert, twice).await;
    assert_eq!(refused, Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_set_has_no_member_twice() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let set = |values: &[&[u8]]| {
        let members = values.iter().map(|value| ValueSetMember {
            r#match: vec![FieldMatch {
                field_id: 1,
                field_match_type: Some(FieldMatchFieldMatchType::Exact(FieldMatchExact {
                    value: value.to_vec(),
                })),
            }],
        });
        EntityKind::ValueSetEntry(ValueSetEntry {
            value_set_id: id("MyParser.special"),
            members: members.collect(),
        })
    };
    for (values, expected) in [
        (&[&[7][..], &[0, 7]][..], Code::AlreadyExists),
        (&[&[7], &[8]], Code::Ok),
        (&[&[0, 0, 9]], Code::Ok),
    ] {
        let modified = done(&mut controller, UpdateType::Modify, set(values)).await;
        assert_eq!(modified, expected, "{values:?}");
    }
    let read = controller.read(set(&[])).await.expect("it is there");
    assert_eq!(read, [set(&[&[9]])], "in the shortest form");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_stays_where_an_update_has_no_data_for_it() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let entry = exact("MyIngress.exactly", 5, action("MyIngress.send", &[3]));
    let added = EntityKind::TableEntry(entry.clone());
    let added = done(&mut controller, UpdateType::Insert, added).await;
    assert_eq!(added, Code::Ok);
    let data = CounterData {
        packet_count: 3,
        byte_count: 4,
    };
    let cell = |data| {
        EntityKind::CounterEntry(CounterEntry {
            counter_id: id("MyIngress.seen"),
            index: Some(Index { index: 1 }),
            data,
        })
    };
    let direct = |data| {
        EntityKind::DirectCounterEntry(DirectCounterEntry {
            table_entry: Some(entry.clone()),
            data,
        })
    };
    for data in [Some(data), None] {
        for counter in [cell(data), direct(data)] {
            let set = done(&mut controller, UpdateType::Modify, counter).await;
            assert_eq!(set, Code::Ok);
        }
    }
    let read = controller.read(cell(None)).await.expect("it is there");
    assert_eq!(read, [cell(Some(data))]);
    // The metadata are no part of what names the counter.
    let mut asked = direct(None);
    if let EntityKind::DirectCounterEntry(asked) = &mut asked {
        let entry = asked.table_entry.as_mut();
        entry.expect("it has one").metadata = vec![1];
    }
    let read = controller.read(asked).await.expect("it is there");
    let [EntityKind::DirectCounterEntry(read)] = &read[..] else {
        panic!("{read:?}");
    };
    assert_eq!(read.data, Some(data));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_keeps_its_action_where_an_update_has_none() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let plain = exact("MyIngress.exactly", 5, action("MyIngress.send", &[3]));
    let mut with_set = exact("MyIngress.selected", 5, action("MyIngress.set", &[3]));
    with_set.action = Some(action_set(action("MyIngress.set", &[7])));
    for mut entry in [plain, with_set] {
        let bare = TableEntry {
            action: None,
            metadata: vec![1, 2],
            ..entry.clone()
        };
        for (kind, written, expected) in [
            (UpdateType::Insert, &bare, Code::InvalidArgument),
            (UpdateType::Insert, &entry, Code::Ok),
            (UpdateType::Modify, &bare, Code::Ok),
        ] {
            let written = EntityKind::TableEntry(written.clone());
            assert_eq!(done(&mut controller, kind, written).await, expected);
        }
        let asked = EntityKind::TableEntry(TableEntry {
            table_id: entry.table_id,
            ..TableEntry::default()
        });
        let read = controller.read(asked).await.expect("it is there");
        entry.metadata = vec![1, 2];
        assert_eq!(read, [EntityKind::TableEntry(entry)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_filtered_by_action_and_metadata() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let table = "MyIngress.exactly";
    let actions = ["send", "copy_all", "copy_all"];
    let entries = actions.into_iter().zip(1..).map(|(name, n)| TableEntry {
        controller_metadata: u64::from(n),
        metadata: vec![n + 10],
        ..exact(table, n, action(&format!("MyIngress.{name}"), &[1]))
    });
    let entries: Vec<EntityKind> = entries.map(EntityKind::TableEntry).collect();
    let write = controller.write(UpdateType::Insert, entries.clone());
    write.await.expect("they fit");
    let all = TableEntry {
        table_id: id(table),
        ..TableEntry::default()
    };
    let by_action = exact(table, 0, action("MyIngress.copy_all", &[]));
    for (asked, expected) in [
        (all.clone(), 0..3),
        (
            TableEntry {
                r#match: Vec::new(),
                ..by_action
            },
            1..3,
        ),
        (
            TableEntry {
                controller_metadata: 2,
                ..all.clone()
            },
            1..2,
        ),
        (
            TableEntry {
                metadata: vec![11],
                ..all
            },
            0..1,
        ),
    ] {
        let read = controller.read(EntityKind::TableEntry(asked)).await;
        assert_eq!(read.expect("the table is there"), entries[expected]);
    }
}

#[test]
fn a_table_without_a_key_takes_no_entry() {
    let mut text = String::from_utf8(file("p4info.txt")).expect("it is text");
    text.push_str(
        "tables { preamble { id: 1 name: \"tbl_controlled58\" } action_refs { id: 2 } size: 1 }
        actions { preamble { id: 2 name: \"controlled58\" } }",
    );
    let pipeline = Pipeline::new(&text, file("json")).expect("the program has both");
    let mut player = ChangePlayer::default();
    let mut switch = Switch::new(Program::default(), 0);
    let set = player.set_pipeline(
        &mut switch,
        (pipeline.p4info(), &file("json")),
        (0, 0),
        false,
    );
    assert_eq!(set, Ok(Vec::new()));
    let action = Action {
        action_id: 2,
        params: Vec::new(),
    };
    let entry = EntityKind::TableEntry(TableEntry {
        table_id: 1,
        action: Some(TableAction {
            r#type: Some(TableActionType::Action(action)),
        }),
        ..TableEntry::default()
    });
    let update = Update {
        r#type: UpdateType::Insert as i32,
        entity: Some(Box::new(entity(entry))),
    };
    let refused = player.write(&mut switch, &Change::encoded(&[update]), 0);
    assert_eq!(refused, Ok(vec![(0, Code::InvalidArgument as i32)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_entry_has_its_metadata_until_it_is_reset() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let bare = TableEntry {
        table_id: id("MyIngress.exactly"),
        is_default_action: true,
        ..TableEntry::default()
    };
    let written = TableEntry {
        action: exact("MyIngress.exactly", 0, action("MyIngress.send", &[3])).action,
        controller_metadata: 7,
        metadata: vec![1, 2],
        ..bare.clone()
    };
    let other = TableEntry {
        controller_metadata: 8,
        ..bare.clone()
    };
    let set = EntityKind::TableEntry(written.clone());
    let set = done(&mut controller, UpdateType::Modify, set).await;
    assert_eq!(set, Code::Ok);
    let written = EntityKind::TableEntry(written);
    for (asked, wanted) in [(bare.clone(), vec![written]), (other, Vec::new())] {
        let read = controller.read(EntityKind::TableEntry(asked)).await;
        assert_eq!(read.expect("the table is there"), wanted);
    }
    let reset = EntityKind::TableEntry(bare.clone());
    let reset = done(&mut controller, UpdateType::Modify, reset).await;
    assert_eq!(reset, Code::Ok);
    let read = controller.read(EntityKind::TableEntry(bare)).await;
    let read = read.expect("the table is there");
    let [EntityKind::TableEntry(read)] = &read[..] else {
        panic!("{read:?}");
    };
    assert_eq!((read.controller_metadata, &read.metadata[..]), (0, &[][..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_timeout_is_read_as_it_was_written() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let entry = EntityKind::TableEntry(TableEntry {
        idle_timeout_ns: 3_600_000_000_001,
        ..exact("MyIngress.aging", 5, action("MyIngress.send", &[3]))
    });
    let added = done(&mut controller, UpdateType::Insert, entry.clone()).await;
    assert_eq!(added, Code::Ok);
    let asked = EntityKind::TableEntry(TableEntry {
        table_id: id("MyIngress.aging"),
        ..TableEntry::default()
    });
    let read = controller.read(asked).await;
    assert_eq!(read.expect("the table is there"), [entry]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_with_the_code_of_the_specification() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let cell = |index| {
        EntityKind::CounterEntry(CounterEntry {
            counter_id: id("MyIngress.seen"),
            index: Some(Index { index }),
            data: None,
        })
    };
    let meter = |config, counter_data| {
        EntityKind::MeterEntry(MeterEntry {
            meter_id: id("MyIngress.paced"),
            index: Some(Index { index: 0 }),
            config,
            counter_data,
        })
    };
    let one_rate = MeterConfig {
        eburst: 1,
        ..MeterConfig::default()
    };
    let entry = exact("MyIngress.exactly", 5, action("MyIngress.send", &[3]));
    let with_time = TableEntry {
        time_since_last_hit: Some(TableEntryIdleTimeout::default()),
        ..entry.clone()
    };
    let constant = TableEntry {
        is_const: true,
        ..entry
    };
    let fixed = exact("MyIngress.fixed", 1, action("MyIngress.send", &[1]));
    let fixed_without = TableEntry {
        action: None,
        ..fixed.clone()
    };
    let mut unknown = exact("MyIngress.selected", 5, Action::default());
    unknown.action = Some(action_set(Action {
        action_id: 1,
        params: Vec::new(),
    }));
    let extern_of = |extern_type_id| {
        EntityKind::ExternEntry(ExternEntry {
            extern_type_id,
            extern_id: 0,
        })
    };
    let read = controller.read(extern_of(0)).await;
    assert_eq!(read.expect("all of them are none"), []);
    use UpdateType::{Insert, Modify};
    for (kind, written, expected) in [
        (Insert, extern_of(1), Code::Unimplemented),
        (Modify, cell(-1), Code::InvalidArgument),
        (Modify, cell(4), Code::OutOfRange),
        (Modify, meter(Some(one_rate), None), Code::InvalidArgument),
        (
            Modify,
            meter(None, Some(MeterCounterData::default())),
            Code::Unimplemented,
        ),
        (
            Insert,
            EntityKind::TableEntry(with_time),
            Code::InvalidArgument,
        ),
        (
            Insert,
            EntityKind::TableEntry(constant),
            Code::InvalidArgument,
        ),
        (
            Modify,
            EntityKind::TableEntry(fixed),
            Code::PermissionDenied,
        ),
        (Modify, EntityKind::TableEntry(fixed_without), Code::Ok),
        (
            Insert,
            EntityKind::TableEntry(unknown),
            Code::InvalidArgument,
        ),
    ] {
        let what = format!("{written:?}");
        let answer = done(&mut controller, kind, written).await;
        assert_eq!(answer, expected, "{what}");
    }
    let absent = EntityKind::DirectCounterEntry(DirectCounterEntry {
        table_entry: Some(exact("MyIngress.exactly", 77, Action::default())),
        data: None,
    });
    for (asked, expected) in [(cell(-1), Code::InvalidArgument), (absent, Code::NotFound)] {
        let refused = controller.read(asked).await.expect_err("it is not there");
        assert_eq!(codes(&refused), [expected]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_that_waits_is_sent_as_another_configuration_wants() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let digest_id = id("learned_t");
    let digest = |max_list_size| {
        EntityKind::DigestEntry(DigestEntry {
            digest_id,
            config: Some(DigestEntryConfig {
                max_timeout_ns: 60_000_000_000,
                max_list_size,
                ack_timeout_ns: 0,
            }),
        })
    };
    let write = controller.write(UpdateType::Insert, vec![digest(2)]);
    write.await.expect("it fits");
    let frame = vec![9, 1, 0, 2, 0, 0, 0, 0];
    let sent = running.jobs.send(Job::Packet { port: 0, frame }).await;
    sent.expect("the switch is there");
    let sent = running.sent.recv_timeout(Duration::from_secs(5));
    assert_eq!(sent.expect("it leaves").port, 1);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let write = controller.write(UpdateType::Modify, vec![digest(1)]);
    write.await.expect("it is there");
    let StreamMessageResponseUpdate::Digest(list) = controller.next().await else {
        panic!("a digest is next");
    };
    assert_eq!(list.data.len(), 1);
}
