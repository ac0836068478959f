//! Messages in order, bad messages, and threads that send and receive without a runtime.

use super::*;

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
