//! HTTP/1.1 for few readers: one request a connection, in bounded memory and time.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bofuss_channel::{Newcomer, Newcomers};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::select;
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

/// The longest request in bytes: the minimum that hyper permits.
pub const MAX_REQUEST_BYTES: usize = 8192;
/// The time that a peer may take until it has its turn, and again to read the answer.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// Most requests that are answered at a time; further ones are not read yet.
const MAX_CONCURRENT_REQUESTS: usize = 4;

/// An answer.
pub type Answer = Response<Full<Bytes>>;

/// Why a request is refused: the status, and a line for whoever sent it.
pub type Refusal = (StatusCode, &'static str);

/// What is served.
pub trait Site: Send + Sync + 'static {
    /// What a request asks for.
    type Question: Send;

    /// Reads a request. Errors: why it is refused, which needs no turn.
    fn read<B>(&self, request: &Request<B>) -> Result<Self::Question, Refusal>;

    /// Answers a request, in its turn.
    fn answer(&self, question: Self::Question) -> impl Future<Output = Answer> + Send;
}

/// An answer of this text.
pub fn text(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let media_type = HeaderValue::from_static(media_type);
    answer.headers_mut().insert(CONTENT_TYPE, media_type);
    answer
}

/// The answer to a request that is refused.
fn refused((status, line): Refusal) -> Answer {
    let mut answer = text(status, "text/plain", line);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        // RFC 9110 section 15.5.6: the answer says which methods there are.
        answer
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET"));
    }
    answer
}

/// Serves the connections of a listener, for ever.
pub async fn accept(listener: TcpListener, site: impl Site) {
    let newcomers = Newcomers::default();
    let places = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    let site = Arc::new(site);
    loop {
        let (stream, newcomer) = newcomers.accept_host(&listener).await;
        let places = places.clone();
        let site = site.clone();
        tokio::spawn(async move {
            serve(stream, newcomer, &places, &*site).await;
        });
    }
}

/// Answers one request.
async fn serve(stream: TcpStream, newcomer: Newcomer, places: &Semaphore, site: &impl Site) {
    let has_place = Notify::new();
    let has_answer = Notify::new();
    // The permit is held until the answer is written.
    let place = OnceLock::new();
    let has_place = &has_place;
    let has_answer = &has_answer;
    let place = &place;
    let service = service_fn(move |request| async move {
        let question = match site.read(&request) {
            Ok(question) => question,
            Err(refusal) => return Ok(refused(refusal)),
        };
        let _ = place.set(places.acquire().await);
        has_place.notify_one();
        let answer = site.answer(question).await;
        has_answer.notify_one();
        Ok::<_, Infallible>(answer)
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
    if newcomer.finish(timeout(PEER_TIMEOUT, entry)).await != Some(Ok(true)) {
        return;
    }
    let is_answered = select! {
        biased;
        _ = &mut connection => false,
        () = has_answer.notified() => true,
    };
    if is_answered {
        // If the peer is gone or too slow, nobody reads the error.
        let _ = timeout(PEER_TIMEOUT, connection).await;
    }
}
