//! Cuts a byte stream into messages, by the length in their headers.

use alloc::vec::Vec;

use crate::codec::HEADER_BYTES;
use crate::error::{BadRequest, DecodeError};

/// The number of bytes that [`Framer::read_message`] asks for: some messages of the usual sizes.
const READ_BYTES: usize = 4096;

/// The bytes of a stream that were received and not taken yet.
///
/// It reads nothing itself: whoever has the stream appends to [`space`](Self::space), calls
/// [`push`](Self::push), or passes a function to [`read_message`](Self::read_message). It holds no
/// more than it was given. A caller that reads only while [`ready`](Self::ready) is `None` makes it
/// hold one message, and what one read brought after it.
#[derive(Debug, Default)]
pub struct Framer {
    buffer: Vec<u8>,
    /// The offset in the buffer at which the next message begins.
    start: usize,
}

impl Framer {
    /// A framer at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// The received bytes of the next message and those after it.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Appends what came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.space(0).extend_from_slice(bytes);
    }

    /// The buffer to append to, with room for `count` further bytes. Messages that were taken are
    /// removed from it.
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
    /// Errors: BAD_REQUEST/BAD_LEN for a length shorter than the header, after which it is unknown
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

    /// Takes the next message, and before that calls `read` until it is here: a function that fills
    /// the beginning of a buffer, and returns how many bytes it wrote. `None` when that is none, as
    /// at the end of a stream. Holds at most a message, which has 65,535 bytes at most, and what
    /// one read of 4,096 bytes brought after it.
    ///
    /// Errors: those of `read`; within them, as [`announced`](Self::announced).
    ///
    /// Panics: if `read` returns more than the length of the buffer.
    ///
    /// ```
    /// use std::io::Read;
    ///
    /// let mut stream = &[4, 2, 0, 8, 0, 0, 0, 1, 4, 2][..];
    /// let mut framer = bofuss_oflib::Framer::new();
    /// let hello = framer.read_message(|room| stream.read(room)).expect("memory has no errors");
    /// assert_eq!(hello, Ok(Some(&[4, 2, 0, 8, 0, 0, 0, 1][..])));
    /// ```
    pub fn read_message<E>(
        &mut self,
        mut read: impl FnMut(&mut [u8]) -> Result<usize, E>,
    ) -> Result<Result<Option<&[u8]>, DecodeError>, E> {
        loop {
            match self.ready() {
                Ok(Some(length)) => return Ok(Ok(Some(self.take(length)))),
                Ok(None) => {}
                Err(error) => return Ok(Err(error)),
            }
            let mut room = [0; READ_BYTES];
            let count = read(&mut room)?;
            if count == 0 {
                return Ok(Ok(None));
            }
            self.push(&room[..count]);
        }
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
    fn messages_are_read_until_the_stream_ends_or_fails() {
        for step in 1..=STREAM.len() {
            let mut framer = Framer::new();
            let mut rest = &STREAM[..17];
            let mut read = |room: &mut [u8]| {
                let part = rest.split_off(..step.min(rest.len())).unwrap();
                room[..part.len()].copy_from_slice(part);
                Ok::<_, &str>(part.len())
            };
            let first = framer.read_message(&mut read).unwrap();
            assert_eq!(first, Ok(Some(&STREAM[..8])), "step {step}");
            assert_eq!(framer.read_message(&mut read), Ok(Ok(None)));
            assert_eq!(framer.buffered(), &STREAM[8..17]);
            assert_eq!(framer.read_message(|_| Err("reset")), Err("reset"));
            let last = framer.read_message(|room| {
                room[0] = STREAM[17];
                Ok::<_, &str>(1)
            });
            assert_eq!(last, Ok(Ok(Some(&STREAM[8..]))), "an error loses nothing");
        }
    }

    #[test]
    fn no_more_is_read_than_a_message_and_one_read_after_it() {
        let mut framer = Framer::new();
        let longest = framer.read_message(|room| {
            room.fill(0xff);
            Ok::<_, ()>(room.len())
        });
        assert_eq!(longest.unwrap().unwrap().unwrap().len(), 0xffff);
        assert!(framer.buffered().len() < READ_BYTES);
        framer.push(&[4, 2, 0, 7, 0, 0, 0, 0]);
        while framer.buffered()[..4] != [4, 2, 0, 7] {
            framer.take(1);
        }
        let wrong = framer.read_message(|_| Ok::<_, ()>(0)).unwrap();
        assert_eq!(wrong.unwrap_err().error, BadRequest::BAD_LEN);
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
