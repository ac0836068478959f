//! Cuts a byte stream into messages, by the length in their headers.

use alloc::vec::Vec;

use crate::codec::HEADER_BYTES;
use crate::error::{BadRequest, DecodeError};

/// The bytes of a stream that came and are not taken yet.
///
/// It reads nothing itself: whoever has the stream appends to [`space`](Self::space), or calls
/// [`push`](Self::push). It holds no more than it was given; who reads only while
/// [`ready`](Self::ready) is `None` holds one message and what one read brought behind it.
#[derive(Debug, Default)]
pub struct Framer {
    buffer: Vec<u8>,
    /// Where in the buffer the next message begins.
    start: usize,
}

impl Framer {
    /// A framer at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is here of the next message and those behind it.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Appends what came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.space(0).extend_from_slice(bytes);
    }

    /// The buffer, to append to, with room for `count` bytes behind those that are here. Messages
    /// that were taken are gone from it.
    pub fn space(&mut self, count: usize) -> &mut Vec<u8> {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.reserve_exact(count);
        &mut self.buffer
    }

    /// The header of the next message, left where it is, if it is here as a whole.
    pub fn header(&self) -> Option<[u8; HEADER_BYTES]> {
        self.buffered().first_chunk().copied()
    }

    /// The length in bytes of the next message, as its header says, if that is here.
    ///
    /// Errors: BAD_REQUEST/BAD_LEN for a length that does not even hold the header: nobody knows
    /// where the next message begins.
    pub fn announced(&self) -> Result<Option<usize>, DecodeError> {
        let Some(header) = self.header() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if length < HEADER_BYTES {
            return Err(DecodeError {
                error: BadRequest::BAD_LEN,
                offset: 2,
                field: "length",
            });
        }
        Ok(Some(length))
    }

    /// The length in bytes of the next message, if it is here as a whole.
    ///
    /// Errors: as [`announced`](Self::announced).
    pub fn ready(&self) -> Result<Option<usize>, DecodeError> {
        let announced = self.announced()?;
        Ok(announced.filter(|length| *length <= self.buffered().len()))
    }

    /// Takes `length` bytes: a message, as [`ready`](Self::ready) said.
    ///
    /// Panics: if fewer are here.
    pub fn take(&mut self, length: usize) -> &[u8] {
        let start = self.start;
        self.start += length;
        &self.buffer[start..self.start]
    }

    /// Takes the next message, if it is here as a whole.
    ///
    /// Errors: as [`announced`](Self::announced).
    pub fn next_message(&mut self) -> Result<Option<&[u8]>, DecodeError> {
        let ready = self.ready()?;
        Ok(ready.map(|length| self.take(length)))
    }
}

/// The transaction id in the header of a message.
///
/// Panics: if there is less than a header.
pub fn xid_of(message: &[u8]) -> u32 {
    u32::from_be_bytes([message[4], message[5], message[6], message[7]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two messages, of 8 and 10 bytes.
    const STREAM: [u8; 18] = [4, 2, 0, 8, 0, 0, 0, 1, 4, 2, 0, 10, 0, 0, 0, 2, 0xab, 0xcd];

    #[test]
    fn messages_come_out_whole_however_the_stream_is_cut() {
        for step in 1..=STREAM.len() {
            let mut framer = Framer::new();
            let mut messages = Vec::new();
            for part in STREAM.chunks(step) {
                framer.push(part);
                while let Some(message) = framer.next_message().unwrap() {
                    messages.push(message.to_vec());
                }
            }
            assert_eq!(messages, [&STREAM[..8], &STREAM[8..]], "step {step}");
            assert!(framer.buffered().is_empty());
        }
    }

    #[test]
    fn what_was_taken_needs_no_memory() {
        let mut framer = Framer::new();
        for _ in 0..1000 {
            framer.push(&STREAM[..8]);
            assert!(framer.next_message().unwrap().is_some());
        }
        assert!(framer.buffer.capacity() < 64);
    }

    #[test]
    fn a_length_below_the_header_is_an_error_as_soon_as_the_header_is_here() {
        let mut framer = Framer::new();
        framer.push(&[4, 2, 0, 7, 0, 0, 0]);
        assert_eq!(framer.ready(), Ok(None));
        framer.push(&[1]);
        let error = framer.ready().unwrap_err();
        assert_eq!((error.error, error.offset), (BadRequest::BAD_LEN, 2));
        assert_eq!(framer.take(HEADER_BYTES)[3], 7, "the header can be quoted");
    }
}
