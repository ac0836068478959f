//! Auxiliary connections: beside the main one by TCP and UDP, with the rules of section 6.3.6.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bofuss_channel::{ConnId, Event, Hub, Origin, Sender, Settings, Target, Transport};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::{Empty, ErrorMsg, Hello};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Codec, Message, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio::time::timeout;

fn codec() -> Codec {
    Codec::new(Version::V1_3, Arc::default())
}

fn bytes(xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec().encode(xid, message, &mut bytes).unwrap();
    bytes
}

fn hello() -> Vec<u8> {
    bytes(0, &Message::Hello(Hello::offering(&[Version::V1_3])))
}

fn echo(size: usize) -> Message {
    Message::EchoReply(Bytes(vec![9; size]))
}

/// A controller's two sockets on one port, and a hub that connects there.
struct Stage {
    tcp: TcpListener,
    udp: UdpSocket,
    events: mpsc::Receiver<Event>,
    hub: Hub,
    target: Option<Target>,
}

fn settings(auxiliaries: &[&str]) -> Settings {
    let mut settings = Settings::new(Arc::default());
    settings.auxiliaries = auxiliaries.iter().map(|a| a.parse().unwrap()).collect();
    settings
}

impl Stage {
    async fn new(auxiliaries: &[&str]) -> Self {
        let tcp = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let udp = UdpSocket::bind(("127.0.0.1", port)).await.unwrap();
        let (sender, events) = mpsc::channel(16);
        let hub = Hub::new(settings(auxiliaries), sender);
        let target = hub.connect(format!("tcp:127.0.0.1:{port}").parse().unwrap());
        Self {
            tcp,
            udp,
            events,
            hub,
            target: Some(target),
        }
    }

    async fn next(&mut self) -> Event {
        let event = timeout(Duration::from_secs(20), self.events.recv()).await;
        event.expect("an event comes").expect("the hub lives")
    }

    async fn up(&mut self) -> (ConnId, Origin, Sender) {
        match self.next().await {
            Event::Up {
                conn,
                origin,
                sender,
                version: Version::V1_3,
            } => (conn, origin, sender),
            other => panic!("{other:?}"),
        }
    }

    async fn accept(&self) -> (TcpStream, SocketAddr) {
        let (mut peer, from) = self.tcp.accept().await.unwrap();
        peer.read_exact(&mut [0; 16]).await.unwrap();
        peer.write_all(&hello()).await.unwrap();
        (peer, from)
    }

    /// The main connection: up.
    async fn main(&mut self) -> (TcpStream, ConnId, Sender) {
        let (peer, _) = self.accept().await;
        let (conn, origin, sender) = self.up().await;
        assert!(matches!(origin, Origin::Active(_)));
        (peer, conn, sender)
    }

    /// A datagram, and where it comes from.
    async fn datagram(&self) -> (Vec<u8>, SocketAddr) {
        let mut space = [0; 65_535];
        let received = timeout(Duration::from_secs(20), self.udp.recv_from(&mut space)).await;
        let (length, from) = received.expect("a datagram comes").unwrap();
        (space[..length].into(), from)
    }

    /// A main connection and one by UDP beside it: up.
    async fn by_udp(&mut self) -> ((TcpStream, ConnId, Sender), SocketAddr, Sender) {
        let main = self.main().await;
        let (first, from) = self.datagram().await;
        assert_eq!(first, hello());
        self.udp.send_to(&hello(), from).await.unwrap();
        let (_, origin, sender) = self.up().await;
        assert!(origin.is_datagrams());
        (main, from, sender)
    }
}

#[tokio::test]
async fn they_come_after_the_main_connection_with_their_numbers_and_go_with_it() {
    let mut stage = Stage::new(&["udp", "tcp"]).await;
    // Nothing comes before the main connection is set up.
    let (mut main, _) = stage.tcp.accept().await.unwrap();
    let early = timeout(Duration::from_millis(300), stage.datagram()).await;
    assert!(early.is_err());
    main.write_all(&hello()).await.unwrap();
    let (id, _, sender) = stage.up().await;
    let (beside, from) = stage.accept().await;
    assert_eq!(from.ip(), main.local_addr().unwrap().ip());
    let (_, first, _first) = stage.up().await;
    let wanted = Origin::Auxiliary {
        main: id,
        id: 2,
        transport: Transport::Tcp,
        peer: stage.tcp.local_addr().unwrap(),
    };
    assert_eq!(first, wanted);
    assert!(first.to_string().ends_with(" (auxiliary 2)"), "{first}");
    let (_, from) = stage.datagram().await;
    stage.udp.send_to(&hello(), from).await.unwrap();
    let (_, second, last) = stage.up().await;
    assert!(matches!(second, Origin::Auxiliary { id: 1, .. }));

    // One that ends comes again; with the main one, none does.
    drop((beside, last));
    let again = [stage.next().await, stage.next().await];
    assert!(
        again
            .iter()
            .all(|event| matches!(event, Event::Down { .. })),
        "{again:?}"
    );
    let _beside = stage.accept().await;
    let (_, origin, _aux) = stage.up().await;
    assert!(matches!(origin, Origin::Auxiliary { id: 2, .. }));
    stage.target = None;
    drop((main, sender));
    let Event::Down { conn, .. } = stage.next().await else {
        panic!("the main connection is down first");
    };
    assert_eq!(conn, id);
    while timeout(Duration::from_millis(50), stage.datagram())
        .await
        .is_ok()
    {}
    let late = timeout(Duration::from_millis(500), stage.accept()).await;
    assert!(late.is_err(), "nothing connects beside what is gone");
}

#[tokio::test]
async fn what_is_beside_follows_the_settings_and_the_main_connection_stays() {
    let mut stage = Stage::new(&["udp"]).await;
    let ((mut main, id, sender), _, by_udp) = stage.by_udp().await;
    stage.hub.set(settings(&["tcp"]));
    let _beside = stage.accept().await;
    let (_, origin, _first) = stage.up().await;
    assert!(matches!(origin, Origin::Auxiliary { id: 1, main, .. } if main == id));
    // The owner gives up what is not to be any more; it does not come again.
    drop(by_udp);
    assert!(matches!(stage.next().await, Event::Down { conn, .. } if conn != id));
    while let Ok((datagram, _)) = timeout(Duration::from_millis(500), stage.datagram()).await {
        assert_ne!(datagram, hello());
    }
    sender.send(5, Message::BarrierRequest(Empty));
    let mut head = [0; 8];
    main.read_exact(&mut head).await.unwrap();
    assert_eq!(head[1], 20, "the main connection is the same");
}

#[tokio::test]
async fn a_datagram_holds_whole_messages_and_no_message_spans_two() {
    let mut stage = Stage::new(&["udp"]).await;
    let (_main, peer, sender) = stage.by_udp().await;
    // Two messages in one datagram, then a third that is cut off: it is lost, what follows is not.
    let request = |xid| bytes(xid, &Message::BarrierRequest(Empty));
    let mut three = [request(1), request(2)].concat();
    three.extend_from_slice(&request(3)[..6]);
    for datagram in [
        &three[..],
        &[],
        &request(4)[..7],
        &[4, 0, 0, 1, 0, 0, 0, 0],
        &request(5),
    ] {
        stage.udp.send_to(datagram, peer).await.unwrap();
    }
    for wanted in [1, 2, 5] {
        let Event::Message { xid, .. } = stage.next().await else {
            panic!("no message");
        };
        assert_eq!(xid, wanted);
    }
    // Short messages share a datagram, a long message has its own.
    for size in [600, 600, 600, 30_000, 65_000, 65_527, 8] {
        sender.send(7, echo(size));
    }
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < 3 * 608 + 30_008 + 65_008 + 16 {
        let (datagram, _) = stage.datagram().await;
        let mut rest = &datagram[..];
        while !rest.is_empty() {
            let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
            codec().decode(&rest[..length]).unwrap();
            rest = &rest[length..];
        }
        sizes.push(datagram.len());
    }
    // One of 65,535 bytes fits no datagram of IPv4; the connection goes on.
    assert_eq!(sizes[sizes.len() - 3..], [30_008, 65_008, 16], "{sizes:?}");
}

#[tokio::test]
async fn who_lost_the_hello_says_so_and_it_begins_anew() {
    let mut stage = Stage::new(&["udp"]).await;
    let _main = stage.main().await;
    // Another message before HELLO: BAD_VERSION, and a new HELLO.
    let (_, from) = stage.datagram().await;
    let features = bytes(5, &Message::FeaturesRequest(Empty));
    stage.udp.send_to(&features, from).await.unwrap();
    let (error, _) = stage.datagram().await;
    let (xid, Message::Error(error)) = codec().decode(&error).unwrap() else {
        panic!("no error");
    };
    assert_eq!((xid, error.error), (5, BadRequest::BAD_VERSION));
    assert!(matches!(stage.next().await, Event::Failed { .. }));
    let (again, from) = stage.datagram().await;
    assert_eq!(again, hello());
    stage.udp.send_to(&hello(), from).await.unwrap();
    let (_, _, _sender) = stage.up().await;
    // The peer says that it knows of no connection: it ends and begins anew.
    let refused = ErrorMsg::quoting(BadRequest::BAD_VERSION, &features);
    let refused = bytes(0, &Message::Error(refused));
    stage.udp.send_to(&refused, from).await.unwrap();
    let Event::Down { reason, .. } = stage.next().await else {
        panic!("not down");
    };
    assert!(reason.to_string().contains("BAD_VERSION"), "{reason}");
    assert_eq!(stage.datagram().await.0, hello());
    // A HELLO that nobody answers is sent again in less than 5 seconds.
    let start = Instant::now();
    assert_eq!(stage.datagram().await.0, hello());
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn a_controller_of_openflow_1_0_has_none() {
    let mut stage = Stage::new(&["tcp", "udp"]).await;
    let (mut main, _) = stage.tcp.accept().await.unwrap();
    main.write_all(&[1, 0, 0, 8, 0, 0, 0, 0]).await.unwrap();
    let Event::Up {
        version,
        sender: _sender,
        ..
    } = stage.next().await
    else {
        panic!("not up");
    };
    assert_eq!(version, Version::V1_0);
    let none = timeout(Duration::from_millis(300), stage.tcp.accept()).await;
    assert!(none.is_err());
    let none = timeout(Duration::from_millis(50), stage.datagram()).await;
    assert!(none.is_err());
}
