//! Slow peers and floods: limits of queued bytes, places for messages, and rates.

use super::*;

#[tokio::test]
async fn past_the_limit_of_all_connections_the_one_where_most_waits_is_closed() {
    let (hub, mut events) = hub(|_| {});
    let mut connections = Vec::new();
    for _ in 0..6 {
        let (ours, mut peer) = duplex(4096);
        peer.write_all(&hello()).await.unwrap();
        let origin = Origin::Active("unix:memory".parse().unwrap());
        tokio::spawn(hub.clone().serve(origin, Raw::Plain(Box::new(ours)), None));
        connections.push((peer, up(&mut events).await));
    }
    let fill = |sender: &Sender, limit: usize| {
        while sender.pending_bytes() <= limit && sender.send(0, packet_in(60_000)) {}
    };
    let (burst, slow) = connections.split_last().unwrap();
    for (index, (_, sender)) in slow.iter().enumerate() {
        fill(sender, MAX_TOTAL_PENDING_BYTES / 5 - index * 100_000);
    }
    let total: usize = slow.iter().map(|(_, s)| s.pending_bytes()).sum();
    assert!(total <= MAX_TOTAL_PENDING_BYTES);
    // The connection's task has no turn meanwhile: what was sent still waits.
    fill(&burst.1, MAX_PENDING_BYTES / 2);
    assert!(burst.1.pending_bytes() > MAX_PENDING_BYTES / 2);
    let is_open: Vec<bool> = slow
        .iter()
        .map(|(_, sender)| sender.send(0, packet_in(1)))
        .collect();
    assert_eq!(is_open, [false, true, true, true, true]);
    let reason = down(&mut events).await;
    assert_eq!(reason, "the peer does not read what it is sent");
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
        // A lack of service is not the peer's fault, however long it takes.
        tokio::time::sleep(Duration::from_secs(100)).await;
        let mut held: Vec<Event> = std::iter::from_fn(|| events.try_recv().ok()).collect();
        assert_eq!(held.len(), count);
        held.remove(0);
        assert_eq!(message(&mut events).await.0, count as u32);
    }
}

#[tokio::test(start_paused = true)]
async fn messages_above_the_rate_wait_and_none_is_lost() {
    let rate = RateLimit {
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
        settings.packet_in_rate = Some(RateLimit {
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
