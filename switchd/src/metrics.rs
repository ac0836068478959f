//! `--metrics`: answers GET over HTTP/1.1 with what the switch counts.

mod text;

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bofuss_channel::{Newcomer, Newcomers};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

pub use text::{Format, Histogram, Labels, Samples};

/// The longest request that is read, in bytes; hyper takes no less.
const MAX_REQUEST_BYTES: usize = 8192;
/// How long a peer may take for its request, and for the answer.
const PEER_PATIENCE: Duration = Duration::from_secs(10);
/// Peers that are answered at a time; more wait, among those whose request is not read yet.
const MAX_PEERS: usize = 4;
/// The wait after a peer could not be accepted, which is for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where to listen: `[HOST:]PORT`, HOST an IP address, else loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub SocketAddr);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = || text.trim_start_matches(':').parse::<u16>().ok();
        let local = || port().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let address = text.parse().ok().or_else(local);
        address
            .map(Self)
            .ok_or_else(|| format!("{text}: it is PORT, IP:PORT or [IPv6]:PORT"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}/metrics", self.0)
    }
}

/// What a peer wants to know: with the flow entries or without.
pub struct Wish {
    /// Whether flow entries, too.
    pub flows: bool,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Samples>,
}

/// An address that is listened on, until this is dropped.
pub struct Listener {
    /// Where it listens.
    pub address: Address,
    task: AbortHandle,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens; each request becomes a wish. Errors: a sentence for the user.
pub async fn listen(address: Address, wishes: mpsc::Sender<Wish>) -> Result<Listener, String> {
    let failed = |error| format!("--metrics {}: {error}", address.0);
    let listener = TcpListener::bind(address.0).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    let task = tokio::spawn(accept(listener, wishes)).abort_handle();
    let address = Address(local);
    Ok(Listener { address, task })
}

async fn accept(listener: TcpListener, wishes: mpsc::Sender<Wish>) {
    let newcomers = Newcomers::default();
    let places = Arc::new(Semaphore::new(MAX_PEERS));
    while !wishes.is_closed() {
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let newcomer = newcomers.admit(peer.ip().into());
        let (places, wishes) = (places.clone(), wishes.clone());
        tokio::spawn(async move {
            // A peer that goes away or takes too long has nobody to be told.
            let _ = timeout(PEER_PATIENCE, serve(stream, newcomer, &places, wishes)).await;
        });
    }
}

/// Answers one request of a peer.
async fn serve(
    stream: TcpStream,
    newcomer: Newcomer,
    places: &Semaphore,
    wishes: mpsc::Sender<Wish>,
) {
    let has_place = Notify::new();
    // It is kept until the answer is written.
    let place = OnceLock::new();
    let (has_place, place, wishes) = (&has_place, &place, &wishes);
    let service = service_fn(move |request| async move {
        let _ = place.set(places.acquire().await);
        has_place.notify_one();
        Ok::<_, Infallible>(answer(&request, wishes).await)
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false).max_buf_size(MAX_REQUEST_BYTES);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let entry = async {
        select! {
            biased;
            _ = &mut connection => false,
            () = has_place.notified() => true,
        }
    };
    if newcomer.finish(entry).await == Some(true) {
        // A peer that has gone needs no answer.
        let _ = connection.await;
    }
}

/// What a request is answered with.
async fn answer<B>(request: &Request<B>, wishes: &mpsc::Sender<Wish>) -> Response<Full<Bytes>> {
    let (flows, format) = match parse(request) {
        Ok(wanted) => wanted,
        Err(status) => {
            return text(
                status,
                "text/plain",
                "see /metrics, /metrics?flows\n".into(),
            );
        }
    };
    let (reply, answered) = oneshot::channel();
    let _ = wishes.send(Wish { flows, reply }).await;
    match answered.await {
        Ok(samples) => text(StatusCode::OK, format.media_type(), samples.text(format)),
        Err(_) => text(StatusCode::SERVICE_UNAVAILABLE, "text/plain", String::new()),
    }
}

fn text(status: StatusCode, media_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Whether a request wants the flow entries, and the format that it takes. Errors: the status.
fn parse<B>(request: &Request<B>) -> Result<(bool, Format), StatusCode> {
    if request.method() != Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let flows = match (request.uri().path(), request.uri().query()) {
        ("/metrics", None | Some("")) => false,
        ("/metrics", Some("flows" | "flows=")) => true,
        _ => return Err(StatusCode::NOT_FOUND),
    };
    let mut accepted = request.headers().get_all(ACCEPT).iter();
    let takes_new = accepted.any(|value| {
        let value = value.to_str().unwrap_or_default().to_ascii_lowercase();
        value.contains("application/openmetrics-text")
    });
    if takes_new {
        Ok((flows, Format::OpenMetrics))
    } else {
        Ok((flows, Format::Plain))
    }
}

#[cfg(test)]
mod tests {
    use bofuss_channel::MAX_NEWCOMERS;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn a_port_alone_is_on_loopback() {
        let address = |text: &str| text.parse::<Address>().map(|address| address.0.to_string());
        assert_eq!(address("9101"), Ok("127.0.0.1:9101".into()));
        assert_eq!(address(":9101"), Ok("127.0.0.1:9101".into()));
        assert_eq!(address("0.0.0.0:1"), Ok("0.0.0.0:1".into()));
        assert_eq!(address("[::1]:1"), Ok("[::1]:1".into()));
        assert!(address("here").unwrap_err().contains("it is PORT"));
        assert!(address("65536").is_err());
    }

    #[tokio::test]
    async fn silent_peers_keep_no_request_waiting_and_requests_have_their_length() {
        let (to, mut wishes) = mpsc::channel::<Wish>(1);
        let address = "0".parse().expect("a port");
        let listener = listen(address, to).await.expect("a port is free");
        let Address(at) = listener.address;
        tokio::spawn(async move {
            while let Some(wish) = wishes.recv().await {
                let _ = wish.reply.send(Samples::default());
            }
        });
        let ask = async |length: usize| {
            let mut peer = TcpStream::connect(at).await.expect("it listens");
            let head = "GET /metrics HTTP/1.1\r\nX: ";
            let request = format!("{head}{}\r\n\r\n", "x".repeat(length - head.len() - 4));
            peer.write_all(request.as_bytes())
                .await
                .expect("it is open");
            let mut said = vec![0; 12];
            let read = timeout(Duration::from_millis(500), peer.read_exact(&mut said)).await;
            read.map_or("nothing".into(), |_| {
                String::from_utf8_lossy(&said).into_owned()
            })
        };
        assert_eq!(ask(MAX_REQUEST_BYTES).await, "HTTP/1.1 200");
        assert_eq!(ask(MAX_REQUEST_BYTES + 8192).await, "HTTP/1.1 431");
        let mut silent = Vec::new();
        for _ in 0..2 * MAX_NEWCOMERS {
            silent.push(TcpStream::connect(at).await.expect("it listens"));
        }
        assert_eq!(ask(100).await, "HTTP/1.1 200");
        // The oldest gave way.
        let read = silent[0].read(&mut [0]).await;
        assert!(matches!(read, Ok(0) | Err(_)));
    }

    #[test]
    fn requests_for_something_else_are_refused() {
        let ask = |method: &str, target: &str, accept: &str| {
            let request = Request::builder().method(method).uri(target);
            parse(&request.header(ACCEPT, accept).body(()).expect("it is one"))
        };
        let refused = ask("POST", "/metrics", "*/*");
        assert_eq!(refused, Err(StatusCode::METHOD_NOT_ALLOWED));
        for target in ["/", "/metrics/", "/metrics?flow", "*"] {
            assert_eq!(
                ask("GET", target, "*/*"),
                Err(StatusCode::NOT_FOUND),
                "{target}"
            );
        }
        assert_eq!(
            ask("GET", "/metrics?flows", "text/plain"),
            Ok((true, Format::Plain))
        );
        let new = ask(
            "GET",
            "/metrics",
            "text/plain, Application/OpenMetrics-Text;q=1",
        );
        assert_eq!(new, Ok((false, Format::OpenMetrics)));
    }
}
