//! A controller and a server, over a connection.

use std::time::Duration;

use bofuss_p4::Switch;
use bofuss_p4runtime::Job;
use bofuss_p4runtime::wire::entities::{
    DigestEntry, DigestEntryConfig, EntityKind, Index, P4Data, P4DataData, RegisterEntry,
    TableEntry,
};
use bofuss_p4runtime::wire::messages::{
    CapabilitiesRequest, CapabilitiesResponse, DigestListAck, Error, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, PacketMetadata,
    PacketOut, SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigRequestAction,
    SetForwardingPipelineConfigResponse, Status as RpcStatus, StreamMessageRequestUpdate,
    StreamMessageResponseUpdate, Uint128, UpdateType,
};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::Code;

use crate::common::{Controller, Running, action, action_set, exact, file, id, pipeline, start};

const SEND: &str = "MyIngress.send";
const EXACTLY: &str = "MyIngress.exactly";

fn table(entry: TableEntry) -> EntityKind {
    EntityKind::TableEntry(entry)
}

fn all_of(name: &str) -> EntityKind {
    table(TableEntry {
        table_id: id(name),
        ..TableEntry::default()
    })
}

/// The port at which a frame leaves that arrives at port 0.
async fn leaves_at(running: &Running, frame: &[u8]) -> Option<u32> {
    let frame = frame.to_vec();
    let job = Job::Packet { port: 0, frame };
    running.jobs.send(job).await.expect("the switch is there");
    let sent = running.sent.recv_timeout(Duration::from_millis(300));
    sent.ok().map(|sent| sent.port)
}

async fn set(
    controller: &mut Controller,
    action: SetForwardingPipelineConfigRequestAction,
    config: Option<ForwardingPipelineConfig>,
) -> Result<(), tonic::Status> {
    let low = controller.election;
    let request = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(Uint128 { high: 0, low }),
        action: action as i32,
        config,
        ..SetForwardingPipelineConfigRequest::default()
    };
    let name = "SetForwardingPipelineConfig";
    let set = controller.call::<_, SetForwardingPipelineConfigResponse>(name, request);
    set.await.map(drop)
}

async fn get(
    controller: &mut Controller,
) -> Result<GetForwardingPipelineConfigResponse, tonic::Status> {
    let request = GetForwardingPipelineConfigRequest {
        device_id: 1,
        response_type: 0,
    };
    controller
        .call("GetForwardingPipelineConfig", request)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_is_that_of_the_specification() {
    let running = start(false).await;
    let mut controller = Controller::connect(&running.address).await;
    let request = CapabilitiesRequest { device_id: 1 };
    let answer: CapabilitiesResponse = controller
        .call("Capabilities", request)
        .await
        .expect("it answers");
    assert_eq!(answer.p4runtime_api_version, "1.4.0");
    let refused = controller.call::<_, CapabilitiesResponse>("Nothing", request);
    assert_eq!(
        refused.await.expect_err("no call").code(),
        Code::Unimplemented
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_primary_writes_and_the_backup_learns_when_it_goes() {
    let running = start(true).await;
    let mut first = Controller::primary(&running.address, 5).await;
    let mut second = Controller::connect(&running.address).await;
    assert_eq!(second.arbitrate(4).await, Code::AlreadyExists as i32);
    let entry = table(exact(EXACTLY, 5, action(SEND, &[3])));
    let refused = second.write(UpdateType::Insert, vec![entry.clone()]).await;
    assert_eq!(
        refused.expect_err("a backup").code(),
        Code::PermissionDenied
    );
    first
        .write(UpdateType::Insert, vec![entry])
        .await
        .expect("the primary");
    drop(first);
    assert_eq!(second.standing().await, Code::NotFound as i32);
    assert_eq!(second.arbitrate(6).await, Code::Ok as i32);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_forward_packets_and_are_read_as_they_were_written() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let entry = exact(EXACTLY, 5, action(SEND, &[3]));
    let write = controller.write(UpdateType::Insert, vec![table(entry.clone())]);
    write.await.expect("it fits");
    assert_eq!(
        leaves_at(&running, &[1, 5, 0, 0, 0, 0, 0, 0]).await,
        Some(3)
    );
    let read = controller.read(all_of(EXACTLY)).await.expect("it is there");
    assert_eq!(read, [table(entry.clone())]);
    let other = exact(EXACTLY, 5, action(SEND, &[4]));
    let write = controller.write(UpdateType::Modify, vec![table(other)]);
    write.await.expect("it is there");
    assert_eq!(
        leaves_at(&running, &[1, 5, 0, 0, 0, 0, 0, 0]).await,
        Some(4)
    );
    let write = controller.write(UpdateType::Delete, vec![table(entry)]);
    write.await.expect("it is there");
    assert_eq!(leaves_at(&running, &[1, 5, 0, 0, 0, 0, 0, 0]).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_says_of_each_update_what_became_of_it() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let good = exact(EXACTLY, 5, action(SEND, &[3]));
    let wide = exact(EXACTLY, 6, action(SEND, &[3, 0]));
    let fixed = exact("MyIngress.fixed", 9, action(SEND, &[3]));
    let batch = vec![table(good.clone()), table(good), table(wide), table(fixed)];
    let status = controller.write(UpdateType::Insert, batch).await;
    let status = status.expect_err("three fail");
    assert_eq!(status.code(), Code::Unknown);
    let details = RpcStatus::decode(status.details()).expect("a google.rpc.Status");
    let codes = details.details.iter().map(|any| {
        assert_eq!(any.type_url, "type.googleapis.com/p4.v1.Error");
        let error = Error::decode(&*any.value).expect("a p4.v1.Error");
        Code::from(error.canonical_code)
    });
    use Code::{AlreadyExists, Ok, OutOfRange, PermissionDenied};
    let expected = [Ok, AlreadyExists, OutOfRange, PermissionDenied];
    assert_eq!(codes.collect::<Vec<_>>(), expected);
    let read = controller.read(all_of(EXACTLY)).await.expect("it is there");
    assert_eq!(read.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_set_goes_with_its_entry() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let mut entry = exact("MyIngress.selected", 5, action(SEND, &[3]));
    entry.action = Some(action_set(action("MyIngress.set", &[7])));
    for _ in 0..9 {
        let write = controller.write(UpdateType::Insert, vec![table(entry.clone())]);
        write.await.expect("there is room again");
        let read = controller.read(all_of("MyIngress.selected")).await;
        assert_eq!(read.expect("it is there"), [table(entry.clone())]);
        let members = EntityKind::ActionProfileMember(Default::default());
        assert_eq!(controller.read(members).await.expect("none is ours"), []);
        assert_eq!(
            leaves_at(&running, &[6, 5, 0, 0, 0, 0, 0, 0]).await,
            Some(1)
        );
        let write = controller.write(UpdateType::Delete, vec![table(entry.clone())]);
        write.await.expect("it is there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_go_both_ways_with_their_metadata() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let packet = PacketOut {
        payload: vec![8; 8],
        metadata: vec![PacketMetadata {
            metadata_id: 1,
            value: vec![1, 1],
        }],
    };
    controller
        .send(StreamMessageRequestUpdate::Packet(packet))
        .await;
    let sent = running
        .sent
        .recv_timeout(Duration::from_secs(5))
        .expect("it leaves");
    assert_eq!((sent.port, sent.frame), (257, vec![8; 8]));
    let entry = exact(EXACTLY, 6, action("MyIngress.to_cpu", &[9]));
    let write = controller.write(UpdateType::Insert, vec![table(entry)]);
    write.await.expect("it fits");
    let frame = vec![1, 6, 0, 0, 0, 0, 0, 0];
    assert_eq!(leaves_at(&running, &frame).await, None);
    let StreamMessageResponseUpdate::Packet(packet) = controller.next().await else {
        panic!("a packet-in is next");
    };
    assert_eq!(packet.payload, frame);
    let values: Vec<_> = packet.metadata.into_iter().map(|m| m.value).collect();
    assert_eq!(values, [[0], [9]]);
    let port = |value: u8| PacketMetadata {
        metadata_id: 1,
        value: vec![value],
    };
    for (metadata, expected) in [
        (vec![], "the packet-out has no metadata egress_port"),
        (vec![port(1), port(2)], "metadata 1 is there twice"),
    ] {
        let payload = Vec::new();
        let wrong = StreamMessageRequestUpdate::Packet(PacketOut { payload, metadata });
        controller.send(wrong).await;
        let StreamMessageResponseUpdate::Error(error) = controller.next().await else {
            panic!("an error is next");
        };
        assert_eq!(error.message, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn digests_and_idle_entries_are_reported() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let digest_id = id("learned_t");
    let digest = EntityKind::DigestEntry(DigestEntry {
        digest_id,
        config: Some(DigestEntryConfig {
            max_timeout_ns: 0,
            max_list_size: 1,
            ack_timeout_ns: 60_000_000_000,
        }),
    });
    let write = controller.write(UpdateType::Insert, vec![digest]);
    write.await.expect("it fits");
    for _ in 0..2 {
        assert_eq!(
            leaves_at(&running, &[9, 1, 0, 2, 0, 0, 0, 0]).await,
            Some(1)
        );
        let StreamMessageResponseUpdate::Digest(list) = controller.next().await else {
            panic!("a digest is next");
        };
        assert_eq!((list.digest_id, list.data.len()), (digest_id, 1));
        let list_id = list.list_id;
        let ack = DigestListAck { digest_id, list_id };
        controller
            .send(StreamMessageRequestUpdate::DigestAck(ack))
            .await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut entry = exact("MyIngress.aging", 5, action(SEND, &[3]));
    entry.idle_timeout_ns = 50_000_000;
    let write = controller.write(UpdateType::Insert, vec![table(entry.clone())]);
    write.await.expect("it fits");
    for _ in 0..2 {
        let next = controller.next().await;
        let StreamMessageResponseUpdate::IdleTimeoutNotification(idle) = next else {
            panic!("a notification is next");
        };
        assert_eq!(idle.table_entry, [entry.clone()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_is_verified_saved_committed_and_reconciled() {
    use SetForwardingPipelineConfigRequestAction::{
        Commit, ReconcileAndCommit, Verify, VerifyAndCommit, VerifyAndSave,
    };
    let running = start(false).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let none = get(&mut controller).await.expect("none is no error");
    assert_eq!(none.config, None);
    let read = controller.read(all_of(EXACTLY)).await;
    let refused = read.expect_err("there is no pipeline");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let config = ForwardingPipelineConfig {
        p4info: pipeline().p4info().to_vec(),
        p4_device_config: file("json"),
        cookie: None,
    };
    let wrong = ForwardingPipelineConfig {
        p4_device_config: b"{}".to_vec(),
        ..config.clone()
    };
    let refused = set(&mut controller, VerifyAndCommit, Some(wrong.clone())).await;
    assert_eq!(
        refused.expect_err("no program").code(),
        Code::InvalidArgument
    );
    set(&mut controller, Verify, Some(config.clone()))
        .await
        .expect("right");
    let none = get(&mut controller).await.expect("none is no error");
    assert_eq!(none.config, None);
    let refused = set(&mut controller, Commit, None).await;
    assert_eq!(refused.expect_err("none is saved").code(), Code::NotFound);
    set(&mut controller, VerifyAndSave, Some(config.clone()))
        .await
        .expect("right");
    set(&mut controller, Commit, None)
        .await
        .expect("it is saved");
    let read = get(&mut controller).await.expect("it is there");
    assert_eq!(read.config.as_ref(), Some(&config));
    let entry = table(exact(EXACTLY, 5, action(SEND, &[3])));
    let write = controller.write(UpdateType::Insert, vec![entry.clone()]);
    write.await.expect("it fits");
    let refused = set(&mut controller, ReconcileAndCommit, Some(wrong)).await;
    refused.expect_err("no program");
    set(&mut controller, ReconcileAndCommit, Some(config.clone()))
        .await
        .expect("right");
    let read = controller.read(all_of(EXACTLY)).await.expect("it is there");
    assert_eq!(read, [entry]);
    set(&mut controller, VerifyAndCommit, Some(config))
        .await
        .expect("right");
    let read = controller.read(all_of(EXACTLY)).await.expect("it is there");
    assert_eq!(read, []);
}

/// Lets the switch wait until the sender is dropped.
async fn pause(running: &Running) -> std::sync::mpsc::Sender<()> {
    let (resume, paused) = std::sync::mpsc::channel::<()>();
    let wait = move |_: &mut Switch, _| {
        // Nothing is sent: it returns when the sender is gone.
        let _ = paused.recv();
        Vec::new()
    };
    let job = Job::Control(Box::new(wait), None);
    running.jobs.send(job).await.expect("the switch is there");
    while running.jobs.capacity() < running.jobs.max_capacity() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    resume
}

/// Returns when a job waits for the switch.
async fn has_job(running: &Running) {
    while running.jobs.capacity() == running.jobs.max_capacity() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_is_known_although_its_controller_did_not_wait_for_it() {
    let running = start(false).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let resume = pause(&running).await;
    tokio::select! {
        () = controller.set_program() => panic!("the switch waits"),
        () = has_job(&running) => {}
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(resume);
    let known = async {
        loop {
            let got = get(&mut controller).await.expect("it answers");
            if got.config.is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let known = tokio::time::timeout(Duration::from_secs(5), known);
    known.await.expect("the switch runs it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_ends_where_its_sender_is_no_longer_the_primary() {
    let running = start(true).await;
    let mut first = Controller::primary(&running.address, 1).await;
    let mut second = Controller::connect(&running.address).await;
    let resume = pause(&running).await;
    let data = Some(P4Data {
        data: Some(P4DataData::Bitstring(vec![7])),
    });
    let update = EntityKind::RegisterEntry(RegisterEntry {
        register_id: id("MyIngress.kept"),
        index: Some(Index { index: 0 }),
        data,
    });
    let write = first.write(UpdateType::Modify, vec![update; 300]);
    let takes_over = async {
        has_job(&running).await;
        assert_eq!(second.arbitrate(2).await, Code::Ok as i32);
        drop(resume);
    };
    let (written, ()) = tokio::join!(write, takes_over);
    let message = written.expect_err("a part is refused").message().to_owned();
    let begin = "172 of 300 updates failed, the first is 129: only the primary";
    assert!(message.starts_with(begin), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_does_not_read_loses_packets_and_delays_nobody() {
    let running = start(true).await;
    let slow = Controller::primary(&running.address, 1).await;
    for _ in 0..3000 {
        running.reports.packet(vec![0; 1500]);
        tokio::task::yield_now().await;
    }
    let mut other = Controller::connect(&running.address).await;
    assert_eq!(other.arbitrate(2).await, Code::Ok as i32);
    let entry = table(exact(EXACTLY, 5, action(SEND, &[3])));
    let write = other.write(UpdateType::Insert, vec![entry]);
    write.await.expect("the other works");
    assert!(running.reports.lost() > 0);
    drop(slow);
}

#[tokio::test(flavor = "multi_thread")]
async fn registers_are_read_in_all_their_cells() {
    let running = start(true).await;
    let act = |switch: &mut Switch, _| {
        let value = bofuss_p4::Int::Small(258);
        switch
            .externs_mut()
            .set_register(0, 2, &value)
            .expect("there are 4");
        Vec::new()
    };
    running
        .jobs
        .send(Job::Control(Box::new(act), None))
        .await
        .expect("it is there");
    let mut controller = Controller::connect(&running.address).await;
    let asked = EntityKind::RegisterEntry(RegisterEntry::default());
    let read = controller.read(asked).await.expect("it is there");
    let EntityKind::RegisterEntry(third) = &read[2] else {
        panic!("a register");
    };
    assert_eq!(read.len(), 4);
    let data = third.data.as_ref().and_then(|data| data.data.as_ref());
    let bytes = bofuss_p4runtime::wire::entities::P4DataData::Bitstring(vec![1, 2]);
    assert_eq!(data, Some(&bytes));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_end_streams_end_and_no_connection_holds_the_server() {
    let mut running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    drop(running.end.take());
    let end = controller.responses.message().await;
    assert!(matches!(end, Ok(None) | Err(_)), "{end:?}");
    let served = tokio::time::timeout(Duration::from_secs(3), running.served);
    served.await.expect("in time").expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_are_closed_and_come_back_later() {
    let running = start(true).await;
    let mut first = Vec::new();
    for _ in 0..32 {
        first.push(Controller::connect(&running.address).await);
    }
    assert!(!is_served(&running.address).await, "one host has half");
    drop(first);
    for _ in 0..50 {
        if is_served(&running.address).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("those that are closed do not count");
}

/// Whether a new connection stays open for a while.
async fn is_served(address: &str) -> bool {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    // It may be closed already.
    let _ = stream.write_all(b"P").await;
    let read = tokio::time::timeout(Duration::from_millis(300), async {
        let mut some = Vec::new();
        stream.read_to_end(&mut some).await
    });
    read.await.is_err()
}
