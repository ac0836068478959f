//! Exchanges HELLOs on a new stream: agrees on a version, or reports why that failed.

use std::sync::Arc;

use bofuss_oflib::handshake::Handshake;
use bofuss_oflib::{Catalogue, Codec, Version};
use tokio::io::{AsyncWriteExt, WriteHalf};
use tokio::time::timeout;

use crate::Reason;
use crate::frame::Frames;
use crate::stream::{AddressPair, Stream};
use crate::timeouts::{HELLO_TIMEOUT, LINGER};

/// A connection on which a version is agreed.
pub(crate) struct Established {
    pub(crate) frames: Frames,
    pub(crate) writer: WriteHalf<Stream>,
    pub(crate) codec: Codec,
    /// Its addresses, if it has some.
    pub(crate) ends: Option<AddressPair>,
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
        let handshake = Handshake::new(versions, catalogue.clone());
        let exchange = async {
            writer.write_all(&handshake.hello()).await?;
            writer.flush().await?;
            frames.first_message().await
        };
        let first = timeout(HELLO_TIMEOUT, exchange)
            .await
            .map_err(|_| Reason::HelloTimeout)??;
        let error = match handshake.judge(&first) {
            Ok(codec) => {
                return Ok(Self {
                    frames,
                    writer,
                    codec,
                    ends,
                });
            }
            Err(error) => error,
        };
        if let Some(bytes) = handshake.error_bytes(&error, &first, datagrams) {
            let farewell = async {
                let _ = writer.write_all(&bytes).await;
                let _ = writer.shutdown().await;
                frames.drain().await;
            };
            let _ = timeout(LINGER, farewell).await;
        }
        Err(error.into())
    }
}
