//! Echo requests to silent peers, and when a connection is given up.

use super::*;

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

#[tokio::test(start_paused = true)]
async fn a_peer_in_the_middle_of_a_long_message_is_not_silent() {
    let (mut peer, _sender, mut events) = pair(Duration::from_secs(5)).await;
    let long = echo(&[7; 32]);
    let start = Instant::now();
    for piece in bytes(1, &long).chunks(8) {
        sleep(Duration::from_secs(4)).await;
        peer.write_all(piece).await.unwrap();
    }
    assert_eq!(start.elapsed().as_secs(), 20);
    assert_eq!(message(&mut events).await, (1, long));
    // With nothing more it is.
    assert_eq!(read(&mut peer).await.2, echo(b""));
    assert_eq!(down(&mut events).await, "the peer is inactive");
}
