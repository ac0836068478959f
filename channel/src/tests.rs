//! Connections over memory, TCP and unix sockets: hello (section 6.3.1), bad input, slow peers,
//! probes, back-off.

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
use crate::stream::{Raw, Stream};
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

#[tokio::test]
async fn versions_are_agreed_by_bitmap_and_by_the_old_rule() {
    let both: &'static [_] = &[V1_0, V1_3];
    type Case = (
        &'static [Version],
        u8,
        Option<u32>,
        Result<Version, &'static str>,
    );
    let cases: &[Case] = &[
        (&[V1_3], 4, Some(1 << 4), Ok(V1_3)),
        (&[V1_3], 4, None, Ok(V1_3)),
        (&[V1_3], 6, None, Ok(V1_3)),
        (&[V1_3], 6, Some(1 << 4 | 1 << 6), Ok(V1_3)),
        (both, 1, None, Ok(V1_0)),
        (both, 5, Some(1 << 1 | 1 << 5), Ok(V1_0)),
        (both, 0x80, None, Ok(V1_3)),
        (
            &[V1_3],
            1,
            None,
            Err("speaks 1.3, the other side 1.0 or less"),
        ),
        (
            &[V1_3],
            6,
            Some(1 << 5 | 1 << 6),
            Err("1.3, the other side 1.4, 1.5"),
        ),
        (&[V1_3], 4, Some(0), Err("1.3, the other side none")),
        (
            both,
            2,
            None,
            Err("speaks 1.0, 1.3, the other side 1.1 or less"),
        ),
        (
            both,
            3,
            Some(1 << 3),
            Err("speaks 1.0, 1.3, the other side 1.2"),
        ),
    ];
    for (ours, header, bitmap, expected) in cases {
        let (stream, mut peer) = duplex(4096);
        let bitmap = bitmap.map_or(Vec::new(), |word| vec![word]);
        let mut hello = bytes(9, &Message::Hello(Hello { bitmap }));
        hello[0] = *header;
        peer.write_all(&hello).await.unwrap();
        let stream: Stream = Box::new(stream);
        let peer_reads = async {
            match expected {
                Ok(_) => None,
                Err(_) => {
                    let told = refusal(&mut peer).await;
                    peer.shutdown().await.unwrap();
                    Some(told)
                }
            }
        };
        let catalogue = Arc::default();
        let establishing = Established::new(stream, ours, &catalogue, false);
        let (established, told) = tokio::join!(establishing, peer_reads);
        match (established, expected) {
            (Ok(established), Ok(version)) => assert_eq!(established.codec.version, *version),
            (Err(reason), Err(text)) => {
                let (version, code, told) = told.expect("the peer was told");
                assert!(reason.to_string().contains(text), "{reason}");
                assert_eq!(told, reason.to_string());
                assert_eq!(code, HelloFailed::INCOMPATIBLE);
                assert_eq!(version, *header.min(&4));
            }
            (established, _) => panic!("{header} {:?}", established.map(|e| e.codec.version)),
        }
    }
}

#[tokio::test]
async fn strangers_are_told_and_closed() {
    let (_hub, _listener, mut events, port) = listening().await;
    let early = bytes(3, &Message::FeaturesRequest(Empty));
    let cases: [(&[u8], ErrorCode, &str); 4] = [
        (
            b"GET / HTTP/1.1\r\n\r\n",
            HelloFailed::INCOMPATIBLE,
            "not HELLO but of type 69",
        ),
        (
            &[0xff; 3000],
            HelloFailed::INCOMPATIBLE,
            "not HELLO but of type 255",
        ),
        (
            &early,
            HelloFailed::INCOMPATIBLE,
            "not HELLO but FEATURES_REQUEST",
        ),
        (&[4, 0, 0, 7, 0, 0, 0, 0], BadRequest::BAD_LEN, "BAD_LEN"),
    ];
    for (sent, code, text) in cases {
        let mut peer = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        peer.write_all(sent).await.unwrap();
        let (_, told, _) = refusal(&mut peer).await;
        drop(peer);
        assert_eq!(told, code);
        let reason = failed(&mut events).await;
        assert!(reason.contains(text), "{reason}");
    }
}

#[tokio::test]
async fn a_hello_with_a_malformed_element_counts_as_far_as_it_can_be_read() {
    let cases: [(u8, &[u8], Version); 6] = [
        // No head, a length below the head's, one behind the end, a bitmap of 3 bytes.
        (4, &[0, 1], V1_3),
        (4, &[0, 1, 0, 2, 0, 0, 0, 0x12], V1_3),
        (4, &[0, 1, 0, 99, 0, 0, 0, 0x12], V1_3),
        (1, &[0, 1, 0, 7, 0, 0, 0, 0], V1_0),
        // A good one counts, before a bad one and behind one that is unknown.
        (6, &[0, 1, 0, 8, 0, 0, 0, 2, 0, 1, 0, 0], V1_0),
        (
            1,
            &[0, 9, 0, 4, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0x12, 0, 1],
            V1_0,
        ),
    ];
    let (_hub, _listener, mut events, port) = listening().await;
    for (header, elements, wanted) in cases {
        let mut peer = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let length = 8 + elements.len() as u8;
        let hello = [&[header, 0, 0, length, 0, 0, 0, 1], elements].concat();
        peer.write_all(&hello).await.unwrap();
        let event = next(&mut events).await;
        let Event::Up {
            version, sender, ..
        } = event
        else {
            panic!("{elements:?}: {event:?}");
        };
        assert_eq!(version, wanted, "{elements:?}");
        drop(sender);
        assert_eq!(down(&mut events).await, "closed by this side");
    }
}

#[tokio::test]
async fn what_only_a_switch_sends_is_refused_by_a_switch_whatever_it_holds() {
    let (hub, mut events) = hub(|settings| settings.is_switch = true);
    for (version, types) in [
        (V1_3, &[6, 8, 10, 11, 12, 19, 21, 23, 25, 27][..]),
        (V1_0, &[6, 8, 10, 11, 12, 17, 19, 21][..]),
    ] {
        let (ours, mut peer) = duplex(4096);
        peer.write_all(&[version.number(), 0, 0, 8, 0, 0, 0, 1])
            .await
            .unwrap();
        let origin = Origin::Active("unix:memory".parse().unwrap());
        tokio::spawn(hub.clone().serve(origin, Raw::Plain(Box::new(ours)), None));
        let _sender = up(&mut events).await;
        // Too short, too long, and as parts of which more follow, more than may be open.
        let bodies: [&[u8]; 3] = [&[], &[9; 40], &[0, 1, 0, 1, 0, 0, 0, 0]];
        for round in 0..10 {
            for (ty, body) in types.iter().flat_map(|ty| bodies.map(|body| (*ty, body))) {
                let length = 8 + body.len() as u8;
                let head = [version.number(), ty, 0, length, 0, 0, round, ty];
                peer.write_all(&[&head, body].concat()).await.unwrap();
                let event = next(&mut events).await;
                let Event::BadMessage { reply, .. } = event else {
                    panic!("{version} {ty} {body:?}: {event:?}");
                };
                let reply = reply.expect("it is answered");
                assert_eq!(reply.error, BadRequest::BAD_TYPE, "{version} {ty} {body:?}");
            }
        }
        drop(peer);
        assert_eq!(down(&mut events).await, "the peer closed the connection");
    }
}

#[tokio::test]
async fn an_error_instead_of_hello_is_shown() {
    let (_hub, _listener, mut events, port) = listening().await;
    let mut peer = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let error = ErrorMsg {
        error: HelloFailed::INCOMPATIBLE,
        data: Bytes(b"only 1.0 here".into()),
    };
    peer.write_all(&bytes(0, &Message::Error(error)))
        .await
        .unwrap();
    let reason = failed(&mut events).await;
    assert!(reason.contains("HELLO_FAILED/INCOMPATIBLE"), "{reason}");
    assert!(reason.contains("only 1.0 here"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_without_hello_is_given_up_after_five_seconds() {
    let (hub, mut events) = hub(|_| {});
    let (ours, _peer) = duplex(4096);
    let start = Instant::now();
    let origin = Origin::Active("unix:memory".parse().unwrap());
    tokio::spawn(hub.serve(origin, Raw::Plain(Box::new(ours)), None));
    assert_eq!(failed(&mut events).await, "no HELLO within 4 s");
    assert_eq!(start.elapsed(), HELLO_TIMEOUT);
}

#[tokio::test]
async fn a_message_in_single_bytes_arrives_whole_and_several_in_one_write_in_order() {
    let (mut peer, _sender, mut events) = pair(Duration::ZERO).await;
    for byte in bytes(5, &echo(b"slow")) {
        peer.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(message(&mut events).await, (5, echo(b"slow")));
    let mut burst = bytes(6, &Message::BarrierRequest(Empty));
    burst.extend(bytes(7, &echo(b"")));
    burst.extend(&bytes(8, &Message::FeaturesRequest(Empty))[..3]);
    peer.write_all(&burst).await.unwrap();
    assert_eq!(message(&mut events).await.0, 6);
    assert_eq!(message(&mut events).await.0, 7);
    drop(peer);
    let reason = down(&mut events).await;
    assert_eq!(
        reason,
        "the peer closed the connection in the middle of a message"
    );
}

#[tokio::test]
async fn the_longest_message_arrives() {
    let (mut peer, _sender, mut events) = pair(Duration::ZERO).await;
    let longest = bytes(1, &echo(&[7; 65_527]));
    assert_eq!(longest.len(), 65_535);
    let sending = peer.write_all(&longest);
    let (sent, received) = tokio::join!(sending, message(&mut events));
    sent.unwrap();
    assert_eq!(received, (1, echo(&[7; 65_527])));
    drop(peer);
    assert_eq!(down(&mut events).await, "the peer closed the connection");
}

// I9
#[tokio::test]
async fn a_bad_message_is_an_event_in_its_order_and_the_next_one_is_read() {
    let (mut peer, _sender, mut events) = pair(Duration::ZERO).await;
    let mut sent = bytes(1, &echo(b"before"));
    sent.extend([4, 77, 0, 80, 0, 0, 0, 2]);
    sent.extend([0xaa; 72]);
    sent.extend([1, 2, 0, 8, 0, 0, 0, 3]);
    sent.extend([4, 1, 0, 9, 0, 0, 0, 9, 0]);
    sent.extend(bytes(4, &echo(b"behind")));
    peer.write_all(&sent).await.unwrap();
    assert_eq!(message(&mut events).await.0, 1);
    for (bad, code) in [(2, BadRequest::BAD_TYPE), (3, BadRequest::BAD_VERSION)] {
        let Event::BadMessage { xid, reply, .. } = next(&mut events).await else {
            panic!("not bad");
        };
        let reply = reply.expect("it is no ERROR");
        assert_eq!((xid, reply.error), (bad, code));
        assert_eq!(reply.data.0.len(), if bad == 2 { 64 } else { 8 });
    }
    // A broken ERROR is never answered.
    let event = next(&mut events).await;
    assert!(
        matches!(
            event,
            Event::BadMessage {
                xid: 9,
                reply: None,
                ..
            }
        ),
        "{event:?}"
    );
    assert_eq!(message(&mut events).await.0, 4);
}

#[tokio::test]
async fn after_an_impossible_length_the_answers_are_written_and_the_connection_closed() {
    let (mut peer, sender, mut events) = pair(Duration::ZERO).await;
    let mut sent = bytes(1, &echo(b"before"));
    sent.extend([4, 2, 0, 7, 0, 0, 0, 2, 99, 99]);
    peer.write_all(&sent).await.unwrap();
    assert_eq!(message(&mut events).await.0, 1);
    let Event::BadMessage { xid, reply, .. } = next(&mut events).await else {
        panic!("not bad");
    };
    assert!(down(&mut events).await.contains("BAD_REQUEST/BAD_LEN"));
    assert!(sender.send(1, Message::EchoReply(Bytes(b"before".into()))));
    assert!(sender.send(xid, Message::Error(reply.expect("it is no ERROR"))));
    drop(sender);
    assert_eq!(read(&mut peer).await.1, 1);
    let (_, xid, Message::Error(error)) = read(&mut peer).await else {
        panic!("not an error");
    };
    assert_eq!((xid, error.error), (2, BadRequest::BAD_LEN));
    assert_eq!(peer.read(&mut [0; 8]).await.unwrap(), 0);
}

#[tokio::test]
async fn dropping_the_last_sender_closes_and_close_does_too() {
    for drops in [true, false] {
        let (mut peer, sender, mut events) = pair(Duration::ZERO).await;
        assert!(sender.send(1, Message::BarrierReply(Empty)));
        let rest = if drops {
            drop(sender);
            None
        } else {
            sender.close();
            Some(sender)
        };
        assert_eq!(down(&mut events).await, "closed by this side");
        drop(rest);
        assert_eq!(read(&mut peer).await.1, 1);
        assert_eq!(peer.read(&mut [0; 8]).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn messages_are_sent_in_order_from_a_thread_without_a_runtime() {
    let (mut peer, sender, _events) = pair(Duration::ZERO).await;
    let clone = sender.clone();
    let thread = std::thread::spawn(move || {
        (0..10_000).for_each(|xid| assert!(clone.send(xid, Message::BarrierReply(Empty))));
    });
    for xid in 0..10_000 {
        assert_eq!(read(&mut peer).await.1, xid);
    }
    thread.join().unwrap();
    while sender.pending_bytes() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Wakes a thread that waits for events in its own way.
struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[tokio::test]
async fn a_thread_without_a_runtime_takes_events_with_a_waker_of_its_own() {
    use std::task::{Context, Poll, Waker};
    let (mut peer, sender, mut events) = pair(Duration::ZERO).await;
    let thread = std::thread::spawn(move || {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match events.poll_recv(&mut context) {
                Poll::Ready(Some(Event::Message { xid, message, .. })) => {
                    assert_eq!(message, Message::BarrierRequest(Empty));
                    assert!(sender.send(xid, Message::BarrierReply(Empty)));
                }
                Poll::Ready(Some(Event::Down { .. })) => return,
                Poll::Ready(other) => panic!("{other:?}"),
                Poll::Pending => std::thread::park(),
            }
        }
    });
    for xid in 0..1000 {
        let request = bytes(xid, &Message::BarrierRequest(Empty));
        peer.write_all(&request).await.unwrap();
        assert_eq!(read(&mut peer).await.1, xid);
    }
    drop(peer);
    while !thread.is_finished() {
        tokio::task::yield_now().await;
    }
    thread.join().unwrap();
}

#[tokio::test]
async fn past_the_limit_of_all_connections_those_that_do_not_read_are_closed() {
    let (hub, mut events) = hub(|_| {});
    let mut connections = Vec::new();
    for _ in 0..10 {
        let (ours, mut peer) = duplex(4096);
        peer.write_all(&hello()).await.unwrap();
        let origin = Origin::Active("unix:memory".parse().unwrap());
        tokio::spawn(hub.clone().serve(origin, Raw::Plain(Box::new(ours)), None));
        connections.push((peer, up(&mut events).await));
    }
    let (small, large) = connections.split_last().unwrap();
    let fill = |sender: &Sender| {
        while sender.pending_bytes() <= MAX_PENDING_BYTES / 2 {
            if !sender.send(0, packet_in(60_000)) {
                return true;
            }
        }
        false
    };
    assert!(large.iter().any(|(_, sender)| fill(sender)));
    let total: usize = large.iter().map(|(_, s)| s.pending_bytes()).sum();
    let most = MAX_TOTAL_PENDING_BYTES + 61_000;
    assert!((MAX_TOTAL_PENDING_BYTES..most).contains(&total));
    assert!(small.1.send(0, packet_in(60_000)));
    let reason = down(&mut events).await;
    assert_eq!(reason, "the peer does not read what it is sent");
}

fn packet_in(size: usize) -> Message {
    Message::PacketIn(PacketIn {
        data: Bytes(vec![0; size]),
        ..PacketIn::default()
    })
}

#[tokio::test]
async fn a_peer_that_never_reads_is_seen_and_past_the_limit_closed() {
    let (_peer, sender, mut events) = pair(Duration::ZERO).await;
    let mut sent = 0;
    while sender.has_room() {
        assert!(sender.send(0, packet_in(1000)));
        sent += 1;
    }
    assert!((300..=ROOM_BYTES / 1000).contains(&sent), "{sent}");
    let mut all = sent;
    while sender.send(0, packet_in(1000)) {
        all += 1;
        assert!(all <= MAX_PENDING_BYTES / 1000);
    }
    assert!(sender.pending_bytes() <= MAX_PENDING_BYTES + 2000);
    assert_eq!(
        down(&mut events).await,
        "the peer does not read what it is sent"
    );
}

#[tokio::test]
async fn ports_that_flood_have_the_same_and_leave_room_for_packet_ins_of_others() {
    let (_peer, sender, _events) = pair(Duration::ZERO).await;
    let fill = |port: u32| {
        let mut count = 0;
        while sender.takes_packet_in(PortNo(port)) {
            let Message::PacketIn(mut message) = packet_in(1000) else {
                unreachable!("it is one");
            };
            message.fields = Match::new(&[FieldMatch::exact(IN_PORT, port.into())]).unwrap();
            assert!(sender.send(0, Message::PacketIn(message)));
            count += 1;
        }
        count
    };
    let one = fill(1);
    // The connection's task has no turn meanwhile: what was sent still waits.
    assert!(
        sender.pending_bytes() <= ROOM_BYTES / 2 + 2000,
        "half is left"
    );
    let others: Vec<usize> = [2, 3, 4].map(fill).into();
    assert_eq!((others[0], others[1]), (one / 2, one / 4));
    assert!(others[2] > 0 && fill(1) == 0);
    assert!(sender.pending_bytes() <= ROOM_BYTES);
}

#[tokio::test]
async fn room_is_announced_once_when_it_was_missed() {
    let (mut peer, sender, mut events) = pair(Duration::ZERO).await;
    while sender.has_room() {
        sender.send(0, packet_in(1000));
    }
    let reader = tokio::spawn(async move { while peer.read(&mut [0; 4096]).await.unwrap() > 0 {} });
    assert!(matches!(next(&mut events).await, Event::Room { .. }));
    assert!(sender.has_room());
    assert!(sender.pending_bytes() <= ROOM_BYTES / 2);
    drop(sender);
    assert_eq!(down(&mut events).await, "closed by this side");
    reader.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_sends_but_never_reads_is_not_read_and_then_given_up() {
    let (mut peer, sender, mut events) = pair(Duration::from_secs(5)).await;
    let request = bytes(1, &echo(&[0; 2000]));
    let mut answered = 0;
    let flood = async { while peer.write_all(&request).await.is_ok() {} };
    let owner = async {
        loop {
            match next(&mut events).await {
                Event::Message { xid, message, .. } => {
                    let Message::EchoRequest(data) = message else {
                        panic!("{message:?}");
                    };
                    answered += 1;
                    sender.send(xid, Message::EchoReply(data));
                }
                Event::Down { reason, .. } => return reason.to_string(),
                other => panic!("{other:?}"),
            }
        }
    };
    let reason = tokio::select! {
        reason = owner => reason,
        () = flood => panic!("the connection ended before its event"),
    };
    assert_eq!(reason, "the peer is inactive");
    assert!((400..600).contains(&answered), "{answered}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_asked_and_then_given_up() {
    let (mut peer, _sender, mut events) = pair(Duration::from_secs(5)).await;
    let start = Instant::now();
    for round in 1..=3 {
        let (_, xid, probe) = read(&mut peer).await;
        assert_eq!(probe, echo(b""));
        assert_eq!(start.elapsed().as_secs(), 5 * round);
        let reply = Message::EchoReply(Bytes::default());
        peer.write_all(&bytes(xid, &reply)).await.unwrap();
    }
    assert_eq!(read(&mut peer).await.2, echo(b""));
    // The answers to our own probes were no events; another's echo reply is one.
    let reply = Message::EchoReply(Bytes::default());
    peer.write_all(&bytes(1, &reply)).await.unwrap();
    assert_eq!(message(&mut events).await, (1, reply));
    assert_eq!(down(&mut events).await, "the peer is inactive");
    assert_eq!(start.elapsed().as_secs(), 20 + 10);
}

/// A connection over TCP with a probe interval of half a second and 2.4 MB that wait for the peer.
async fn with_backlog() -> (TcpStream, Sender, mpsc::Receiver<Event>) {
    let (hub, mut events) = hub(|settings| settings.probe_interval = Duration::from_millis(500));
    let listener = hub.listen(&"ptcp:0".parse().unwrap()).await.unwrap();
    let Endpoint::Tcp { port, .. } = listener.address().0 else {
        panic!("a TCP port was asked for");
    };
    let mut peer = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    peer.write_all(&hello()).await.unwrap();
    let sender = up(&mut events).await;
    let data = Bytes(vec![7; 992]);
    assert!((0..2400).all(|xid| sender.send(xid, Message::EchoReply(data.clone()))));
    (peer, sender, events)
}

#[tokio::test]
async fn a_peer_that_reads_a_long_backlog_steadily_is_not_given_up() {
    let (mut peer, _sender, mut events) = with_backlog().await;
    assert!(matches!(read(&mut peer).await.2, Message::Hello(_)));
    // 800 kB/s: the backlog takes six times the interval.
    let (mut replies, mut probes) = (0, 0);
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    while probes < 2 {
        tick.tick().await;
        for _ in 0..8 {
            let (_, xid, message) = read(&mut peer).await;
            if let Message::EchoReply(_) = message {
                replies += 1;
                continue;
            }
            probes += 1;
            let reply = Message::EchoReply(Bytes::default());
            peer.write_all(&bytes(xid, &reply)).await.unwrap();
            break;
        }
    }
    assert_eq!(replies, 2400);
    assert!(events.try_recv().is_err(), "it is up");
}

#[tokio::test]
async fn a_peer_that_reads_nothing_of_a_long_backlog_is_given_up() {
    let (_peer, _sender, mut events) = with_backlog().await;
    let start = Instant::now();
    assert_eq!(down(&mut events).await, "the peer is inactive");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn without_a_probe_interval_silence_is_fine() {
    let (_peer, _sender, mut events) = pair(Duration::ZERO).await;
    let day = Duration::from_secs(86_400);
    assert!(timeout(day, events.recv()).await.is_err());
}

#[tokio::test]
async fn a_message_that_does_not_fit_is_reported_and_the_next_is_sent() {
    let (mut peer, sender, mut events) = pair(Duration::ZERO).await;
    sender.send(1, packet_in(65_535));
    sender.send(2, Message::BarrierReply(Empty));
    let event = next(&mut events).await;
    assert!(
        matches!(
            event,
            Event::Unsent {
                xid: 1,
                name: "PACKET_IN",
                ..
            }
        ),
        "{event:?}"
    );
    assert_eq!(read(&mut peer).await.1, 2);
}

/// A path of this process that no other test uses.
fn path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("bofuss-channel-{}-{name}", std::process::id()))
}

#[tokio::test(start_paused = true)]
async fn tries_back_off_and_start_again_after_a_connection_that_lasts() {
    let path = path("backoff");
    let listener = UnixListener::bind(&path).unwrap();
    let (hub, mut events) = hub(|settings| settings.max_backoff = Duration::from_millis(1500));
    let address: ActiveAddress = format!("unix:{}", path.display()).parse().unwrap();
    let target = hub.connect(address);
    let mut last = Instant::now();
    let mut waits_ms = Vec::new();
    for round in 0..9 {
        let (mut peer, _) = listener.accept().await.unwrap();
        waits_ms.push(last.elapsed().as_millis());
        if round == 5 || round == 6 {
            peer.write_all(&hello()).await.unwrap();
            let up = up(&mut events).await;
            if round == 6 {
                sleep(LASTING).await;
            }
            drop(up);
            down(&mut events).await;
        }
        drop(peer);
        if round == 0 {
            failed(&mut events).await;
        }
        last = Instant::now();
    }
    assert_eq!(waits_ms, [0, 100, 200, 400, 800, 1500, 1500, 100, 200]);
    drop(target);
    // The same reason was told once before the connection, and once after it.
    failed(&mut events).await;
    sleep(Duration::from_secs(10)).await;
    assert!(events.try_recv().is_err());
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn failures_name_their_reason() {
    let (hub, mut events) = hub(|_| {});
    let free = TcpListener::bind(("::1", 0)).await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    // No resolver needs to ask for a label of 64 letters.
    let label = "a".repeat(64);
    for (address, text) in [
        (format!("tcp:[::1]:{port}"), "refused"),
        ("unix:/nowhere/at/all".into(), "No such file"),
        (
            format!("tcp:{label}"),
            "no address is known for the host \"aaa",
        ),
    ] {
        let target = hub.connect(address.parse().unwrap());
        let reason = failed(&mut events).await;
        assert!(reason.contains(text), "{reason}");
        drop(target);
    }
}

#[tokio::test]
async fn unix_sockets_replace_stale_files_only_and_go_when_dropped() {
    let path = path("stale");
    let address: PassiveAddress = format!("punix:{}", path.display()).parse().unwrap();
    let (hub, mut events) = hub(|_| {});
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listener = hub.listen(&address).await.unwrap();
    let error = hub.listen(&address).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot listen on punix:"), "{error}");
    assert!(error.contains("in use"), "{error}");
    let mut peer = UnixStream::connect(&path).await.unwrap();
    peer.write_all(&hello()).await.unwrap();
    let Event::Failed { .. } = next(&mut events).await else {
        // The second listener's question, whether somebody answers, was a peer too.
        panic!("the question was no failed peer");
    };
    let Event::Up { origin, sender, .. } = next(&mut events).await else {
        panic!("not up");
    };
    let me = format!("process {} on punix:", std::process::id());
    assert!(origin.to_string().starts_with(&me), "{origin}");
    drop(listener);
    assert!(!path.exists());
    // The connection outlives its listener.
    assert!(sender.send(4, Message::BarrierReply(Empty)));
    assert!(matches!(read(&mut peer).await.2, Message::Hello(_)));
    assert_eq!(read(&mut peer).await.1, 4);
    std::fs::write(&path, "precious").unwrap();
    assert!(hub.listen(&address).await.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_listener_holds_its_limit_of_peers_and_each_source_leaves_some_free() {
    let (_hub, listener, mut events, port) = listening().await;
    let from = async |host: u8| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, host], 0).into()).unwrap();
        socket.connect(([127, 0, 0, 1], port).into()).await.unwrap()
    };
    let mut held = Vec::new();
    // Each gets as many as it leaves free, the last the last.
    for (host, count) in [(1, 32), (2, 16), (3, 8), (4, 4), (5, 2), (6, 1), (7, 1)] {
        for _ in 0..count {
            let mut peer = from(host).await;
            peer.write_all(&hello()).await.unwrap();
            held.push((peer, up(&mut events).await));
        }
        let refused = listener.refused();
        assert_eq!(from(host).await.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(listener.refused(), refused + 1);
    }
    assert_eq!(held.len(), MAX_CONNECTIONS_PER_LISTENER);
    held.pop();
    down(&mut events).await;
    let mut peer = from(8).await;
    assert!(matches!(read(&mut peer).await.2, Message::Hello(_)));
}

#[tokio::test]
async fn sources_are_told_apart_in_ipv4_and_ipv6() {
    let (hub, mut events) = hub(|_| {});
    let listener = hub.listen(&"ptcp:0:[::]".parse().unwrap()).await.unwrap();
    let Endpoint::Tcp { port, .. } = listener.address().0 else {
        panic!("not TCP");
    };
    let mut held = Vec::new();
    for (host, count) in [("::1", 32), ("127.0.0.1", 16)] {
        for _ in 0..count {
            let mut peer = TcpStream::connect((host, port)).await.unwrap();
            peer.write_all(&hello()).await.unwrap();
            held.push((peer, up(&mut events).await));
        }
        let mut peer = TcpStream::connect((host, port)).await.unwrap();
        assert_eq!(peer.read(&mut [0; 8]).await.unwrap(), 0, "{host}");
    }
    assert_eq!(listener.refused(), 2);
}

/// A connection that is up, whose owner has much room for events.
async fn flooded(change: impl FnOnce(&mut Settings)) -> (DuplexStream, mpsc::Receiver<Event>) {
    let (events, mut taken) = mpsc::channel(1000);
    let mut settings = Settings::new(Arc::default());
    change(&mut settings);
    let (ours, mut peer) = duplex(1 << 20);
    peer.write_all(&hello()).await.unwrap();
    let origin = Origin::Active("unix:memory".parse().unwrap());
    let hub = Hub::new(settings, events);
    tokio::spawn(hub.serve(origin, Raw::Plain(Box::new(ours)), None));
    // It stays open as long as it is in the queue.
    let sender = up(&mut taken).await;
    tokio::spawn(async move {
        let _open = sender;
        std::future::pending::<()>().await
    });
    (peer, taken)
}

#[tokio::test(start_paused = true)]
async fn as_many_messages_wait_as_there_are_places_and_one_more_is_not_read() {
    let whole = usize::from(u16::MAX) - 8;
    for (payload, count) in [
        (0, MAX_WAITING as usize),
        (whole, MAX_WAITING as usize / 64),
    ] {
        let (mut peer, mut events) = flooded(|_| {}).await;
        for xid in 0..=count as u32 {
            peer.write_all(&bytes(xid, &echo(&vec![0; payload])))
                .await
                .unwrap();
        }
        // That nobody serves them is not the peer's fault, however long it takes.
        tokio::time::sleep(Duration::from_secs(100)).await;
        let mut held: Vec<Event> = std::iter::from_fn(|| events.try_recv().ok()).collect();
        assert_eq!(held.len(), count);
        held.remove(0);
        assert_eq!(message(&mut events).await.0, count as u32);
    }
}

#[tokio::test(start_paused = true)]
async fn messages_above_the_rate_wait_and_none_is_lost() {
    let rate = Rate {
        per_second: 10,
        burst: 3,
    };
    let (mut peer, mut events) = flooded(|settings| settings.message_rate = Some(rate)).await;
    for xid in 0..53 {
        peer.write_all(&bytes(xid, &echo(b""))).await.unwrap();
    }
    let start = Instant::now();
    for xid in 0..53 {
        assert_eq!(message(&mut events).await.0, xid);
        let early = u64::from(xid.saturating_sub(2)) * 100;
        assert_eq!(start.elapsed().as_millis() as u64, early);
    }
}

#[tokio::test(start_paused = true)]
async fn packet_ins_above_the_rate_are_not_taken() {
    let (hub, mut events) = hub(|settings| {
        settings.packet_in_rate = Some(Rate {
            per_second: 100,
            burst: 20,
        });
    });
    let (ours, mut peer) = duplex(4096);
    peer.write_all(&hello()).await.unwrap();
    let origin = Origin::Active("unix:memory".parse().unwrap());
    tokio::spawn(hub.serve(origin, Raw::Plain(Box::new(ours)), None));
    let sender = up(&mut events).await;
    let taken = |port| {
        let takes = |_: &i32| sender.takes_packet_in(PortNo(port));
        (0..100).filter(takes).count()
    };
    // A port has as much of the burst as it leaves free.
    assert_eq!([1, 2, 1].map(taken), [10, 5, 0]);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!([1, 2].map(taken), [2, 3]);
}

/// A switch that answers barriers and table statistics, in three parts, and refuses flow-mods.
async fn switch(mut events: mpsc::Receiver<Event>) {
    let mut sender = None;
    while let Some(event) = events.recv().await {
        let reply = |xid, message| {
            let sender: &Sender = sender.as_ref().expect("up comes first");
            assert!(sender.send(xid, message));
        };
        match event {
            Event::Up { sender: new, .. } => sender = Some(new),
            Event::Down { .. } => sender = None,
            Event::Message { xid, message, .. } => match message {
                Message::BarrierRequest(_) => {
                    reply(77, echo(b"are you there?"));
                    reply(xid, Message::BarrierReply(Empty));
                }
                Message::EchoReply(_) => reply(5, Message::BarrierReply(Empty)),
                Message::MultipartRequest(_) => {
                    let tables = vec![TableStats::default(); 8000];
                    let body = ReplyBody::Table(tables);
                    reply(xid, Message::MultipartReply(body.into()));
                }
                _ => {
                    let error = ErrorMsg::quoting(BadRequest::EPERM, &bytes(xid, &message));
                    reply(xid, Message::Error(error));
                }
            },
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_client_asks_waits_and_collects_errors() {
    let (_hub, listener, events, port) = listening().await;
    tokio::spawn(switch(events));
    let address = format!("tcp:localhost:{port}").parse().unwrap();
    let limit = Duration::from_secs(60);
    let client = Client::connect(&address, &[V1_3], &Arc::default(), None, limit).await;
    let mut client = client.unwrap();
    assert_eq!(client.version(), V1_3);

    let tables = Message::MultipartRequest(RequestBody::Table(Empty).into());
    let Message::MultipartReply(reply) = client.request(&tables).await.unwrap() else {
        panic!("no multipart reply");
    };
    let ReplyBody::Table(list) = reply.body else {
        panic!("no tables");
    };
    assert_eq!(list.len(), 8000);

    let refused = client.request(&Message::FeaturesRequest(Empty)).await;
    let refused = refused.unwrap_err();
    assert!(
        refused.to_string().contains("BAD_REQUEST/EPERM"),
        "{refused}"
    );

    let mods = vec![Message::FlowMod(FlowMod::default()); 600];
    let errors = client.transact(&mods).await.unwrap();
    let places: Vec<_> = errors.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, (0..600).collect::<Vec<_>>());

    // The switch's echo requests were answered, which it shows with a message.
    assert_eq!(
        client.next().await.unwrap(),
        (5, Message::BarrierReply(Empty))
    );
    drop(listener);
}

#[tokio::test(start_paused = true)]
async fn a_client_gives_up_on_a_switch_that_does_not_answer() {
    let path = path("mute");
    let listener = UnixListener::bind(&path).unwrap();
    let address = format!("unix:{}", path.display()).parse().unwrap();
    let limit = Duration::from_secs(2);
    let catalogue = Arc::default();
    let connecting = Client::connect(&address, &[V1_3], &catalogue, None, limit);
    let accepting = async {
        let mut peer = listener.accept().await.unwrap().0;
        peer.write_all(&hello()).await.unwrap();
        peer
    };
    let (client, _peer) = tokio::join!(connecting, accepting);
    let mut client = client.unwrap();
    let error = client.request(&Message::BarrierRequest(Empty)).await;
    assert_eq!(error.unwrap_err().to_string(), "no answer within 2 s");
    std::fs::remove_file(path).unwrap();
}
