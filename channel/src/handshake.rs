//! HELLO both ways: agrees on a version, or says why not. Spec: OpenFlow 1.3.5 section 6.3.1.

use std::sync::Arc;
use std::time::Duration;

use bofuss_oflib::error::HelloFailed;
use bofuss_oflib::message::{ErrorMsg, Hello, MESSAGES};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, Codec, Message, Version};
use tokio::io::{AsyncWriteExt, WriteHalf};
use tokio::time::timeout;

use crate::Reason;
use crate::frame::Frames;
use crate::stream::Stream;

/// The longest wait for a connection, and then for the peer's HELLO.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time to write what was sent before the end, and to wait for the peer's end.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// A connection on which a version is agreed.
pub(crate) struct Established {
    pub(crate) frames: Frames,
    pub(crate) writer: WriteHalf<Stream>,
    pub(crate) codec: Codec,
}

impl Established {
    /// Exchanges HELLOs on a new stream; on failure sends the ERROR that says why and closes.
    ///
    /// Panics: if `versions` is empty.
    pub(crate) async fn new(
        stream: Stream,
        versions: &[Version],
        catalogue: &Arc<Catalogue>,
    ) -> Result<Self, Reason> {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut frames = Frames::new(reader);
        let highest = *versions.iter().max().expect("a caller speaks some version");
        let mut codec = Codec::new(highest, catalogue.clone());
        let hello = encoded(&codec, 0, &Message::Hello(Hello::offering(versions)));
        let exchange = async {
            writer.write_all(&hello).await?;
            writer.flush().await?;
            greeting(&mut frames, &codec, versions).await
        };
        let failure = match timeout(HELLO_TIMEOUT, exchange).await {
            Ok(Ok(version)) => {
                codec.version = version;
                return Ok(Self {
                    frames,
                    writer,
                    codec,
                });
            }
            Ok(Err(failure)) => failure,
            Err(_) => Failure::from(Reason::HelloTimeout),
        };
        if let Some((version, xid, error)) = failure.answer {
            // The lower of the two headers: the peer can read it.
            codec.version = version.clamp(Version(1), highest);
            let error = encoded(&codec, xid, &Message::Error(error));
            let farewell = async {
                let _ = writer.write_all(&error).await;
                let _ = writer.shutdown().await;
                frames.drain().await;
            };
            let _ = timeout(LINGER, farewell).await;
        }
        Err(failure.reason)
    }
}

/// Why there is no version, and what the peer is told, in which version and with which xid.
struct Failure {
    reason: Reason,
    answer: Option<(Version, u32, ErrorMsg)>,
}

impl<R: Into<Reason>> From<R> for Failure {
    fn from(reason: R) -> Self {
        Self {
            reason: reason.into(),
            answer: None,
        }
    }
}

/// Reads the peer's first message; gives the version for both.
async fn greeting(
    frames: &mut Frames,
    codec: &Codec,
    versions: &[Version],
) -> Result<Version, Failure> {
    // The header alone tells a stranger, whose "length" may never arrive.
    let header = frames.header().await?;
    let (version, ty) = (Version(header[0]), header[1]);
    let xid = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let refuse = |reason: Reason, error| Failure {
        reason,
        answer: Some((version, xid, error)),
    };
    let explain = |reason: Reason| {
        let text = Bytes(reason.to_string().into());
        let error = ErrorMsg {
            error: HelloFailed::INCOMPATIBLE,
            experimenter: 0,
            data: text,
        };
        refuse(reason, error)
    };
    if !Message::is_version_free(ty) {
        let row = MESSAGES.iter().find(|row| row.0 == ty);
        let name = row.map_or(format!("of type {ty}"), |row| row.1.into());
        return Err(explain(Reason::NotHello(name)));
    }
    let frame = match frames.ready().await {
        Ok(length) => frames.take(length),
        Err(Reason::Malformed(cause)) => {
            let error = ErrorMsg::quoting(cause.error, &header);
            return Err(refuse(Reason::Malformed(cause), error));
        }
        Err(reason) => return Err(reason.into()),
    };
    match codec.decode(frame) {
        Ok((_, Message::Hello(hello))) => match hello.negotiate(version, versions) {
            Some(agreed) => Ok(agreed),
            None => Err(explain(Reason::NoCommonVersion {
                ours: list(versions),
                theirs: offered(&hello, version),
            })),
        },
        Ok((_, Message::Error(error))) => {
            let text = String::from_utf8_lossy(&error.data.0);
            let text = text.trim_end_matches('\0').escape_debug();
            Err(Reason::Refused(format!("{} {text}", error.error)).into())
        }
        Ok((_, other)) => Err(explain(Reason::NotHello(other.name().into()))),
        Err(cause) => {
            let error = ErrorMsg::quoting(cause.error, frame);
            Err(refuse(Reason::Malformed(cause), error))
        }
    }
}

/// `1.0, 1.3`
fn list(versions: &[Version]) -> String {
    let names: Vec<_> = versions.iter().map(Version::to_string).collect();
    match names.len() {
        0 => "none".into(),
        _ => names.join(", "),
    }
}

/// The versions of a peer's HELLO.
fn offered(hello: &Hello, header: Version) -> String {
    match hello.bitmap.first() {
        Some(map) => {
            let spoken = (0..32).filter(|bit| map >> bit & 1 == 1).map(Version);
            list(&spoken.collect::<Vec<_>>())
        }
        None => format!("{header} or less"),
    }
}

/// One message of ours as bytes.
fn encoded(codec: &Codec, xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoded = codec.encode(xid, message, &mut bytes);
    encoded.expect("HELLO and ERROR are short");
    bytes
}
