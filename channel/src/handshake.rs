//! HELLO both ways: agrees on a version, or says why not. Spec: OpenFlow 1.3.5 section 6.3.1.

use std::sync::Arc;
use std::time::Duration;

use bofuss_oflib::error::{BadRequest, HelloFailed};
use bofuss_oflib::framing::xid_of;
use bofuss_oflib::message::{ErrorMsg, Hello};
use bofuss_oflib::version::Name;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, Codec, Message, Version};
use tokio::io::{AsyncWriteExt, WriteHalf};
use tokio::time::timeout;

use crate::Reason;
use crate::frame::{Frames, is_tls};
use crate::stream::{Ends, Stream};

/// The longest wait for a connection, and then for the peer's HELLO.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(4);
/// The longest time to write what was sent before the end, and to wait for the peer's end.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// A connection on which a version is agreed.
pub(crate) struct Established {
    pub(crate) frames: Frames,
    pub(crate) writer: WriteHalf<Stream>,
    pub(crate) codec: Codec,
    /// Its addresses, if it has some.
    pub(crate) ends: Option<Ends>,
}

impl Established {
    /// Exchanges HELLOs on a new stream; on failure sends the ERROR that says why and closes.
    /// `datagrams`: whether what is sent may be lost.
    ///
    /// Panics: if `versions` is empty.
    pub(crate) async fn new(
        stream: Stream,
        versions: &[Version],
        catalogue: &Arc<Catalogue>,
        datagrams: bool,
    ) -> Result<Self, Reason> {
        let ends = stream.ends();
        let (reader, mut writer) = tokio::io::split(stream);
        let mut frames = Frames::new(reader);
        let highest = *versions.iter().max().expect("a caller speaks some version");
        let mut codec = Codec::new(highest, catalogue.clone());
        let hello = encoded(&codec, 0, &Message::Hello(Hello::offering(versions)));
        let exchange = async {
            writer.write_all(&hello).await?;
            writer.flush().await?;
            first_message(&mut frames).await
        };
        let first = timeout(HELLO_TIMEOUT, exchange)
            .await
            .map_err(|_| Reason::HelloTimeout)??;
        let reason = match judge(&codec, &first, versions) {
            Ok(version) => {
                codec.version = version;
                return Ok(Self {
                    frames,
                    writer,
                    codec,
                    ends,
                });
            }
            Err(reason) => reason,
        };
        if let Some(error) = answer(&reason, &first, datagrams) {
            let mut bytes = encoded(&codec, xid_of(&first), &Message::Error(error));
            // The lower of the two headers' versions: the peer can read it.
            bytes[0] = first[0].clamp(Version::V1_0.number(), highest.number());
            let farewell = async {
                let _ = writer.write_all(&bytes).await;
                let _ = writer.shutdown().await;
                frames.drain().await;
            };
            let _ = timeout(LINGER, farewell).await;
        }
        Err(reason)
    }
}

/// The peer's first message; of a stranger only the header, whose "length" may never arrive.
async fn first_message(frames: &mut Frames) -> Result<Vec<u8>, Reason> {
    let header = frames.header().await?;
    if is_tls(&header) {
        return Err(Reason::PeerSpeaksTls);
    }
    if !Message::is_version_free(header[1]) {
        return Ok(header.into());
    }
    match frames.ready().await {
        Ok(length) => Ok(frames.take(length).into()),
        Err(Reason::Malformed(_)) => Ok(header.into()),
        Err(reason) => Err(reason),
    }
}

/// The version for both, by the peer's first message.
fn judge(codec: &Codec, first: &[u8], versions: &[Version]) -> Result<Version, Reason> {
    let header = first[0];
    let ty = first[1];
    match codec.decode(first) {
        Ok((_, Message::Hello(hello))) => {
            let agreed = hello.negotiate(header, versions);
            agreed.ok_or_else(|| Reason::NoCommonVersion {
                ours: list(versions.iter().map(|one| one.number())),
                theirs: offered(&hello, header),
            })
        }
        Ok((_, Message::Error(error))) => {
            let data = String::from_utf8_lossy(&error.data.0);
            let text = data.trim_end_matches('\0').escape_debug();
            Err(Reason::Refused(format!("{} {text}", error.error)))
        }
        Err(cause) if Message::is_version_free(ty) => Err(Reason::Malformed(cause)),
        Ok(_) | Err(_) => {
            let version = Version::of_number(header).unwrap_or(Version::NEWEST);
            Err(Reason::NotHello(match version.message_name(ty) {
                Some(name) => name.into(),
                None => format!("of type {ty}"),
            }))
        }
    }
}

/// What the peer is told; an ERROR is never answered.
fn answer(reason: &Reason, first: &[u8], datagrams: bool) -> Option<ErrorMsg> {
    match reason {
        Reason::Refused(_) => None,
        // The peer's HELLO may be lost: section 6.3.6 has it begin anew.
        Reason::NotHello(_) if datagrams => Some(ErrorMsg::quoting(BadRequest::BAD_VERSION, first)),
        Reason::Malformed(cause) => Some(ErrorMsg::quoting(cause.error, first)),
        explained => Some(ErrorMsg {
            error: HelloFailed::INCOMPATIBLE,
            data: Bytes(explained.to_string().into()),
        }),
    }
}

/// `1.0, 1.3`
fn list(numbers: impl Iterator<Item = u8>) -> String {
    let names: Vec<_> = numbers.map(|number| Name(number).to_string()).collect();
    if names.is_empty() {
        return "none".into();
    }
    names.join(", ")
}

/// The versions of a peer's HELLO.
fn offered(hello: &Hello, header: u8) -> String {
    match hello.bitmap.first() {
        Some(map) => {
            let spoken = (0..32).filter(|bit| map >> bit & 1 == 1);
            list(spoken)
        }
        None => format!("{} or less", Name(header)),
    }
}

/// One message of ours as bytes.
fn encoded(codec: &Codec, xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoded = codec.encode(xid, message, &mut bytes);
    encoded.expect("HELLO and ERROR are short");
    bytes
}
