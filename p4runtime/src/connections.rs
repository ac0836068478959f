//! The server: who may connect, and how it ends.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bofuss_channel::{ListenerPlace, Newcomers, PeerSource, Places, Tls, TlsError};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, Sleep, interval, sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server as GrpcServer;
use tonic::transport::server::Connected;

use crate::device::Device;
use crate::job::{Job, Link, Report, Reports};
use crate::pipeline::Pipeline;
use crate::room::{Peer, Room};
use crate::rpc::Calls;
use crate::service::P4Runtime;
use crate::streams::Streams;

/// Reports of the switch that may wait for the server.
const REPORT_ROOM: usize = 1024;
/// How long a new connection has for its first byte, and from there, after TLS, for the preface of
/// HTTP/2.
const FIRST_BYTE: Duration = Duration::from_secs(5);
/// The length of this preface, in bytes.
const PREFACE: usize = 24;
/// A connection that is silent for so long is asked whether it lives, and has as long to answer.
const SILENCE: Duration = Duration::from_secs(20);
/// A connection is closed after so long without a byte: HTTP/2 asks only who has begun to speak it.
const DEAD: Duration = Duration::from_secs(45);
/// The name of HTTP/2 in ALPN (RFC 9113, section 3.2).
const PROTOCOL: &str = "h2";
/// Calls at once of one connection.
const CALLS: u32 = 32;
/// How often it is looked for lists of digests that are due.
const DIGEST_TICK: Duration = Duration::from_millis(10);
/// How often it is looked for idle entries.
const IDLE_TICK: Duration = Duration::from_millis(250);
/// How long connections have to close at the end.
const LINGER: Duration = Duration::from_secs(1);

/// TLS for connections. Controllers must show a certificate.
pub struct ServerTls {
    /// Who we are and whom we trust; files that change are read again for new connections.
    pub tls: Tls,
    /// Is told that the files changed and were read again, or why not.
    pub report: fn(Result<(), TlsError>),
}

/// What the server is to be.
pub struct Settings {
    /// By which controllers name the switch.
    pub device_id: u64,
    /// Packet-outs enter the program at this port. Without one, they are refused.
    pub cpu_port: Option<u32>,
    /// Without it, connections are plain.
    pub tls: Option<ServerTls>,
}

/// Why a server cannot serve.
#[derive(Debug)]
pub struct ServeError(tonic::transport::Error);

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let source = std::error::Error::source(&self.0);
        match source {
            Some(source) => write!(f, "{}: {source}", self.0),
            None => self.0.fmt(f),
        }
    }
}

impl std::error::Error for ServeError {}

/// A P4Runtime server for one switch.
pub struct Server {
    calls: Calls,
    settings: Settings,
    reports: Reports,
    reported: mpsc::Receiver<Report>,
}

impl Server {
    /// A server for the switch whose thread takes `jobs`. `pipeline` is what the switch runs;
    /// without one, a controller gives it. Returns where the thread reports what is for
    /// controllers, too.
    pub fn new(
        settings: Settings,
        jobs: mpsc::Sender<Job>,
        pipeline: Option<Pipeline>,
    ) -> (Self, Reports) {
        let streams = Streams::new(settings.device_id);
        let device = Device::new(Link(jobs), settings.cpu_port, streams, pipeline);
        let (reports, reported) = Reports::new(REPORT_ROOM);
        let calls = Calls {
            device_id: settings.device_id,
            device,
            long_requests: Arc::default(),
        };
        let server = Self {
            calls,
            settings,
            reports: reports.clone(),
            reported,
        };
        (server, reports)
    }

    /// Serves until `end` is there: then all streams end, and it returns within a second, while
    /// calls in progress may go on. It runs in any tokio runtime with network and time.
    ///
    /// Errors: those of the library, which knows none for a listener.
    pub async fn serve(
        self,
        listener: TcpListener,
        end: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let builder = GrpcServer::builder()
            .max_concurrent_streams(CALLS)
            .http2_keepalive_interval(Some(SILENCE))
            .http2_keepalive_timeout(Some(SILENCE));
        let (accepted, connections) = mpsc::channel(1);
        let accepting = tokio::spawn(accept(listener, self.settings.tls, accepted));
        let device = self.calls.device.clone();
        let reporting = tokio::spawn(report(device.clone(), self.reports, self.reported));
        let looking = tokio::spawn(look_for_idle(device.clone()));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let signal = async {
            // Both mean the end.
            let _ = stopped.await;
        };
        let incoming = ReceiverStream::new(connections);
        let service = P4Runtime {
            calls: self.calls,
            room: Room::of_all(),
        };
        let serving = builder.serve_with_incoming_shutdown(service, incoming, signal);
        let ending = async {
            end.await;
            accepting.abort();
            device.streams.end();
            drop(stop);
            sleep(LINGER).await;
        };
        let served = tokio::select! {
            served = serving => served.map_err(ServeError),
            () = ending => Ok(()),
        };
        accepting.abort();
        reporting.abort();
        looking.abort();
        device.streams.end();
        served
    }
}

/// Accepts connections. One that has sent a byte gets a place, if there is one for its source, and
/// then makes TLS, if there is to be any.
async fn accept(
    listener: TcpListener,
    tls: Option<ServerTls>,
    accepted: mpsc::Sender<io::Result<Connection>>,
) {
    let tls = Arc::new(tls);
    let newcomers = Newcomers::default();
    let places = Places::default();
    loop {
        let (stream, newcomer) = newcomers.accept_host(&listener).await;
        let source = newcomer.source;
        // Else answers wait for the other end's acknowledgements; the builder has no connections of
        // its own for which it could set it.
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        let (accepted, places, tls) = (accepted.clone(), places.clone(), tls.clone());
        tokio::spawn(async move {
            let mut byte = [0];
            let first = timeout(FIRST_BYTE, stream.peek(&mut byte));
            let begins = matches!(newcomer.finish(first).await, Some(Ok(Ok(1))));
            let Some(place) = places.take(source).filter(|_| begins) else {
                return;
            };
            if let Some(stream) = shake(tls.as_ref().as_ref(), stream).await {
                let connection = Connection::new(stream, source, place);
                // At the end, nobody takes it.
                let _ = accepted.send(Ok(connection)).await;
            }
        });
    }
}

/// Makes TLS of a connection, if there is to be any; `None` if the peer is refused, which it learns
/// by an alert.
async fn shake(tls: Option<&ServerTls>, stream: TcpStream) -> Option<Box<dyn Duplex>> {
    let Some(tls) = tls else {
        return Some(Box::new(stream));
    };
    if let Some(read) = tls.tls.refresh().await {
        (tls.report)(read);
    }
    let accepted = tls.tls.accept_for(PROTOCOL, stream).await;
    accepted.ok().map(|stream| Box::new(stream) as _)
}

/// Passes on what the switch reports, and sends what is due.
async fn report(device: Device, reports: Reports, mut reported: mpsc::Receiver<Report>) {
    let lose = |count: u64| (0..count).for_each(|_| reports.lose());
    let mut digests = interval(DIGEST_TICK);
    digests.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            report = reported.recv() => match report {
                Some(report) => {
                    let now = epoch();
                    lose(device.report(report, now));
                    lose(device.send_digests(now));
                }
                None => return,
            },
            _ = digests.tick() => lose(device.send_digests(epoch())),
        }
    }
}

/// Tells controllers of idle entries. It waits for its turns among the requests, and no report for
/// it.
async fn look_for_idle(device: Device) {
    let mut idle = interval(IDLE_TICK);
    idle.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        idle.tick().await;
        // Without a switch or pipeline, nothing is idle.
        drop(device.send_idle(epoch).await);
    }
}

/// The time in µs since 1970.
fn epoch() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

/// A stream of bytes, plain or with TLS.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// A connection, which counts among all until it is closed.
struct Connection {
    stream: Box<dyn Duplex>,
    _place: ListenerPlace,
    peer: Peer,
    /// Bytes that the preface still needs.
    lacks: usize,
    heard: Instant,
    late: Pin<Box<Sleep>>,
}

impl Connection {
    fn new(stream: Box<dyn Duplex>, source: PeerSource, place: ListenerPlace) -> Self {
        let room = Room::of_connection();
        Self {
            stream,
            _place: place,
            peer: Peer { source, room },
            lacks: PREFACE,
            heard: Instant::now(),
            late: Box::pin(sleep(FIRST_BYTE)),
        }
    }

    /// Whether nothing came for too long.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.late.as_mut().poll(cx).is_ready() {
            let until = self.heard + DEAD;
            if self.lacks > 0 || until <= Instant::now() {
                return Poll::Ready(());
            }
            self.late.as_mut().reset(until);
        }
        Poll::Pending
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_pending() {
            let late = self.poll_late(cx);
            return late.map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        self.lacks = self.lacks.saturating_sub(buf.filled().len() - before);
        self.heard = Instant::now();
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
