//! `--metrics`: answers GET over HTTP/1.1 with what the switch counts.

mod text;

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

pub use text::{Format, Histogram, Labels, Samples};

/// The longest request that is read, in bytes.
const MAX_REQUEST_BYTES: usize = 8192;
/// How long a peer may take for its request, and for the answer.
const PEER_PATIENCE: Duration = Duration::from_secs(10);
/// Peers that are served at a time; more wait.
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
    let places = Arc::new(Semaphore::new(MAX_PEERS));
    while !wishes.is_closed() {
        let place = places.clone().acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let wishes = wishes.clone();
        tokio::spawn(async move {
            // A peer that goes away or takes too long has nobody to be told.
            let _ = timeout(PEER_PATIENCE, serve(stream, wishes)).await;
            drop(place);
        });
    }
}

async fn serve(mut stream: TcpStream, wishes: mpsc::Sender<Wish>) -> std::io::Result<()> {
    let mut request = Vec::new();
    let is_whole = |request: &[u8]| request.windows(4).any(|part| part == b"\r\n\r\n");
    while !is_whole(&request) && request.len() < MAX_REQUEST_BYTES {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let is_whole = is_whole(&request);
    let request = String::from_utf8_lossy(&request);
    let (status, media_type, body) = match parse(&request) {
        _ if !is_whole => ("400 Bad Request", "text/plain", "no request\n".into()),
        Err(status) => (
            status,
            "text/plain",
            "see /metrics, /metrics?flows\n".into(),
        ),
        Ok((flows, format)) => {
            let (reply, answered) = oneshot::channel();
            let _ = wishes.send(Wish { flows, reply }).await;
            match answered.await {
                Ok(samples) => ("200 OK", format.media_type(), samples.text(format)),
                Err(_) => ("503 Service Unavailable", "text/plain", String::new()),
            }
        }
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Whether a request wants the flow entries, and the format that it takes. Errors: the status.
fn parse(request: &str) -> Result<(bool, Format), &'static str> {
    let mut lines = request.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    if words.next() != Some("GET") {
        return Err("405 Method Not Allowed");
    }
    let flows = match words.next().unwrap_or_default() {
        "/metrics" => false,
        "/metrics?flows" | "/metrics?flows=" => true,
        _ => return Err("404 Not Found"),
    };
    let accepts_new = lines.any(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("accept:") && line.contains("application/openmetrics-text")
    });
    match accepts_new {
        true => Ok((flows, Format::OpenMetrics)),
        false => Ok((flows, Format::Plain)),
    }
}

#[cfg(test)]
mod tests {
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
    async fn peers_have_their_places_and_requests_their_length() {
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
        assert_eq!(ask(MAX_REQUEST_BYTES + 8192).await, "HTTP/1.1 400");
        let mut silent = Vec::new();
        for _ in 1..MAX_PEERS {
            silent.push(TcpStream::connect(at).await.expect("it listens"));
        }
        assert_eq!(ask(100).await, "HTTP/1.1 200", "one place is left");
        silent.push(TcpStream::connect(at).await.expect("it listens"));
        assert_eq!(ask(100).await, "nothing");
        silent.clear();
        assert_eq!(ask(100).await, "HTTP/1.1 200");
    }

    #[test]
    fn requests_for_something_else_are_refused() {
        assert_eq!(
            parse("POST /metrics HTTP/1.1\r\n"),
            Err("405 Method Not Allowed")
        );
        assert_eq!(parse("GET / HTTP/1.1\r\n"), Err("404 Not Found"));
        assert_eq!(parse(""), Err("405 Method Not Allowed"));
        let plain = parse("GET /metrics?flows HTTP/1.1\r\nHost: x\r\n");
        assert!(plain == Ok((true, Format::Plain)));
        let new = parse("GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;q=1\r\n");
        assert!(new == Ok((false, Format::OpenMetrics)));
    }
}
