//! Connecting with back-off, and listeners: unix sockets, limits of peers and of sources.

use super::*;

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
                sleep(STABLE_AFTER).await;
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
    sleep(Duration::from_millis(1)).await;
    let Pursuit::Waiting { failure, until } = target.pursuit() else {
        panic!("{}", target.pursuit());
    };
    let wait = until.saturating_duration_since(Instant::now());
    assert_eq!(wait, Duration::from_millis(399));
    assert!(failure.is_some_and(|why| !why.is_empty()));
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
    let error = hub.listen(&address).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(
        error
            .to_string()
            .ends_with("a file is there that is no socket"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = hub.listen(&address).await.unwrap_err();
    assert!(error.to_string().ends_with("a folder is there"), "{error}");
    std::fs::remove_dir(path).unwrap();
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
