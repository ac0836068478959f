//! Tests of connections over memory, TCP and unix sockets, by theme; here what they share.

mod back_pressure;
mod client;
mod handshake;
mod messages;
mod probes;
mod sockets;

use std::sync::Arc;
use std::time::Duration;

use bofuss_oflib::error::{BadRequest, HelloFailed};
use bofuss_oflib::field::IN_PORT;
use bofuss_oflib::message::multipart::{ReplyBody, RequestBody, TableStats};
use bofuss_oflib::message::{Empty, ErrorMsg, FlowMod, Hello, PacketIn};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Codec, ErrorCode, FieldMatch, Match, Message, PortNo, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::handshake::Established;
use crate::socket::Raw;
use crate::stream::Stream;
use crate::*;

const V1_0: Version = Version::V1_0;

const V1_3: Version = Version::V1_3;

fn codec() -> Codec {
    Codec::new(V1_3, Arc::default())
}

fn bytes(xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec().encode(xid, message, &mut bytes).unwrap();
    bytes
}

fn hello() -> Vec<u8> {
    bytes(0, &Message::Hello(Hello::offering(&[V1_3])))
}

fn echo(data: &[u8]) -> Message {
    Message::EchoRequest(Bytes(data.into()))
}

/// A hub and its events.
fn hub(change: impl FnOnce(&mut Settings)) -> (Hub, mpsc::Receiver<Event>) {
    let (events, taken) = mpsc::channel(16);
    let mut settings = Settings::new(Arc::default());
    change(&mut settings);
    (Hub::new(settings, events), taken)
}

/// A hub that listens on a port of loopback, its events, and the port.
async fn listening() -> (Hub, Listener, mpsc::Receiver<Event>, u16) {
    let (hub, events) = hub(|_| {});
    let address = "ptcp:0".parse().unwrap();
    let listener = hub.listen(&address).await.unwrap();
    let Endpoint::Tcp { port, .. } = listener.address().0 else {
        panic!("a TCP port was asked for");
    };
    (hub, listener, events, port)
}

/// The next event, soon.
async fn next(events: &mut mpsc::Receiver<Event>) -> Event {
    let event = timeout(Duration::from_secs(60), events.recv()).await;
    event.expect("an event comes").expect("the hub lives")
}

async fn up(events: &mut mpsc::Receiver<Event>) -> Sender {
    match next(events).await {
        Event::Up { sender, .. } => sender,
        other => panic!("{other:?}"),
    }
}

async fn message(events: &mut mpsc::Receiver<Event>) -> (u32, Message) {
    match next(events).await {
        Event::Message { xid, message, .. } => (xid, message),
        other => panic!("{other:?}"),
    }
}

async fn down(events: &mut mpsc::Receiver<Event>) -> String {
    match next(events).await {
        Event::Down { reason, .. } => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

async fn failed(events: &mut mpsc::Receiver<Event>) -> String {
    match next(events).await {
        Event::Failed { reason, .. } => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Reads one message.
async fn read(peer: &mut (impl AsyncReadExt + Unpin)) -> (u8, u32, Message) {
    let mut frame = vec![0; 8];
    peer.read_exact(&mut frame).await.unwrap();
    frame.resize(u16::from_be_bytes([frame[2], frame[3]]).into(), 0);
    peer.read_exact(&mut frame[8..]).await.unwrap();
    let version = frame[0];
    frame[0] = V1_3.number();
    let (xid, message) = codec().decode(&frame).unwrap();
    (version, xid, message)
}

/// Reads an error after the HELLO, and then the end; gives code and text.
async fn refusal(peer: &mut (impl AsyncReadExt + Unpin)) -> (u8, ErrorCode, String) {
    assert!(matches!(read(peer).await.2, Message::Hello(_)));
    let (version, _, Message::Error(error)) = read(peer).await else {
        panic!("not an error");
    };
    assert_eq!(peer.read(&mut [0; 8]).await.unwrap(), 0);
    let text = String::from_utf8_lossy(&error.data.0).into_owned();
    (version, error.error, text)
}

/// A connection that is up over memory: the peer's end, and the events.
async fn pair(probe_interval: Duration) -> (DuplexStream, Sender, mpsc::Receiver<Event>) {
    let (hub, mut events) = hub(|settings| settings.probe_interval = probe_interval);
    let (ours, mut peer) = duplex(4096);
    peer.write_all(&hello()).await.unwrap();
    let origin = Origin::Active("unix:memory".parse().unwrap());
    tokio::spawn(hub.serve(origin, Raw::Plain(Box::new(ours)), None));
    let sender = up(&mut events).await;
    assert!(matches!(read(&mut peer).await.2, Message::Hello(_)));
    (peer, sender, events)
}

fn packet_in(size: usize) -> Message {
    Message::PacketIn(PacketIn {
        data: Bytes(vec![0; size]),
        ..PacketIn::default()
    })
}

/// A path of this process that no other test uses.
fn path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("bofuss-channel-{}-{name}", std::process::id()))
}
