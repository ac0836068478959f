//! The client: requests, multipart replies, errors and timeouts.

use super::*;

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
