//! The client: requests, multipart replies, errors and timeouts.

use super::*;

/// The type of the message.
const MULTIPART_REQUEST: u8 = 18;

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

/// A client with a timeout of 2 s, and its peer, which has sent its HELLO.
async fn connected(name: &str) -> (Client, UnixStream) {
    let path = path(name);
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
    let (client, peer) = tokio::join!(connecting, accepting);
    std::fs::remove_file(path).unwrap();
    (client.unwrap(), peer)
}

#[tokio::test(start_paused = true)]
async fn a_client_gives_up_on_a_switch_that_does_not_answer() {
    let (mut client, _peer) = connected("mute").await;
    let error = client.request(&Message::BarrierRequest(Empty)).await;
    assert_eq!(error.unwrap_err().to_string(), "no answer within 2 s");
}

#[tokio::test(start_paused = true)]
async fn a_client_waits_for_each_part_of_a_long_reply_anew() {
    let (mut client, mut peer) = connected("slow").await;
    let tables = Message::MultipartRequest(RequestBody::Table(Empty).into());
    let body = ReplyBody::Table(vec![TableStats::default(); 8000]);
    let message = Message::MultipartReply(body.into());
    let answering = async {
        let mut header = [0; 8];
        while header[1] != MULTIPART_REQUEST {
            peer.read_exact(&mut header).await.unwrap();
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            peer.read_exact(&mut vec![0; length - header.len()])
                .await
                .unwrap();
        }
        let xid = u32::from_be_bytes(header[4..].try_into().unwrap());
        let reply = bytes(xid, &message);
        let mut rest = &reply[..];
        while !rest.is_empty() {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
            peer.write_all(&rest[..length]).await.unwrap();
            rest = &rest[length..];
        }
    };
    let (received, ()) = tokio::join!(client.request(&tables), answering);
    assert!(matches!(received, Ok(Message::MultipartReply(_))));
}

/// A peer that sends a packet-in each second and answers nothing.
async fn chatting(mut peer: UnixStream) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        peer.write_all(&bytes(0, &packet_in(60))).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn other_messages_do_not_prolong_the_wait_for_an_answer() {
    let (mut client, peer) = connected("chatting").await;
    let chatting = tokio::spawn(chatting(peer));
    let barrier = Message::BarrierRequest(Empty);
    for asked in 0..3 {
        let start = Instant::now();
        let error = match asked {
            0 => client.request(&barrier).await.err(),
            1 => client.exchange(&barrier).await.err(),
            _ => client
                .transact(&[Message::FlowMod(FlowMod::default())])
                .await
                .err(),
        };
        let error = error.expect("there is no answer").to_string();
        assert_eq!(error, "no answer within 2 s");
        assert_eq!(start.elapsed().as_secs(), 2);
    }
    chatting.abort();
    let kept = client.next().await.unwrap();
    assert!(matches!(kept, (0, Message::PacketIn(_))));
}
