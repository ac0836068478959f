//! Controllers that take more than their part: others are served.

mod common;

use std::time::Duration;

use bofuss_p4runtime::wire::entities::{Entity, EntityKind, TableEntry};
use bofuss_p4runtime::wire::messages::{
    MasterArbitrationUpdate, ReadRequest, ReadResponse, Role, StreamMessageRequestUpdate, Uint128,
};
use common::{Controller, start};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn a_preface_that_stops_gives_its_place_to_others() {
    let running = start(true).await;
    let mut half_open = Vec::new();
    for length in [1, 12, 23, 23] {
        let mut stream = TcpStream::connect(&running.address)
            .await
            .expect("it listens");
        let preface = &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..length];
        stream.write_all(preface).await.expect("it reads");
        half_open.push(stream);
    }
    for stream in &mut half_open {
        let ends = async { while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {} };
        timeout(Duration::from_secs(15), ends)
            .await
            .expect("it is closed");
    }
    Controller::primary(&running.address, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_of_too_much_is_refused() {
    let running = start(true).await;
    let mut controller = Controller::primary(&running.address, 1).await;
    let kind = EntityKind::TableEntry(TableEntry::default());
    let entity = Entity { entity: Some(kind) };
    for (count, code) in [(5000, Code::ResourceExhausted), (100_000, Code::OutOfRange)] {
        let request = ReadRequest {
            device_id: 1,
            role: String::new(),
            entities: vec![entity.clone(); count],
        };
        let answer = controller.call::<_, ReadResponse>("Read", request).await;
        assert_eq!(answer.expect_err("too much").code(), code, "{count}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_with_a_long_name_ends_its_stream() {
    let running = start(true).await;
    let mut controller = Controller::connect(&running.address).await;
    let name = "x".repeat(257);
    let update = MasterArbitrationUpdate {
        device_id: 1,
        role: Some(Role {
            name,
            ..Role::default()
        }),
        election_id: Some(Uint128 { high: 0, low: 1 }),
        status: None,
    };
    let update = StreamMessageRequestUpdate::Arbitration(update);
    controller.send(update).await;
    let refused = controller.responses.message().await.expect_err("too long");
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_a_message_ends() {
    let running = start(true).await;
    let mut controller = Controller::connect(&running.address).await;
    let ended = timeout(Duration::from_secs(15), controller.responses.message()).await;
    let ended = ended.expect("in time").expect_err("it is late");
    assert_eq!(ended.code(), Code::DeadlineExceeded);
    Controller::primary(&running.address, 1).await;
}
