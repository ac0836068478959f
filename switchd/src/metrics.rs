//! `--metrics`: serves the switch's counters over HTTP/1.1.

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
use tokio::time::timeout;

use crate::error::{Error, Result, context};

pub use text::{ExpositionFormat, Histogram, Labels, Samples};

/// The longest request in bytes: the minimum that hyper permits.
const MAX_REQUEST_BYTES: usize = 8192;
/// The time that a connection may last in all: the request, its turn, and the answer.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// Most requests that are answered at a time; further ones are not read yet.
const MAX_CONCURRENT_REQUESTS: usize = 4;

/// Where to listen: `[HOST:]PORT`, HOST an IP address, else loopback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub SocketAddr);

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Ok(address) = text.parse() {
            return Ok(Self(address));
        }
        match text.trim_start_matches(':').parse::<u16>() {
            Ok(port) => Ok(Self(SocketAddr::from(([127, 0, 0, 1], port)))),
            Err(_) => Err(format!("{text}: it is PORT, IP:PORT or [IPv6]:PORT").into()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}/metrics", self.0)
    }
}

/// A request for metrics.
pub struct MetricsRequest {
    /// True if it includes the flow entries.
    pub flows: bool,
    /// Receives the answer.
    pub reply: oneshot::Sender<Samples>,
}

/// The listener; it is closed when this is dropped.
pub struct MetricsListener {
    /// Its address.
    pub address: Address,
    task: AbortHandle,
}

impl Drop for MetricsListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts to serve `address`. Errors: a sentence for the user.
pub async fn listen(
    address: Address,
    metrics_requests: mpsc::Sender<MetricsRequest>,
) -> Result<MetricsListener> {
    let option = format!("--metrics {}", address.0);
    let listener = TcpListener::bind(address.0)
        .await
        .map_err(context(&option))?;
    let local = listener.local_addr().map_err(context(&option))?;
    let task = tokio::spawn(accept(listener, metrics_requests)).abort_handle();
    Ok(MetricsListener {
        address: Address(local),
        task,
    })
}

async fn accept(listener: TcpListener, metrics_requests: mpsc::Sender<MetricsRequest>) {
    let newcomers = Newcomers::default();
    let places = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    while !metrics_requests.is_closed() {
        let (stream, newcomer) = newcomers.accept_host(&listener).await;
        let places = places.clone();
        let metrics_requests = metrics_requests.clone();
        tokio::spawn(async move {
            // If the peer is gone or too slow, nobody reads the error.
            let _ = timeout(
                PEER_TIMEOUT,
                serve(stream, newcomer, &places, metrics_requests),
            )
            .await;
        });
    }
}

/// Answers one request.
async fn serve(
    stream: TcpStream,
    newcomer: Newcomer,
    places: &Semaphore,
    metrics_requests: mpsc::Sender<MetricsRequest>,
) {
    let has_place = Notify::new();
    // The permit is held until the answer is written.
    let place = OnceLock::new();
    let has_place = &has_place;
    let place = &place;
    let metrics_requests = &metrics_requests;
    let service = service_fn(move |request| async move {
        let _ = place.set(places.acquire().await);
        has_place.notify_one();
        Ok::<_, Infallible>(answer(&request, metrics_requests).await)
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
        // If the peer is gone, nobody reads the error.
        let _ = connection.await;
    }
}

/// The answer to a request.
async fn answer<B>(
    request: &Request<B>,
    metrics_requests: &mpsc::Sender<MetricsRequest>,
) -> Response<Full<Bytes>> {
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
    let _ = metrics_requests.send(MetricsRequest { flows, reply }).await;
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

/// Returns true if a request asks for flow entries, and returns the format that it accepts.
///
/// Errors: the HTTP status.
fn parse<B>(request: &Request<B>) -> Result<(bool, ExpositionFormat), StatusCode> {
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
        Ok((flows, ExpositionFormat::OpenMetrics))
    } else {
        Ok((flows, ExpositionFormat::Plain))
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
        assert!(address("here").unwrap_err().text.contains("it is PORT"));
        assert!(address("65536").is_err());
    }

    #[tokio::test]
    async fn silent_peers_keep_no_request_waiting_and_requests_have_their_length() {
        let (to, mut metrics_requests) = mpsc::channel::<MetricsRequest>(1);
        let address = "0".parse().expect("a port");
        let listener = listen(address, to).await.expect("a port is free");
        let Address(at) = listener.address;
        tokio::spawn(async move {
            while let Some(request) = metrics_requests.recv().await {
                let _ = request.reply.send(Samples::default());
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
            Ok((true, ExpositionFormat::Plain))
        );
        let new = ask(
            "GET",
            "/metrics",
            "text/plain, Application/OpenMetrics-Text;q=1",
        );
        assert_eq!(new, Ok((false, ExpositionFormat::OpenMetrics)));
    }
}
