//! The origins of connections: targets that are connected to again and again, and listeners.

use std::convert::Infallible;
use std::future::pending;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use std::{fmt, fs, io};

use bofuss_oflib::Version;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::connection::{self, HubShared};
use crate::handshake::Established;
use crate::newcomers::{Newcomer, Newcomers, PeerSource};
use crate::places::{ListenerPlace, Places};
use crate::socket::{self, Acceptor, Raw, Route};
use crate::stream::Stream;
use crate::{
    ActiveAddress, Auxiliary, Client, ClientError, ConnId, Endpoint, Event, Origin, PassiveAddress,
    Reason, Settings, Transport,
};

/// The wait after a connection ended or a first try failed; doubled with each further failure.
pub const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// The time after which a connection counts as stable: then waits start again at [`FIRST_BACKOFF`].
pub const STABLE_AFTER: Duration = Duration::from_secs(1);

/// The most bytes on their way in each direction of a connection within the process.
const WITHIN_BYTES: usize = 1 << 16;

/// Makes connections; all their events go into one queue.
///
/// The queue is bounded: when it is full, connections are not read, and take turns as room comes.
/// It may be emptied from a thread outside tokio: `poll_recv` with a waker of one's own.
/// Its methods are called within a tokio runtime.
#[derive(Clone, Debug)]
pub struct Hub {
    shared: HubShared,
    next_id: Arc<AtomicU64>,
}

impl Hub {
    /// A hub that reports to `events`.
    pub fn new(settings: Settings, events: mpsc::Sender<Event>) -> Self {
        Self {
            shared: HubShared {
                settings: watch::Sender::new(Arc::new(settings)),
                events,
                backlogs: Arc::default(),
            },
            next_id: Arc::default(),
        }
    }

    /// Numbers its connections from `first` on, so that none has the number of an earlier one.
    pub fn number_from(&self, first: u64) {
        self.next_id.store(first, Relaxed);
    }

    /// A hub with other settings that reports to the same queue, and names its connections apart.
    pub fn with(&self, settings: Settings) -> Self {
        let mut hub = self.clone();
        hub.shared.settings = watch::Sender::new(Arc::new(settings));
        hub
    }

    /// Uses other settings from now on. Existing connections take over how long a peer may be
    /// silent, and reopen their auxiliary connections if these have changed; everything else
    /// applies to new connections.
    pub fn set(&self, settings: Settings) {
        self.shared.settings.send_replace(Arc::new(settings));
    }

    /// Connects to `address`, and again whenever the connection fails or ends.
    pub fn connect(&self, address: ActiveAddress) -> Target {
        let origin = Origin::Active(address.clone());
        self.target(origin, Goal::Main(address))
    }

    fn target(&self, origin: Origin, goal: Goal) -> Target {
        let (to, pursuit) = watch::channel(Pursuit::Connecting);
        let task = tokio::spawn(self.clone().pursue(origin, goal, to)).abort_handle();
        Target { task, pursuit }
    }

    /// Keeps up the auxiliary connections of a main connection of `version` with this route, as the
    /// settings say. Never returns.
    async fn keep_beside(&self, main: ConnId, route: &Route, version: Version) -> Infallible {
        let mut changes = self.shared.settings.subscribe();
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
            targets.push(self.target(origin, goal));
        }
        targets
    }

    /// Listens on `address`. The file of a unix socket without a listener is replaced.
    ///
    /// Errors: the socket's, with the address before it.
    pub async fn listen(&self, address: &PassiveAddress) -> io::Result<Listener> {
        Ok(self.listen_by(Acceptor::bind(address).await?))
    }

    /// Listens with a socket of another process, of a [`Listener`] for the same address.
    ///
    /// Errors: it is no such socket.
    pub fn listen_on(&self, address: &PassiveAddress, socket: OwnedFd) -> io::Result<Listener> {
        Ok(self.listen_by(Acceptor::adopt(address, socket)?))
    }

    fn listen_by(&self, (acceptor, address): (Acceptor, PassiveAddress)) -> Listener {
        let refused = Arc::new(AtomicU64::new(0));
        let socket = acceptor.socket();
        let accepting = self
            .clone()
            .accept(acceptor, address.clone(), refused.clone());
        Listener {
            address,
            refused,
            socket,
            task: tokio::spawn(accepting).abort_handle(),
        }
    }

    /// A connection within this process, as if its other end had connected to a listener; it speaks
    /// the first of `preferred` that is spoken here.
    ///
    /// Errors: those of [`Client::connect`].
    pub async fn connect_within(
        &self,
        origin: Origin,
        preferred: &[Version],
        timeout: Duration,
    ) -> Result<Client, ClientError> {
        let settings = self.shared.settings();
        let mut spoken = preferred.iter().copied();
        let version = spoken.find(|version| settings.versions.contains(version));
        let version = version.unwrap_or(settings.versions[0]);
        let (ours, other) = tokio::io::duplex(WITHIN_BYTES);
        tokio::spawn(
            self.clone()
                .serve(origin, Raw::Plain(Box::new(other)), None),
        );
        let stream = Box::new(ours);
        let established = Established::new(stream, &[version], &settings.catalogue, false).await?;
        Ok(Client::new(established, timeout))
    }

    /// Connects, runs the connection, and starts again.
    async fn pursue(self, origin: Origin, goal: Goal, pursuit: watch::Sender<Pursuit>) {
        let mut wait = FIRST_BACKOFF;
        let mut last_reported = String::new();
        while !self.shared.events.is_closed() {
            pursuit.send_replace(Pursuit::Connecting);
            match self.reach(&goal).await {
                Ok((established, route)) => {
                    let start = Instant::now();
                    pursuit.send_replace(Pursuit::Connected);
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
                        self.report(Event::Failed { origin, reason }).await;
                    }
                }
            }
            pursuit.send_replace(Pursuit::Waiting {
                failure: (!last_reported.is_empty()).then(|| last_reported.clone()),
                until: Instant::now() + wait,
            });
            sleep(wait).await;
            wait = (2 * wait).min(self.shared.settings().max_backoff);
        }
    }

    /// Connects and agrees on a version.
    async fn reach(&self, goal: &Goal) -> Result<(Established, Option<Route>), Reason> {
        self.refresh_tls().await;
        let settings = self.shared.settings();
        let tls = settings.tls.as_ref();
        match goal {
            Goal::Main(address) => {
                let (stream, route) = socket::open(address, tls).await?;
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
                    self.report(Event::Failed { origin, reason }).await;
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
            let settings = self.shared.settings();
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
                self.report(Event::Failed { origin, reason }).await;
            }
        }
    }

    /// Queues an event for the owner, if there still is one.
    async fn report(&self, event: Event) {
        let _ = self.shared.events.send(event).await;
    }

    /// Makes new connections use the files of TLS as they are now.
    async fn refresh_tls(&self) {
        let Some(tls) = self.shared.settings().tls.clone() else {
            return;
        };
        if let Some(read) = tls.refresh().await {
            self.report(Event::TlsFiles(read)).await;
        }
    }

    async fn establish(&self, stream: Stream) -> Result<Established, Reason> {
        let settings = self.shared.settings();
        Established::new(stream, &settings.versions, &settings.catalogue, false).await
    }

    async fn run(self, origin: Origin, established: Established, route: Option<Route>) {
        let conn = ConnId(self.next_id.fetch_add(1, Relaxed));
        let version = established.codec.version;
        let beside = async {
            match route {
                Some(route) => self.keep_beside(conn, &route, version).await,
                None => pending().await,
            }
        };
        connection::run(&self.shared, conn, origin, established, beside).await;
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
pub struct Target {
    task: AbortHandle,
    pursuit: watch::Receiver<Pursuit>,
}

impl Target {
    /// How the attempts to connect go.
    pub fn pursuit(&self) -> Pursuit {
        self.pursuit.borrow().clone()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How the attempts to connect to a [`Target`] go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pursuit {
    /// It is being connected to.
    Connecting,
    /// It is connected.
    Connected,
    /// The next attempt waits.
    Waiting {
        /// Why the last attempt failed; `None` if it was a connection that has ended.
        failure: Option<String>,
        /// When the next attempt begins.
        until: Instant,
    },
}

impl fmt::Display for Pursuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Connected => f.write_str("connected"),
            Self::Waiting { failure, until } => {
                let seconds = until
                    .saturating_duration_since(Instant::now())
                    .as_secs_f32();
                let why = failure.as_deref().unwrap_or("the connection ended");
                write!(f, "waiting: {why}; next try in {seconds:.1} s")
            }
        }
    }
}

/// An address that is listened on. When dropped, no more peers are accepted, and a unix socket's
/// file is removed; connections that are up stay until their [`Sender`](crate::Sender) is dropped.
#[derive(Debug)]
pub struct Listener {
    address: PassiveAddress,
    refused: Arc<AtomicU64>,
    socket: Option<OwnedFd>,
    task: AbortHandle,
}

impl Listener {
    /// A copy of its socket, for [`Hub::listen_on`] in another process; `None` if its address is a
    /// file, or the system does not copy it.
    pub fn socket(&self) -> Option<OwnedFd> {
        self.socket.as_ref()?.try_clone().ok()
    }

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
        // While it listens, no other listener has put its own file there.
        if let Endpoint::Unix(path) = &self.address.0 {
            // It may be gone already, with its directory.
            let _ = fs::remove_file(path);
        }
        self.task.abort();
    }
}
