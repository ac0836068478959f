//! `--metrics`: answers GET over HTTP/1.1 with what the switch counts.

mod text;

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bofuss_channel::{Newcomer, Newcomers};
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

/// Reads up to the end of a request, or as much as may be.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut request = Vec::new();
    while !is_whole(&request) && request.len() < MAX_REQUEST_BYTES {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    Ok(request)
}

fn is_whole(request: &[u8]) -> bool {
    request.windows(4).any(|part| part == b"\r\n\r\n")
}

async fn serve(
    mut stream: TcpStream,
    newcomer: Newcomer,
    places: &Semaphore,
    wishes: mpsc::Sender<Wish>,
) -> std::io::Result<()> {
    let entry = async {
        let request = read_request(&mut stream).await?;
        let place = places.acquire().await;
        Ok::<_, std::io::Error>((request, place))
    };
    let Some(entered) = newcomer.finish(entry).await else {
        return Ok(());
    };
    let (request, _place) = entered?;
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
    use bofuss_channel::MAX_NEWCOMERS;

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
        assert_eq!(ask(MAX_REQUEST_BYTES + 8192).await, "HTTP/1.1 400");
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
