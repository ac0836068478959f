//! TLS between hubs, clients and strangers: who gets in, who does not, and what the log says.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{env, fs};

use bofuss_channel::{
    ActiveAddress, Client, ClientError, Endpoint, Event, HELLO_TIMEOUT, Hub, Listener, Origin,
    Sender, Settings, Tls, TlsFiles,
};
use bofuss_oflib::message::Empty;
use bofuss_oflib::{Message, Version};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType, date_time_ymd,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A CA, its certificate, and the files of those that it made identities for.
struct Ca(Issuer<'static, KeyPair>, String, RefCell<Vec<Files>>);

impl Ca {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mut params = CertificateParams::new([]).unwrap();
        let name = format!("CA {}", COUNT.fetch_add(1, Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self(Issuer::new(params, key), pem, RefCell::default())
    }

    /// A key and a certificate for `name`, changed by `change`; both as PEM.
    fn sign(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let mut params = CertificateParams::new([name.into()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (key.serialize_pem(), certificate.pem())
    }
}

/// A directory with the three files; gone with the value.
struct Files(PathBuf);

impl Files {
    fn new((key, certificate): &(String, String), ca: &Ca) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "bofuss-tls-{}-{}",
            process::id(),
            COUNT.fetch_add(1, Relaxed)
        );
        let this = Self(env::temp_dir().join(name));
        fs::create_dir_all(&this.0).unwrap();
        this.write(&(key.clone(), certificate.clone()), ca);
        this
    }

    /// Replaces the files, as a tool would: each at once.
    fn write(&self, (key, certificate): &(String, String), ca: &Ca) {
        for (name, text) in [("key", key), ("cert", certificate), ("ca", &ca.1)] {
            fs::write(self.0.join("new"), text).unwrap();
            fs::rename(self.0.join("new"), self.0.join(name)).unwrap();
        }
    }

    fn named(&self) -> TlsFiles {
        TlsFiles {
            private_key: self.0.join("key"),
            certificate: self.0.join("cert"),
            ca_cert: self.0.join("ca"),
            any_peer_name: false,
        }
    }

    fn load(&self) -> Tls {
        Tls::load(self.named()).unwrap()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An identity for `name`.
fn identity(ca: &Ca, name: &str) -> Tls {
    load(&ca.sign(name, |_| {}), ca)
}

/// An identity that trusts `ca`.
fn load(pair: &(String, String), ca: &Ca) -> Tls {
    let files = Files::new(pair, ca);
    let tls = files.load();
    ca.2.borrow_mut().push(files);
    tls
}

fn hub(tls: Option<Tls>) -> (Hub, mpsc::Receiver<Event>) {
    let (events, taken) = mpsc::channel(16);
    let mut settings = Settings::new(Arc::default());
    settings.tls = tls;
    (Hub::new(settings, events), taken)
}

async fn listening(kind: &str, tls: Tls) -> (Hub, Listener, mpsc::Receiver<Event>, u16) {
    let (hub, events) = hub(Some(tls));
    let address = format!("{kind}:0").parse().unwrap();
    let listener = hub.listen(&address).await.unwrap();
    let (Endpoint::Tls { port, .. } | Endpoint::Tcp { port, .. }) = listener.address().0 else {
        panic!("a port was asked for");
    };
    (hub, listener, events, port)
}

async fn next(events: &mut mpsc::Receiver<Event>) -> Event {
    let event = timeout(Duration::from_secs(20), events.recv()).await;
    event.expect("an event comes").expect("the hub lives")
}

async fn up(events: &mut mpsc::Receiver<Event>) -> Sender {
    match next(events).await {
        Event::Up { sender, .. } => sender,
        other => panic!("{other:?}"),
    }
}

/// Returns why nobody got in.
async fn failed(events: &mut mpsc::Receiver<Event>) -> String {
    match next(events).await {
        Event::Failed { reason, .. } => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

async fn connect(address: &str, tls: Option<&Tls>) -> Result<Client, ClientError> {
    let address: ActiveAddress = address.parse().unwrap();
    let limit = Duration::from_secs(10);
    Client::connect(&address, Version::SPOKEN, &Arc::default(), tls, limit).await
}

/// Says what the client heard: that it is refused, or why it refuses.
async fn refused(address: &str, tls: Option<&Tls>) -> String {
    let mut client = match connect(address, tls).await {
        Ok(client) => client,
        Err(error) => return error.to_string(),
    };
    // With TLS 1.3 a client hears of it with the first answer.
    let answer = client.request(&Message::BarrierRequest(Empty)).await;
    answer.expect_err("it is refused").to_string()
}

#[tokio::test]
async fn silent_peers_keep_no_authenticated_one_out() {
    let ca = Ca::new();
    let (_hub, _listener, mut events, port) = listening("pssl", identity(&ca, "127.0.0.1")).await;
    let (tool, address) = (identity(&ca, "tool"), format!("ssl:127.0.0.1:{port}"));
    let silent = async |bytes: &[u8]| {
        let mut peer = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        peer.write_all(bytes).await.unwrap();
        peer
    };
    let mut crowd = Vec::new();
    for _ in 0..80 {
        crowd.push(silent(b"").await);
    }
    let arrival = async {
        loop {
            // The oldest of the crowd give way meanwhile.
            match next(&mut events).await {
                Event::Up { sender, .. } => return sender,
                Event::Failed { reason, .. } => {
                    assert!(reason.to_string().contains("gave way"), "{reason}");
                }
                other => panic!("{other:?}"),
            }
        }
    };
    let (client, sender) = tokio::join!(connect(&address, Some(&tool)), arrival);
    let mut client = client.unwrap();
    // More come, which send a byte of TLS and then another; who is in stays.
    for _ in 0..80 {
        crowd.push(silent(&[22]).await);
    }
    for peer in crowd.iter_mut().skip(80) {
        let _ = peer.write_all(&[3]).await;
    }
    let answer = async {
        loop {
            if let Event::Message { xid, .. } = next(&mut events).await {
                sender.send(xid, Message::BarrierReply(Empty));
                return;
            }
        }
    };
    let barrier = Message::BarrierRequest(Empty);
    let (reply, ()) = tokio::join!(client.request(&barrier), answer);
    assert_eq!(reply.unwrap(), Message::BarrierReply(Empty));
}

#[tokio::test]
async fn messages_pass_both_ways_and_end_as_over_tcp() {
    let ca = Ca::new();
    let (_hub, _listener, mut events, port) = listening("pssl", identity(&ca, "switch")).await;
    // The name that a client checks is the host's: here an address.
    let error = refused(
        &format!("ssl:127.0.0.1:{port}"),
        Some(&identity(&ca, "tool")),
    )
    .await;
    assert!(error.contains("is not for 127.0.0.1, but for"), "{error}");
    let text = failed(&mut events).await;
    assert!(
        text.contains("refuses our TLS: our certificate is wrong"),
        "{text}"
    );

    let (_hub, _listener, mut events, port) = listening("pssl", identity(&ca, "127.0.0.1")).await;
    let tool = identity(&ca, "tool");
    let address = format!("ssl:127.0.0.1:{port}");
    let (client, sender) = tokio::join!(connect(&address, Some(&tool)), up(&mut events));
    let mut client = client.unwrap();
    let big = Message::EchoRequest(bofuss_oflib::wire::Bytes(vec![7; 60_000]));
    for _ in 0..100 {
        let answer = async {
            let Event::Message {
                xid,
                message: Message::EchoRequest(data),
                ..
            } = next(&mut events).await
            else {
                panic!("no echo request");
            };
            sender.send(xid, Message::EchoReply(data));
        };
        let (reply, ()) = tokio::join!(client.request(&big), answer);
        assert!(matches!(reply, Ok(Message::EchoReply(data)) if data.0 == [7; 60_000]));
    }
    drop(client);
    let Event::Down { reason, .. } = next(&mut events).await else {
        panic!("not down");
    };
    assert_eq!(reason.to_string(), "the peer closed the connection");
}

#[tokio::test]
async fn a_hub_connects_by_tls_and_any_name_is_allowed_if_asked_for() {
    let ca = Ca::new();
    let (_hub, _listener, mut events, port) = listening("pssl", identity(&ca, "c0.example")).await;
    let address: ActiveAddress = format!("ssl:localhost:{port}").parse().unwrap();
    let (strict, mut its) = hub(Some(identity(&ca, "s0")));
    let target = strict.connect(address.clone());
    let wanted = "TLS: the peer's certificate is not for localhost, but for c0.example: connect by \
                  that name, or accept any with --any-peer-name";
    assert_eq!(failed(&mut its).await, wanted);
    assert!(
        failed(&mut events)
            .await
            .contains("our certificate is wrong")
    );
    drop(target);

    let files = Files::new(&ca.sign("s0", |_| {}), &ca);
    let mut named = files.named();
    named.any_peer_name = true;
    let (lax, mut its) = hub(Some(Tls::load(named).unwrap()));
    let _target = lax.connect(address.clone());
    let (_one, _other) = tokio::join!(up(&mut its), async {
        loop {
            if let Event::Up { sender, .. } = next(&mut events).await {
                return sender;
            }
        }
    });
    // Any name, but not any CA.
    let foreign = Ca::new();
    let files = Files::new(&foreign.sign("s0", |_| {}), &foreign);
    let tls = Tls::load(TlsFiles {
        any_peer_name: true,
        ..files.named()
    });
    let error = refused(&address.to_string(), Some(&tls.unwrap())).await;
    assert!(error.contains("signed by no CA of ours"), "{error}");
}

#[tokio::test]
async fn the_names_of_a_wrong_certificate_are_named_as_far_as_they_are_hosts() {
    let ca = Ca::new();
    let names = ["a.example", "*.b.example", "10.0.0.1", "2001:db8::1"].map(String::from);
    let many = CertificateParams::new(names).unwrap();
    let none = CertificateParams::new([]).unwrap();
    let odd = SanType::URI("spiffe://site/c0".try_into().unwrap());
    let mut with_uri = CertificateParams::default();
    with_uri.subject_alt_names = vec![odd];
    let crowd = (0..20).map(|i| format!("h{i}")).collect::<Vec<_>>();
    let crowd = CertificateParams::new(crowd).unwrap();
    for (params, wanted) in [
        (
            many,
            "but for a.example, *.b.example, 10.0.0.1, 2001:db8::1: connect by that name",
        ),
        (none, "it names no host: accept it with --any-peer-name"),
        (with_uri, "it names no host: accept it with --any-peer-name"),
        (
            crowd,
            "h7 and 12 more: connect by that name, or accept any with --any-peer-name",
        ),
    ] {
        let tls = load(&ca.sign("x", |before| *before = params), &ca);
        let (_hub, _listener, _events, port) = listening("pssl", tls).await;
        let tool = identity(&ca, "tool");
        let error = refused(&format!("ssl:localhost:{port}"), Some(&tool)).await;
        assert!(error.contains("is not for localhost"), "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

#[tokio::test]
async fn expired_foreign_and_early_certificates_and_none_are_refused_with_a_reason() {
    let (ca, foreign) = (Ca::new(), Ca::new());
    let (_hub, _listener, mut events, port) = listening("pssl", identity(&ca, "127.0.0.1")).await;
    let address = format!("ssl:127.0.0.1:{port}");
    type Change = fn(&mut CertificateParams);
    let cases: [(&Ca, Change, &str, &str); 3] = [
        (
            &ca,
            |params| params.not_after = date_time_ymd(2020, 1, 1),
            "the peer's certificate has expired",
            "has expired or is not valid yet",
        ),
        (
            &ca,
            |params| params.not_before = date_time_ymd(2999, 1, 1),
            "the peer's certificate is wrong: certificate not valid yet",
            "has expired or is not valid yet",
        ),
        (
            &foreign,
            |_| {},
            "the peer's certificate is signed by no CA of ours",
            "does not know the CA of our certificate",
        ),
    ];
    for (signer, change, log, alert) in cases {
        let wrong = load(&signer.sign("tool", change), &ca);
        let started = Instant::now();
        let (heard, logged) = tokio::join!(refused(&address, Some(&wrong)), failed(&mut events));
        assert!(logged.contains(log), "{logged}");
        assert!(heard.contains(alert), "{heard}");
        assert!(started.elapsed() < HELLO_TIMEOUT);
        // The other side is as strict.
        let wrong = load(&signer.sign("127.0.0.1", change), &ca);
        let (_hub, _listener, mut theirs, port) = listening("pssl", wrong).await;
        let address = format!("ssl:127.0.0.1:{port}");
        let right = identity(&ca, "tool");
        let (heard, logged) = tokio::join!(refused(&address, Some(&right)), failed(&mut theirs));
        assert!(heard.contains(log), "{heard}");
        assert!(logged.contains(alert), "{logged}");
    }
    let error = connect(&address, None).await.err().unwrap().to_string();
    assert_eq!(error, "TLS: this side has no certificate");
}

#[tokio::test]
async fn a_plain_peer_of_a_tls_port_and_the_reverse_fail_at_once_with_a_reason() {
    let ca = Ca::new();
    let tool = identity(&ca, "tool");
    let (_hub, _listener, mut events, port) = listening("pssl", identity(&ca, "127.0.0.1")).await;
    let started = Instant::now();
    // We are TLS and listen.
    let error = refused(&format!("tcp:127.0.0.1:{port}"), None).await;
    assert_eq!(error, "the peer speaks TLS, and this side plain OpenFlow");
    let text = failed(&mut events).await;
    assert!(text.contains("the peer does not speak TLS"), "{text}");
    // We are plain and listen.
    let (_hub, _listener, mut events, port) = listening("ptcp", tool.clone()).await;
    let error = refused(&format!("ssl:127.0.0.1:{port}"), Some(&tool)).await;
    assert!(error.contains("the peer does not speak TLS"), "{error}");
    let text = failed(&mut events).await;
    assert_eq!(text, "the peer speaks TLS, and this side plain OpenFlow");
    assert!(started.elapsed() < HELLO_TIMEOUT);
}

#[tokio::test]
async fn a_peer_that_says_nothing_on_a_tls_port_is_given_up() {
    let ca = Ca::new();
    let (_hub, _listener, mut events, port) = listening("pssl", identity(&ca, "127.0.0.1")).await;
    let mut peer = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    assert_eq!(failed(&mut events).await, "no TLS within 4 s");
    assert_eq!(peer.read(&mut [0; 8]).await.unwrap(), 0);
    // The same where we connect.
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let (hub, mut events) = hub(Some(identity(&ca, "s0")));
    let port = silent.local_addr().unwrap().port();
    let _target = hub.connect(format!("ssl:127.0.0.1:{port}").parse().unwrap());
    let (mut stream, _) = silent.accept().await.unwrap();
    assert_eq!(failed(&mut events).await, "no TLS within 4 s");
    stream.shutdown().await.unwrap();
}

#[tokio::test]
async fn changed_files_count_for_new_connections_and_leave_the_others_alone() {
    let (old, new) = (Ca::new(), Ca::new());
    let files = Files::new(&old.sign("127.0.0.1", |_| {}), &old);
    let (_hub, _listener, mut events, port) = listening("pssl", files.load()).await;
    let address = format!("ssl:127.0.0.1:{port}");
    let (of_old, of_new) = (identity(&old, "tool"), identity(&new, "tool"));
    let (client, sender) = tokio::join!(connect(&address, Some(&of_old)), up(&mut events));
    let mut client = client.unwrap();

    // Half of a change does no harm.
    fs::write(files.0.join("key"), "no key").unwrap();
    let (again, _) = tokio::join!(connect(&address, Some(&of_old)), async {
        let Event::TlsFiles(Err(error)) = next(&mut events).await else {
            panic!("the wrong key was not told");
        };
        assert!(error.to_string().contains("/key: "), "{error}");
        up(&mut events).await
    });
    drop(again.unwrap());
    assert!(matches!(next(&mut events).await, Event::Down { .. }));

    files.write(&new.sign("127.0.0.1", |_| {}), &new);
    let (other, _sender) = tokio::join!(connect(&address, Some(&of_new)), async {
        assert!(matches!(next(&mut events).await, Event::TlsFiles(Ok(()))));
        up(&mut events).await
    });
    other.unwrap();
    assert!(matches!(next(&mut events).await, Event::Down { .. }));
    let (heard, logged) = tokio::join!(refused(&address, Some(&of_old)), failed(&mut events));
    assert!(heard.contains("signed by no CA of ours"), "{heard}");
    assert!(
        logged.contains("refuses our TLS: it does not know the CA"),
        "{logged}"
    );

    // The first connection never noticed.
    client.send(&Message::BarrierRequest(Empty)).await.unwrap();
    let Event::Message { xid, .. } = next(&mut events).await else {
        panic!("no message");
    };
    sender.send(xid, Message::BarrierReply(Empty));
    assert_eq!(client.next().await.unwrap().1, Message::BarrierReply(Empty));
}

#[test]
fn files_that_are_wrong_are_named() {
    let (ca, other) = (Ca::new(), Ca::new());
    let pair = ca.sign("x", |_| {});
    let files = Files::new(&pair, &ca);
    let says = |wanted: &str| {
        let error = Tls::load(files.named()).map(drop).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    };
    fs::write(files.0.join("key"), &other.sign("y", |_| {}).0).unwrap();
    says("/key: with the certificate: ");
    fs::write(files.0.join("key"), &pair.1).unwrap();
    says("/key: ");
    files.write(&pair, &ca);
    fs::write(files.0.join("ca"), "nothing").unwrap();
    says("/ca: there is no certificate in it");
    fs::remove_file(files.0.join("cert")).unwrap();
    fs::write(files.0.join("ca"), &ca.1).unwrap();
    says("/cert: ");
}

#[tokio::test]
async fn an_auxiliary_connection_by_tls_checks_the_name_of_the_main_one() {
    let ca = Ca::new();
    let (_hub, _listener, mut theirs, port) = listening("pssl", identity(&ca, "localhost")).await;
    let (events, mut ours) = mpsc::channel(16);
    let mut settings = Settings::new(Arc::default());
    settings.tls = Some(identity(&ca, "s0"));
    settings.auxiliaries.push("ssl".parse().unwrap());
    let hub = Hub::new(settings, events);
    let _target = hub.connect(format!("ssl:localhost:{port}").parse().unwrap());
    let mut kept = Vec::new();
    for is_main in [true, false] {
        let (up, sender) = tokio::join!(next(&mut ours), up(&mut theirs));
        let Event::Up { origin, .. } = &up else {
            panic!("{up:?}");
        };
        assert_eq!(is_main, matches!(origin, Origin::Active(_)));
        kept.push((up, sender));
    }
}
