//! Reads a connection's stream, and has it cut into OpenFlow messages.

use std::io;

use bofuss_oflib::framing::Framer;
use bofuss_oflib::handshake::first_message;
use bofuss_oflib::{DecodeError, HEADER_BYTES};
use tokio::io::{AsyncReadExt, ReadHalf};

use crate::Reason;
use crate::stream::Stream;

/// Bytes that one read asks for, at least.
const READ_BYTES: usize = 16 * 1024;

/// The reading half of a connection.
///
/// Invariant: at most one message of the longest kind is buffered, or [`READ_BYTES`].
pub(crate) struct Frames {
    reader: ReadHalf<Stream>,
    framer: Framer,
}

impl Frames {
    pub(crate) fn new(reader: ReadHalf<Stream>) -> Self {
        Self {
            reader,
            framer: Framer::new(),
        }
    }

    /// Waits until `count` bytes are buffered. Nothing is lost when the future is dropped.
    ///
    /// Errors: PeerClosed between messages, Truncated within one, or the socket's.
    async fn fill(&mut self, count: usize) -> Result<(), Reason> {
        while self.framer.buffered().len() < count {
            let room = count.max(READ_BYTES) - self.framer.buffered().len();
            match self.reader.read_buf(self.framer.space(room)).await {
                Ok(1..) => {}
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                    return Err(error.into());
                }
                // TLS that ends without saying so is an end, too: messages have lengths.
                Ok(0) | Err(_) => {
                    return Err(match self.framer.buffered() {
                        [] => Reason::PeerClosed,
                        bytes if is_tls(bytes) => Reason::PeerSpeaksTls,
                        _ => Reason::Truncated,
                    });
                }
            }
        }
        Ok(())
    }

    /// Waits for the peer's first message, and takes it.
    pub(crate) async fn first_message(&mut self) -> Result<Vec<u8>, Reason> {
        loop {
            if is_tls(self.framer.buffered()) {
                return Err(Reason::PeerSpeaksTls);
            }
            if let Some(first) = first_message(&mut self.framer) {
                return Ok(first);
            }
            // A length that cannot be has just been taken; before there is one, each byte may tell.
            let announced = self.framer.announced().ok().flatten();
            let more = self.framer.buffered().len() + 1;
            self.fill(announced.unwrap_or(more)).await?;
        }
    }

    /// Waits for a whole message; gives its length in bytes. Nothing is lost when the future is
    /// dropped.
    ///
    /// Errors: Malformed for a length that does not hold the header. Else as the stream ends.
    pub(crate) async fn ready(&mut self) -> Result<usize, Reason> {
        self.fill(HEADER_BYTES).await?;
        let announced = self.framer.announced().map_err(Reason::Malformed)?;
        let length = announced.expect("the header is buffered");
        self.fill(length).await?;
        Ok(length)
    }

    /// The number of bytes that were received and not taken.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.framer.buffered().len()
    }

    /// The length of the next message as [`ready`](Self::ready) reports it, if all of it is
    /// buffered.
    pub(crate) fn buffered_length(&self) -> Option<Result<usize, DecodeError>> {
        self.framer.ready().transpose()
    }

    /// Takes the message of `length` bytes that [`ready`](Self::ready) announced.
    pub(crate) fn take(&mut self, length: usize) -> &[u8] {
        self.framer.take(length)
    }

    /// Reads and forgets until the peer closes.
    ///
    /// A socket that is closed with unread bytes makes the kernel reset the connection, and the
    /// peer then may never see the ERROR that we sent last.
    pub(crate) async fn drain(&mut self) {
        let mut forgotten = Vec::with_capacity(READ_BYTES);
        while matches!(self.reader.read_buf(&mut forgotten).await, Ok(1..)) {
            forgotten.clear();
        }
    }
}

/// Returns true if bytes begin as a record of TLS does; no version of OpenFlow has these numbers.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x14..=0x17, 3, ..])
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::{Context, Poll};

    use tokio::io::{AsyncRead, Join, ReadBuf, Sink, join, sink};

    use super::*;
    use crate::stream::Duplex;

    /// A stream of zeros after a header, and the number of reads.
    struct Counted(Vec<u8>, Arc<AtomicUsize>);

    impl Duplex for Join<Counted, Sink> {}

    impl AsyncRead for Counted {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.1.fetch_add(1, Relaxed);
            let count = into.remaining().min(self.0.len());
            let rest = self.0.split_off(count);
            into.put_slice(&std::mem::replace(&mut self.0, rest));
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn a_first_message_of_any_length_takes_few_reads() {
        let mut error = vec![0; 0xffff];
        error[..4].copy_from_slice(&[4, 1, 0xff, 0xff]);
        let reads = Arc::new(AtomicUsize::new(0));
        let zeros = Counted(error.clone(), Arc::clone(&reads));
        let stream: Stream = Box::new(join(zeros, sink()));
        let mut frames = Frames::new(tokio::io::split(stream).0);
        assert!(frames.first_message().await.unwrap() == error);
        assert!(reads.load(Relaxed) < 9, "{reads:?}");
    }
}
