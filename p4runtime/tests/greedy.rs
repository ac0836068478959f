//! Controllers that take more than their part: others are served. A program of its own, because it
//! measures how long they wait.

mod common;

use std::thread;
use std::time::{Duration, Instant};

use bofuss_p4runtime::wire::entities::{Entity, EntityKind, TableEntry};
use bofuss_p4runtime::wire::messages::{
    MasterArbitrationUpdate, ReadRequest, ReadResponse, Role, StreamMessageRequestUpdate, Uint128,
    UpdateType,
};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use crate::common::{Controller, action, exact, start};

#[tokio::test(flavor = "multi_thread")]
async fn a_preface_that_stops_gives_its_place_to_others() {
    let running = start(true).await;
    let mut half_open = Vec::new();
    for length in [1, 12, 23].repeat(20) {
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

/// A connection from an address of this machine.
async fn from_host(host: &str, address: &str) -> Result<Channel, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    let endpoint = endpoint.local_address(Some(host.parse().expect("an address")));
    endpoint.connect().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_leaves_connections_to_others() {
    let running = start(true).await;
    let mut held = Vec::new();
    let mut refused = 0;
    for _ in 0..40 {
        match from_host("127.0.0.1", &running.address).await {
            Ok(channel) if Controller::is_served(channel.clone()).await => held.push(channel),
            _ => refused += 1,
        }
    }
    assert_eq!((held.len(), refused), (32, 8));
    let other = from_host("127.0.0.2", &running.address).await;
    assert!(Controller::is_served(other.expect("it listens")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_give_way_to_others() {
    let running = start(true).await;
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(
            TcpStream::connect(&running.address)
                .await
                .expect("it listens"),
        );
    }
    Controller::primary(&running.address, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_leaves_streams_to_others() {
    let running = start(true).await;
    let first = from_host("127.0.0.1", &running.address).await;
    let first = first.expect("it listens");
    let mut held = Vec::new();
    for _ in 0..31 {
        held.push(Controller::over(first.clone()).await);
    }
    let second = from_host("127.0.0.1", &running.address).await;
    let second = second.expect("it listens");
    held.push(Controller::over(second.clone()).await);
    let status = Controller::opened(second).await.err();
    let status = status.expect("it has half of them");
    assert_eq!(status.code(), Code::ResourceExhausted);
    let other = from_host("127.0.0.2", &running.address).await;
    let mut other = Controller::over(other.expect("it listens")).await;
    assert_eq!(other.arbitrate(1).await, 0);
}

/// Updates of an entry that is not there, as many as a request may have.
fn many_updates() -> Vec<EntityKind> {
    let send = action("MyIngress.send", &[3]);
    let entry = exact("MyIngress.exactly", 77, send);
    let entity = EntityKind::TableEntry(entry);
    let of_one = crate::common::entity(entity.clone()).encoded_len() + 16;
    vec![entity; (4 << 20) / of_one]
}

/// Writes long requests, four at once with the primary's election id and four with one that may not
/// write. It has a thread of its own, as controllers are elsewhere.
fn write_much(address: String) -> thread::JoinHandle<()> {
    let work = async move {
        let mut floods = JoinSet::new();
        for election in [1, 9].repeat(4) {
            let mut other = Controller::connect(&address).await;
            other.election = election;
            floods.spawn(async move { other.write(UpdateType::Delete, many_updates()).await });
        }
        for flood in floods.join_all().await {
            let refused = flood.expect_err("no entry is there");
            let codes = [Code::Unknown, Code::PermissionDenied];
            assert!(codes.contains(&refused.code()), "{refused}");
        }
    };
    thread::spawn(|| Runtime::new().expect("there are threads").block_on(work))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_waits_for_parts_of_long_ones() {
    let running = start(true).await;
    let mut primary = Controller::primary(&running.address, 1).await;
    let floods = write_much(running.address.clone());
    let send = action("MyIngress.send", &[3]);
    let entry = EntityKind::TableEntry(exact("MyIngress.exactly", 5, send));
    let mut kinds = [UpdateType::Insert, UpdateType::Delete].into_iter().cycle();
    let (mut longest, mut beside) = (Duration::ZERO, 0);
    while !floods.is_finished() {
        let begin = Instant::now();
        let kind = kinds.next().expect("they come again");
        let written = primary.write(kind, vec![entry.clone()]).await;
        written.expect("the primary may");
        longest = longest.max(begin.elapsed());
        beside += 1;
        sleep(Duration::from_millis(10)).await;
    }
    floods.join().expect("each was answered");
    println!("{beside} writes beside long ones, the longest waited {longest:?}");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
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

/// Lets other hosts have as many connections as they get, each of which reads all entries and
/// writes without the right to, again and again for so long. Returns how many there were.
fn crowd(address: String, lasts: Duration) -> thread::JoinHandle<usize> {
    let work = async move {
        let mut busy = JoinSet::new();
        let until = Instant::now() + lasts;
        for host in 2..6 {
            for _ in 0..32 {
                let host = format!("127.0.0.{host}");
                let channel = from_host(&host, &address).await;
                let Ok(channel) = channel else { break };
                if !Controller::is_served(channel.clone()).await {
                    break;
                }
                busy.spawn(async move {
                    let mut other = Controller::opened(channel).await.ok()?;
                    while Instant::now() < until {
                        let all = EntityKind::TableEntry(TableEntry::default());
                        other.read(all).await.ok()?;
                        let send = action("MyIngress.send", &[3]);
                        let entry = EntityKind::TableEntry(exact("MyIngress.exactly", 9, send));
                        let written = other.write(UpdateType::Insert, vec![entry]).await;
                        let refused = written.expect_err("it is no primary");
                        assert_eq!(refused.code(), Code::PermissionDenied);
                    }
                    Some(())
                });
            }
        }
        let did = busy.join_all().await;
        did.into_iter().flatten().count()
    };
    thread::spawn(|| Runtime::new().expect("there are threads").block_on(work))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_primary_waits_shortly_beside_all_connections_of_others() {
    let running = start(true).await;
    let mut primary = Controller::primary(&running.address, 1).await;
    let entry = |key| {
        let send = action("MyIngress.send", &[3]);
        EntityKind::TableEntry(exact("MyIngress.exactly", key, send))
    };
    let entries = (10..70).map(entry).collect();
    let written = primary.write(UpdateType::Insert, entries).await;
    written.expect("there is room");
    let others = crowd(running.address.clone(), Duration::from_secs(4));
    let mut kinds = [UpdateType::Insert, UpdateType::Delete].into_iter().cycle();
    let (mut longest, mut beside) = (Duration::ZERO, 0);
    while !others.is_finished() {
        let begin = Instant::now();
        let kind = kinds.next().expect("they come again");
        let written = primary.write(kind, vec![entry(5)]).await;
        written.expect("the primary may");
        longest = longest.max(begin.elapsed());
        beside += 1;
        sleep(Duration::from_millis(5)).await;
    }
    let others = others.join().expect("each was answered");
    println!("{beside} writes beside {others} connections, the longest waited {longest:?}");
    assert!(others > 50, "{others} connections");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
}
