//! The handshake: versions (OpenFlow 1.3.5 section 6.3.1), malformed HELLOs, other first messages.

use super::*;

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
