//! Cuts a byte stream into OpenFlow messages, by the length in their headers.

use std::io;

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::{DecodeError, HEADER_BYTES};
use tokio::io::{AsyncReadExt, ReadHalf};

use crate::Reason;
use crate::stream::Stream;

/// Bytes that one read asks for, at least.
const READ_BYTES: usize = 16 * 1024;

/// The reading half of a connection.
///
/// Invariant: the buffer holds at most one message of the longest kind, or [`READ_BYTES`].
pub(crate) struct Frames {
    reader: ReadHalf<Stream>,
    buffer: Vec<u8>,
    /// Where in the buffer the next message begins.
    start: usize,
}

impl Frames {
    pub(crate) fn new(reader: ReadHalf<Stream>) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            start: 0,
        }
    }

    /// What is buffered of the next message and those behind it.
    fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Waits until `count` bytes are buffered. Nothing is lost when the future is dropped.
    ///
    /// Errors: PeerClosed between messages, Truncated within one, or the socket's.
    async fn fill(&mut self, count: usize) -> Result<(), Reason> {
        while self.buffered().len() < count {
            self.buffer.drain(..self.start);
            self.start = 0;
            let room = count.max(READ_BYTES) - self.buffer.len();
            self.buffer.reserve_exact(room);
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(1..) => {}
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                    return Err(error.into());
                }
                // TLS that ends without saying so is an end, too: messages have lengths.
                Ok(0) | Err(_) => {
                    return Err(match &self.buffer[..] {
                        [] => Reason::PeerClosed,
                        bytes if is_tls(bytes) => Reason::PeerSpeaksTls,
                        _ => Reason::Truncated,
                    });
                }
            }
        }
        Ok(())
    }

    /// Waits for a header, and leaves it where it is.
    pub(crate) async fn header(&mut self) -> Result<[u8; HEADER_BYTES], Reason> {
        self.fill(HEADER_BYTES).await?;
        let header = self.buffered()[..HEADER_BYTES].try_into();
        Ok(header.expect("the slice has the header's length"))
    }

    /// Waits for a whole message; gives its length in bytes. Nothing is lost when the future is
    /// dropped.
    ///
    /// Errors: Malformed (BAD_REQUEST/BAD_LEN) for a length that does not even hold the header:
    /// nobody knows where the next message begins. Else as the stream ends.
    pub(crate) async fn ready(&mut self) -> Result<usize, Reason> {
        let length = announced(self.header().await?).map_err(Reason::Malformed)?;
        self.fill(length).await?;
        Ok(length)
    }

    /// The next message as [`ready`](Self::ready) tells of it, if it is here as a whole.
    pub(crate) fn at_hand(&self) -> Option<Result<usize, DecodeError>> {
        let header = self.buffered().first_chunk()?;
        match announced(*header) {
            Ok(length) if length > self.buffered().len() => None,
            announced => Some(announced),
        }
    }

    /// Takes the message of `length` bytes that [`ready`](Self::ready) announced.
    pub(crate) fn take(&mut self, length: usize) -> &[u8] {
        let start = self.start;
        self.start += length;
        &self.buffer[start..self.start]
    }

    /// Reads and forgets until the peer closes.
    ///
    /// A socket that is closed with unread bytes makes the kernel reset the connection, and the
    /// peer then may never see the ERROR that we sent last.
    pub(crate) async fn drain(&mut self) {
        loop {
            self.buffer.clear();
            self.buffer.reserve_exact(READ_BYTES);
            if !matches!(self.reader.read_buf(&mut self.buffer).await, Ok(1..)) {
                return;
            }
        }
    }
}

/// The length of the message with this header. Errors: BAD_REQUEST/BAD_LEN.
fn announced(header: [u8; HEADER_BYTES]) -> Result<usize, DecodeError> {
    match u16::from_be_bytes([header[2], header[3]]).into() {
        0..HEADER_BYTES => Err(DecodeError {
            error: BadRequest::BAD_LEN,
            offset: 2,
            field: "length",
        }),
        length => Ok(length),
    }
}

/// Whether bytes begin as a record of TLS does; no version of OpenFlow has these numbers.
pub(crate) fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x14..=0x17, 3, ..])
}

/// The transaction id in a message's header.
pub(crate) fn xid_of(message: &[u8]) -> u32 {
    u32::from_be_bytes([message[4], message[5], message[6], message[7]])
}
