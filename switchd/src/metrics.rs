//! `--metrics`: serves the switch's counters over HTTP/1.1.

mod text;

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use hyper::header::ACCEPT;
use hyper::{Method, Request, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::error::{Error, Result, context};
use crate::http::{self, Answer, Refusal, Site};

pub use text::{ExpositionFormat, Histogram, Labels, Samples};

/// The address to listen on: `[HOST:]PORT`, HOST an IP address, else loopback.
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
    let task = tokio::spawn(http::accept(listener, MetricsSite(metrics_requests))).abort_handle();
    Ok(MetricsListener {
        address: Address(local),
        task,
    })
}

/// The metrics of the process, which come by this queue.
struct MetricsSite(mpsc::Sender<MetricsRequest>);

impl Site for MetricsSite {
    type Question = (bool, ExpositionFormat);

    fn read<B>(&self, request: &Request<B>) -> Result<Self::Question, Refusal> {
        parse(request).map_err(|status| (status, "see /metrics, /metrics?flows\n"))
    }

    async fn answer(&self, (flows, format): Self::Question) -> Answer {
        let (reply, answered) = oneshot::channel();
        let _ = self.0.send(MetricsRequest { flows, reply }).await;
        match answered.await {
            Ok(samples) => http::text(StatusCode::OK, format.media_type(), samples.text(format)),
            Err(_) => http::text(StatusCode::SERVICE_UNAVAILABLE, "text/plain", ""),
        }
    }
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
    use std::time::Duration;

    use bofuss_channel::MAX_NEWCOMERS;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;
    use crate::http::MAX_REQUEST_BYTES;

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
