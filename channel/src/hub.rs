//! The origins of connections: targets that are connected to again and again, and listeners.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use std::{fmt, fs, io};

use bofuss_oflib::{Catalogue, Version};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::auxiliary::Route;
use crate::handshake::Established;
use crate::newcomers::{Newcomer, Newcomers, PeerSource};
use crate::places::{ListenerPlace, Places};
use crate::stream::{self, Acceptor, AddressPair, Raw, Stream};
use crate::{
    ActiveAddress, Auxiliary, ConnId, Endpoint, Event, Origin, PassiveAddress, RateLimit, Reason,
    Tls, Transport, connection,
};

/// The wait after a connection ended or a first try failed; doubled with each further failure.
pub const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// The time after which a connection counts as stable: then waits start again at [`FIRST_BACKOFF`].
pub const STABLE_AFTER: Duration = Duration::from_secs(1);

/// The settings that all connections of a hub have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The versions offered, at least one.
    pub versions: Vec<Version>,
    /// The known fields and experimenters.
    pub catalogue: Arc<Catalogue>,
    /// The time that a peer may be silent before it is asked, and then before it is given up; zero:
    /// for ever.
    pub probe_interval: Duration,
    /// The longest wait between two tries to connect.
    pub max_backoff: Duration,
    /// The auxiliary connections of each main connection to a host, numbered from 1; at most
    /// [`MAX_AUXILIARIES`](crate::MAX_AUXILIARIES).
    pub auxiliaries: Vec<Auxiliary>,
    /// The keys and certificates that `ssl:` and `pssl:` need.
    pub tls: Option<Tls>,
    /// The number of messages of each connection that are served a second; `None`: as many as come.
    /// More are not read.
    pub message_rate: Option<RateLimit>,
    /// The number of packet-ins that each connection gets a second, as [`Sender::takes_packet_in`]
    /// says; `None`: as many as it takes.
    ///
    /// [`Sender::takes_packet_in`]: crate::Sender::takes_packet_in
    pub packet_in_rate: Option<RateLimit>,
    /// True if this side is a switch: what only switches send is refused then, whatever it holds.
    pub is_switch: bool,
    /// The observer of all messages.
    pub watch: Option<Watch>,
}

/// Sees the bytes of messages: how their connection came about, between which addresses it is, and
/// whether they were received or will be sent; one or several whole messages at a time.
#[derive(Clone)]
pub struct Watch(pub Arc<WatchFn>);

/// The function of a [`Watch`].
pub type WatchFn = dyn Fn(&Origin, Option<AddressPair>, bool, &[u8]) + Send + Sync;

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Settings {
    /// All versions spoken, a probe after 5 s, a back-off of at most 8 s.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self {
            versions: Version::SPOKEN.into(),
            catalogue,
            probe_interval: Duration::from_secs(5),
            max_backoff: Duration::from_secs(8),
            auxiliaries: Vec::new(),
            tls: None,
            message_rate: None,
            packet_in_rate: None,
            is_switch: false,
            watch: None,
        }
    }
}

/// Makes connections; all their events go into one queue.
///
/// The queue is bounded: when it is full, connections are not read, and take turns as room comes.
/// It may be emptied from a thread outside tokio: `poll_recv` with a waker of one's own.
/// Its methods are called within a tokio runtime.
#[derive(Clone, Debug)]
pub struct Hub {
    pub(crate) settings: watch::Sender<Arc<Settings>>,
    pub(crate) events: mpsc::Sender<Event>,
    /// Bytes that wait for all peers.
    pub(crate) pending_bytes: Arc<AtomicUsize>,
    next_id: Arc<AtomicU64>,
}

impl Hub {
    /// A hub that reports to `events`.
    pub fn new(settings: Settings, events: mpsc::Sender<Event>) -> Self {
        Self {
            settings: watch::Sender::new(Arc::new(settings)),
            events,
            pending_bytes: Arc::default(),
            next_id: Arc::default(),
        }
    }

    /// A hub with other settings that reports to the same queue, and names its connections apart.
    pub fn with(&self, settings: Settings) -> Self {
        Self {
            settings: watch::Sender::new(Arc::new(settings)),
            ..self.clone()
        }
    }

    /// Uses other settings from now on. Existing connections take over how long a peer may be
    /// silent, and reopen their auxiliary connections if these have changed; everything else
    /// applies to new connections.
    pub fn set(&self, settings: Settings) {
        self.settings.send_replace(Arc::new(settings));
    }

    /// The settings of now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.borrow().clone()
    }

    /// Connects to `address`, and again whenever the connection fails or ends.
    pub fn connect(&self, address: ActiveAddress) -> Target {
        let origin = Origin::Active(address.clone());
        Target(tokio::spawn(self.clone().pursue(origin, Goal::Main(address))).abort_handle())
    }

    /// Keeps up the auxiliary connections of a main connection of `version` with this route, as the
    /// settings say. Never returns.
    pub(crate) async fn keep_beside(
        &self,
        main: ConnId,
        route: &Route,
        version: Version,
    ) -> Infallible {
        let mut changes = self.settings.subscribe();
        loop {
            let wanted = changes.borrow_and_update().auxiliaries.clone();
            let _targets = self.connect_beside(main, route, version, &wanted);
            changes
                .wait_for(|settings| settings.auxiliaries != wanted)
                .await
                .expect("this hub sends");
        }
    }

    /// Opens an auxiliary connection, again and again.
    fn connect_beside(
        &self,
        main: ConnId,
        route: &Route,
        version: Version,
        wanted: &[Auxiliary],
    ) -> Vec<Target> {
        let mut targets = Vec::new();
        if !version.has_auxiliary_connections() {
            return targets;
        }
        for (id, auxiliary) in (1..=u8::MAX).zip(wanted) {
            let mut route = route.clone();
            let transport = auxiliary.transport;
            if let Some(port) = auxiliary.port {
                route.peer.set_port(port);
            }
            let origin = Origin::Auxiliary {
                main,
                id,
                transport,
                peer: route.peer,
            };
            let goal = Goal::Beside(route, transport, version);
            let task = tokio::spawn(self.clone().pursue(origin, goal));
            targets.push(Target(task.abort_handle()));
        }
        targets
    }

    /// Listens on `address`. The file of a unix socket without a listener is replaced.
    ///
    /// Errors: the socket's, with the address before it.
    pub async fn listen(&self, address: &PassiveAddress) -> io::Result<Listener> {
        let (acceptor, address) = Acceptor::bind(address).await?;
        let refused = Arc::new(AtomicU64::new(0));
        let accepting = self
            .clone()
            .accept(acceptor, address.clone(), refused.clone());
        Ok(Listener {
            address,
            refused,
            task: tokio::spawn(accepting).abort_handle(),
        })
    }

    /// Connects, runs the connection, and starts again.
    async fn pursue(self, origin: Origin, goal: Goal) {
        let mut wait = FIRST_BACKOFF;
        let mut last_reported = String::new();
        while !self.events.is_closed() {
            match self.reach(&goal).await {
                Ok((established, route)) => {
                    let start = Instant::now();
                    // A task of its own, which outlives the target.
                    let running = self.clone().run(origin.clone(), established, route);
                    let _ = tokio::spawn(running).await;
                    if start.elapsed() >= STABLE_AFTER {
                        wait = FIRST_BACKOFF;
                    }
                    last_reported.clear();
                }
                Err(reason) => {
                    let text = reason.to_string();
                    if text != last_reported {
                        last_reported = text;
                        let origin = origin.clone();
                        let _ = self.events.send(Event::Failed { origin, reason }).await;
                    }
                }
            }
            sleep(wait).await;
            wait = (2 * wait).min(self.settings().max_backoff);
        }
    }

    /// Connects and agrees on a version.
    async fn reach(&self, goal: &Goal) -> Result<(Established, Option<Route>), Reason> {
        self.refresh_tls().await;
        let settings = self.settings();
        let tls = settings.tls.as_ref();
        match goal {
            Goal::Main(address) => {
                let (stream, route) = stream::open(address, tls).await?;
                Ok((self.establish(stream).await?, route))
            }
            Goal::Beside(route, transport, version) => {
                let stream = route.open(*transport, tls).await?;
                let catalogue = &settings.catalogue;
                let datagrams = *transport == Transport::Udp;
                let agreed = Established::new(stream, &[*version], catalogue, datagrams).await?;
                Ok((agreed, None))
            }
        }
    }

    /// Accepts peers for ever.
    async fn accept(self, acceptor: Acceptor, listener: PassiveAddress, refused: Arc<AtomicU64>) {
        let newcomers = Newcomers::default();
        let places = Places::default();
        loop {
            let listener = listener.clone();
            match acceptor.accept().await {
                Ok((_, _, source)) if !places.has_one_for(source) => {
                    refused.fetch_add(1, Relaxed);
                }
                Ok((stream, peer, source)) => {
                    let entry = Admission {
                        newcomer: newcomers.admit(source),
                        source,
                        places: places.clone(),
                        refused: refused.clone(),
                    };
                    let origin = Origin::Passive { listener, peer };
                    tokio::spawn(self.clone().serve(origin, stream, Some(entry)));
                }
                Err(error) => {
                    let peer = "a peer".into();
                    let origin = Origin::Passive { listener, peer };
                    let reason = Reason::Io(error);
                    let _ = self.events.send(Event::Failed { origin, reason }).await;
                    // No file descriptor is free, as a rule: trying again at once does not help.
                    sleep(FIRST_BACKOFF).await;
                }
            }
        }
    }

    /// Serves one peer to its end. Until the peer has identified itself, it may be dropped for
    /// newer ones; then it holds one of the listener's places.
    pub(crate) async fn serve(self, origin: Origin, stream: Raw, entry: Option<Admission>) {
        let attempt = async {
            self.refresh_tls().await;
            let settings = self.settings();
            let tls = settings.tls.as_ref();
            self.establish(stream.ready(tls).await?).await
        };
        let established = match entry {
            Some(entry) => entry.pass(attempt).await,
            None => attempt.await.map(|established| (established, None)),
        };
        match established {
            Ok((established, _place)) => self.run(origin, established, None).await,
            Err(reason) => {
                let _ = self.events.send(Event::Failed { origin, reason }).await;
            }
        }
    }

    /// Makes new connections use the files of TLS as they are now.
    async fn refresh_tls(&self) {
        let Some(tls) = self.settings().tls.clone() else {
            return;
        };
        if let Some(read) = tls.refresh().await {
            let _ = self.events.send(Event::TlsFiles(read)).await;
        }
    }

    async fn establish(&self, stream: Stream) -> Result<Established, Reason> {
        let settings = self.settings();
        Established::new(stream, &settings.versions, &settings.catalogue, false).await
    }

    async fn run(self, origin: Origin, established: Established, route: Option<Route>) {
        let conn = ConnId(self.next_id.fetch_add(1, Relaxed));
        connection::run(&self, conn, origin, established, route).await;
    }
}

/// The way in which a peer comes to a place of a listener.
pub(crate) struct Admission {
    newcomer: Newcomer,
    source: PeerSource,
    places: Places,
    /// The number of peers that came when there was no place for them.
    refused: Arc<AtomicU64>,
}

impl Admission {
    /// Waits until the peer has said who it is; its place with that. Errors: Displaced, NoPlace, or
    /// why it is not let in.
    async fn pass<T>(
        self,
        attempt: impl Future<Output = Result<T, Reason>>,
    ) -> Result<(T, Option<ListenerPlace>), Reason> {
        let finished = self.newcomer.finish(attempt).await;
        let done = finished.unwrap_or(Err(Reason::Displaced))?;
        let Some(place) = self.places.take(self.source) else {
            self.refused.fetch_add(1, Relaxed);
            return Err(Reason::NoPlace);
        };
        Ok((done, Some(place)))
    }
}

/// The target of a connection attempt.
enum Goal {
    /// A peer, by its address.
    Main(ActiveAddress),
    /// The peer of a main connection, by its route, with the same version.
    Beside(Route, Transport, Version),
}

/// An address that is connected to. When dropped, nothing connects again; a connection that is up
/// stays until its [`Sender`](crate::Sender) is dropped.
#[derive(Debug)]
pub struct Target(AbortHandle);

impl Drop for Target {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An address that is listened on. When dropped, no more peers are accepted, and a unix socket's
/// file is removed; connections that are up stay until their [`Sender`](crate::Sender) is dropped.
#[derive(Debug)]
pub struct Listener {
    address: PassiveAddress,
    refused: Arc<AtomicU64>,
    task: AbortHandle,
}

impl Listener {
    /// The address at which it listens, with the port that the kernel chose.
    pub fn address(&self) -> &PassiveAddress {
        &self.address
    }

    /// The number of peers that were closed at once, past
    /// [`MAX_CONNECTIONS_PER_LISTENER`](crate::MAX_CONNECTIONS_PER_LISTENER) or its source's share.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
        if let Endpoint::Unix(path) = &self.address.0 {
            // It may be gone already, with its directory.
            let _ = fs::remove_file(path);
        }
    }
}
