//! What the specification says of reads, ids, signed data, weights, groups and fixed entries.

use bofuss_p4runtime::Pipeline;
use bofuss_p4runtime::wire::entities::{
    ActionProfileGroup, ActionProfileGroupMember, ActionProfileMember, BackupReplica,
    CloneSessionEntry, CounterEntry, EntityKind, FieldMatch, FieldMatchFieldMatchType,
    FieldMatchTernary, Index, MulticastGroupEntry, P4Data, P4DataData,
    PacketReplicationEngineEntry, PacketReplicationEngineEntryType, RegisterEntry, Replica,
    ReplicaPortKind, TableEntry,
};
use bofuss_p4runtime::wire::messages::{
    Any, ForwardingPipelineConfig, MasterArbitrationUpdate, Role,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigRequestAction,
    SetForwardingPipelineConfigResponse, StreamMessageRequestUpdate, Uint128, UpdateType,
};
use tonic::Code;

use crate::common::{Controller, action, codes, done, exact, file, id, start};

/// A file of the program `controlled` as text, in which the first `from` after `place` is `to`.
fn changed(end: &str, place: &str, from: &str, to: &str) -> String {
    let text = String::from_utf8(file(end)).expect("it is text");
    let at = text.find(place).expect("the place is there");
    let (before, behind) = text.split_at(at);
    assert!(behind.contains(from), "{from}");
    before.to_owned() + &behind.replacen(from, to, 1)
}

/// Sets a program with its P4Info.
async fn set(controller: &mut Controller, p4info: &str, json: Vec<u8>) {
    let pipeline = Pipeline::new(p4info, json.clone()).expect("they fit");
    let low = controller.election;
    let request = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(Uint128 { high: 0, low }),
        action: SetForwardingPipelineConfigRequestAction::VerifyAndCommit as i32,
        config: Some(ForwardingPipelineConfig {
            p4info: pipeline.p4info().to_vec(),
            p4_device_config: json,
            cookie: None,
        }),
        ..SetForwardingPipelineConfigRequest::default()
    };
    let name = "SetForwardingPipelineConfig";
    let set = controller.call::<_, SetForwardingPipelineConfigResponse>(name, request);
    set.await.expect("the program is right");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_gives_what_fits_and_says_of_each_request_what_became_of_it() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let entry = |key| {
        let send = action("MyIngress.send", &[3]);
        EntityKind::TableEntry(exact("MyIngress.exactly", key, send))
    };
    let write = controller.write(UpdateType::Insert, vec![entry(5), entry(6)]);
    write.await.expect("they fit");
    let below = EntityKind::CounterEntry(CounterEntry {
        counter_id: id("MyIngress.seen"),
        index: Some(Index { index: -1 }),
        data: None,
    });
    let nowhere = EntityKind::TableEntry(TableEntry {
        table_id: 1,
        ..TableEntry::default()
    });
    let mut unkeyed = exact("MyIngress.exactly", 7, action("MyIngress.send", &[3]));
    unkeyed.r#match[0].field_id = 9;
    let unkeyed = EntityKind::TableEntry(unkeyed);
    let asked = vec![entry(5), below, nowhere, unkeyed, entry(6)];
    let (read, end) = controller.read_all(asked).await;
    assert_eq!(read, [entry(5), entry(6)]);
    let end = end.expect_err("three are wrong");
    assert_eq!(end.code(), Code::Unknown);
    let begin = "3 of 5 requests failed, the first is 2: ";
    assert!(end.message().starts_with(begin), "{end}");
    use Code::{InvalidArgument, NotFound, Ok};
    let expected = [Ok, InvalidArgument, NotFound, InvalidArgument, Ok];
    assert_eq!(codes(&end), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_without_a_priority_is_read_at_all_its_priorities() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let entry = |value, priority| {
        let ternary = FieldMatchTernary {
            value: vec![value],
            mask: vec![0xf0],
        };
        TableEntry {
            r#match: vec![FieldMatch {
                field_id: 1,
                field_match_type: Some(FieldMatchFieldMatchType::Ternary(ternary)),
            }],
            priority,
            ..exact("MyIngress.masked", 0, action("MyIngress.send", &[3]))
        }
    };
    let keys = [(0x10, 1), (0x20, 2), (0x10, 3)];
    let entries = keys.map(|(value, priority)| EntityKind::TableEntry(entry(value, priority)));
    let write = controller.write(UpdateType::Insert, entries.to_vec());
    write.await.expect("they fit");
    for (value, priority, expected) in [
        (0x10, 0, vec![entries[0].clone(), entries[2].clone()]),
        (0x10, 3, vec![entries[2].clone()]),
        (0x10, 2, vec![]),
        (0x30, 0, vec![]),
    ] {
        let asked = EntityKind::TableEntry(entry(value, priority));
        let read = controller.read(asked).await.expect("the table is there");
        assert_eq!(read, expected, "{value} {priority}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_register_is_read_and_written_in_two_s_complement() {
    let running = start(false).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let p4info = changed("p4info.txt", "MyIngress.kept", "bit {", "int {");
    set(&mut controller, &p4info, file("json")).await;
    let cell = |index, bytes: &[u8]| {
        EntityKind::RegisterEntry(RegisterEntry {
            register_id: id("MyIngress.kept"),
            index: Some(Index { index }),
            data: Some(P4Data {
                data: Some(P4DataData::Bitstring(bytes.to_vec())),
            }),
        })
    };
    for (bytes, expected) in [
        (&[0xff][..], Code::Ok),
        (&[0x80, 0], Code::Ok),
        (&[0, 0x80, 0], Code::OutOfRange),
        (&[0, 200], Code::Ok),
    ] {
        let modified = done(&mut controller, UpdateType::Modify, cell(0, bytes)).await;
        assert_eq!(modified, expected, "{bytes:?}");
        if expected == Code::Ok {
            let read = controller.read(cell(0, &[])).await;
            assert_eq!(read.expect("it is there"), [cell(0, bytes)]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_weighs_no_more_than_the_p4info_allows() {
    let running = start(false).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let most = "max_group_size: 4 sum_of_members { max_member_weight: 2 }";
    let p4info = changed("p4info.txt", "MyIngress.choice", "max_group_size: 4", most);
    set(&mut controller, &p4info, file("json")).await;
    let action_profile_id = id("MyIngress.choice");
    let member = EntityKind::ActionProfileMember(ActionProfileMember {
        action_profile_id,
        member_id: 1,
        action: Some(action("MyIngress.set", &[7])),
    });
    let added = done(&mut controller, UpdateType::Insert, member).await;
    assert_eq!(added, Code::Ok);
    for (weight, expected) in [(3, Code::InvalidArgument), (2, Code::Ok)] {
        let member = ActionProfileGroupMember {
            member_id: 1,
            weight,
            watch_kind: None,
        };
        let group = EntityKind::ActionProfileGroup(ActionProfileGroup {
            action_profile_id,
            group_id: 1,
            members: vec![member],
            max_size: 4,
        });
        let added = done(&mut controller, UpdateType::Insert, group).await;
        assert_eq!(added, expected, "{weight}");
    }
}

#[test]
fn an_id_of_the_p4info_names_one_thing() {
    let (longest, exactly) = ("35711486", "47327021");
    for (place, from, to, wrong) in [
        (
            "MyIngress.masked",
            "id: 2\n",
            "id: 1\n",
            "MyIngress.masked: the id 1 is 0 or there twice",
        ),
        (longest, longest, exactly, "the P4Info has 47327021 twice"),
        (
            longest,
            longest,
            "0",
            "the P4Info has the id 0, which names nothing",
        ),
    ] {
        let p4info = changed("p4info.txt", place, from, to);
        let refused = Pipeline::new(&p4info, file("json")).expect_err("it is ambiguous");
        assert_eq!(refused.to_string(), wrong);
    }
}

#[test]
fn a_p4info_has_the_widths_and_sizes_of_the_program() {
    for (place, from, to, wrong) in [
        (
            "MyIngress.exactly",
            "bitwidth: 8",
            "bitwidth: 7",
            "the program has 8 bits",
        ),
        (
            "alias: \"send\"",
            "bitwidth: 9",
            "bitwidth: 8",
            "MyIngress.send, port: the program has 9 bits",
        ),
        (
            "MyIngress.kept",
            "size: 4",
            "size: 100",
            "MyIngress.kept: the program has 4 cells, not 100",
        ),
    ] {
        let p4info = changed("p4info.txt", place, from, to);
        let refused = Pipeline::new(&p4info, file("json")).expect_err("it is of another program");
        let refused = refused.to_string();
        assert!(refused.ends_with(wrong), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_multicast_group_may_have_no_replicas() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let group = |ports: &[u32]| {
        let replicas = ports.iter().map(|port| Replica {
            port_kind: Some(ReplicaPortKind::EgressPort(*port)),
            ..Replica::default()
        });
        let group = MulticastGroupEntry {
            multicast_group_id: 7,
            replicas: replicas.collect(),
            metadata: Vec::new(),
        };
        let r#type = Some(PacketReplicationEngineEntryType::MulticastGroupEntry(group));
        EntityKind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type })
    };
    let (none, one): (&[u32], &[u32]) = (&[], &[1]);
    use UpdateType::{Delete, Insert, Modify};
    for (kind, ports, expected, left) in [
        (Insert, none, Code::Ok, Some(none)),
        (Insert, one, Code::AlreadyExists, Some(none)),
        (Modify, one, Code::Ok, Some(one)),
        (Modify, none, Code::Ok, Some(none)),
        (Delete, none, Code::Ok, None),
        (Delete, none, Code::NotFound, None),
    ] {
        let written = done(&mut controller, kind, group(ports)).await;
        assert_eq!(written, expected, "{kind:?} {ports:?}");
        let read = controller.read(group(none)).await;
        let wanted: Vec<EntityKind> = left.map(group).into_iter().collect();
        let read = read.expect("none is no error");
        assert_eq!(read, wanted, "{kind:?} {ports:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_read_with_the_backups_that_it_was_written_with() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let group = |backups: &[(u8, u32)]| {
        let backups = backups.iter().map(|(port, instance)| BackupReplica {
            port: vec![*port],
            instance: *instance,
        });
        let replica = Replica {
            port_kind: Some(ReplicaPortKind::EgressPort(1)),
            instance: 1,
            backup_replicas: backups.collect(),
        };
        let group = MulticastGroupEntry {
            multicast_group_id: 7,
            replicas: vec![replica],
            metadata: Vec::new(),
        };
        let r#type = Some(PacketReplicationEngineEntryType::MulticastGroupEntry(group));
        EntityKind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type })
    };
    for (backups, expected) in [
        (&[(1, 2)][..], Code::InvalidArgument),
        (&[(2, 2), (2, 2)], Code::InvalidArgument),
        (&[(2, 1 << 16)], Code::InvalidArgument),
        (&[(2, 2); 1024], Code::ResourceExhausted),
        (&[(3, 2), (2, 3)], Code::Ok),
    ] {
        let added = done(&mut controller, UpdateType::Insert, group(backups)).await;
        assert_eq!(added, expected);
    }
    let read = controller.read(group(&[])).await.expect("it is there");
    assert_eq!(read, [group(&[(3, 2), (2, 3)])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_a_replica_is_read_in_the_form_that_it_was_written_in() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let session = |port_kind| {
        let session = CloneSessionEntry {
            session_id: 7,
            replicas: vec![Replica {
                port_kind: Some(port_kind),
                ..Replica::default()
            }],
            ..CloneSessionEntry::default()
        };
        let r#type = Some(PacketReplicationEngineEntryType::CloneSessionEntry(session));
        EntityKind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type })
    };
    let number = || session(ReplicaPortKind::EgressPort(2));
    let bytes = || session(ReplicaPortKind::Port(vec![2]));
    for (kind, written) in [
        (UpdateType::Insert, bytes()),
        (UpdateType::Modify, number()),
        (UpdateType::Modify, bytes()),
    ] {
        assert_eq!(done(&mut controller, kind, written.clone()).await, Code::Ok);
        let read = controller.read(number()).await.expect("it is there");
        assert_eq!(read, [written]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_by_a_configuration_of_its_role_and_by_another_device() {
    let running = start(true).await;
    let update = |device_id, config| {
        StreamMessageRequestUpdate::Arbitration(MasterArbitrationUpdate {
            device_id,
            role: Some(Role {
                config,
                ..Role::default()
            }),
            election_id: Some(Uint128 { high: 0, low: 7 }),
            status: None,
        })
    };
    for (first, device_id, config, expected) in [
        (false, 1, Some(Any::default()), Code::InvalidArgument),
        (false, 2, None, Code::NotFound),
        (true, 2, None, Code::FailedPrecondition),
    ] {
        let mut controller = Controller::connect(&running.address).await;
        if first {
            controller.send(update(1, None)).await;
            assert_eq!(controller.standing().await, Code::Ok as i32);
        }
        controller.send(update(device_id, config)).await;
        let ended = controller.responses.message().await;
        assert_eq!(ended.expect_err("it ends").code(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_the_program_fixes_have_no_timeout() {
    let running = start(false).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let (no, yes) = ("\"support_timeout\" : false", "\"support_timeout\" : true");
    let json = changed("json", "\"name\" : \"MyIngress.fixed\"", no, yes);
    let p4info = String::from_utf8(file("p4info.txt")).expect("it is text");
    set(&mut controller, &p4info, json.into_bytes()).await;
    let fixed = TableEntry {
        action: None,
        ..exact("MyIngress.fixed", 1, action("MyIngress.send", &[1]))
    };
    for (idle_timeout_ns, expected) in [(1, Code::InvalidArgument), (0, Code::Ok)] {
        let written = EntityKind::TableEntry(TableEntry {
            idle_timeout_ns,
            ..fixed.clone()
        });
        let modified = done(&mut controller, UpdateType::Modify, written).await;
        assert_eq!(modified, expected, "{idle_timeout_ns}");
    }
}
