//! Keys of flows straight from the headers of frames that will be looked up soon.

use alloc::vec::Vec;

use bofuss_datapath::Upcoming;
use bofuss_oflib::Field;
use bofuss_oflib::field::{Header, VLAN_VID};

use super::extractor::{Extractor, FieldSource, FlowKey};

/// Bytes of a word of a key.
const WORD_BYTES: usize = 8;

/// One of the packets of a burst.
struct UpcomingPacket<'a, 'b>(&'a Upcoming<'b>, usize);

impl FieldSource for UpcomingPacket<'_, '_> {
    fn get(&mut self, field: &Field) -> Option<u128> {
        self.0.get(self.1, field)
    }
}

/// Bytes of a header that stand together in a key.
#[derive(Clone, Copy, Debug)]
struct HeaderBytes {
    /// The header, and another one that has the same field; where in it they begin.
    places: [(Header, usize); 2],
    /// How many bytes they are, at most a word.
    bytes: usize,
    /// Whether the key has them in the opposite order.
    is_reversed: bool,
    /// Where the key has them, in bytes.
    to: usize,
}

impl HeaderBytes {
    /// Adds the bytes to a key; `false` if the packet has no such header.
    #[inline]
    fn read(&self, packets: &Upcoming<'_>, number: usize, key: &mut [u64]) -> bool {
        let [(header, at), (other, at_other)] = self.places;
        let first = packets.header(number, header);
        let place = match first {
            Some(bytes) => Some((bytes, at)),
            None => packets.header(number, other).map(|it| (it, at_other)),
        };
        let Some((bytes, at)) = place else {
            return false;
        };
        let unused = 8 * (WORD_BYTES - self.bytes) as u32;
        let read = word(bytes, at);
        let value = if self.is_reversed {
            read.swap_bytes() >> unused
        } else {
            read << unused >> unused
        };
        let (index, shift) = (self.to / WORD_BYTES, 8 * (self.to % WORD_BYTES) as u32);
        key[index] |= value << shift;
        if shift > unused {
            key[index + 1] |= value >> (u64::BITS - shift);
        }
        true
    }
}

/// The word of the bytes that begin at a place, the lowest first; zeros after their end.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut padded = [0; WORD_BYTES];
            padded[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(padded)
        }
    }
}

impl Extractor {
    /// Where headers have the parts of its keys, if they have all.
    pub(super) fn header_key(&self) -> Option<KeyInHeaders> {
        let mut key = KeyInHeaders::default();
        for part in &self.parts {
            key.add(part.field?, (part.bytes, part.at), part.little_endian)?;
        }
        Some(key)
    }

    /// Whether headers say all of its keys.
    fn is_in_headers(&self) -> bool {
        let mut fields = self.parts.iter().map(|part| part.field);
        fields.all(|field| field.is_some_and(|field| !field.at.is_empty()))
    }

    /// The key of a packet's flow, if headers say all of it; `None` if it has to be looked at when
    /// the packet is looked up.
    #[inline]
    pub fn key_ahead(&self, packets: &Upcoming<'_>, number: usize) -> Option<FlowKey> {
        let key = match &self.in_headers {
            Some(parts) => parts.of(packets, number),
            None if self.is_in_headers() => self.key(&mut UpcomingPacket(packets, number)),
            None => return None,
        };
        debug_assert_eq!(key, self.key(&mut UpcomingPacket(packets, number)));
        key
    }
}

/// Where all parts of a key stand in headers.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyInHeaders {
    pieces: Vec<HeaderBytes>,
}

impl KeyInHeaders {
    /// Adds the bytes of a field, which stand in a key from byte `to` on; the numbers among them
    /// with the lowest byte first. `None` if they are no whole bytes of one or two headers.
    pub(super) fn add(
        &mut self,
        field: &Field,
        (bytes, to): (usize, usize),
        is_little_endian: bool,
    ) -> Option<()> {
        let whole = field.at.iter().all(|at| {
            at.bit.is_multiple_of(8) && usize::from(at.bits) == 8 * bytes && bytes == field.bytes()
        });
        let (first, second) = match field.at {
            [one] => (one, one),
            [one, other] => (one, other),
            _ => return None,
        };
        if !whole || field == VLAN_VID || is_little_endian && bytes > WORD_BYTES {
            return None;
        }
        for from in (0..bytes).step_by(WORD_BYTES) {
            let start = |bit: u16| usize::from(bit) / 8 + from;
            self.pieces.push(HeaderBytes {
                places: [
                    (first.header.known()?, start(first.bit)),
                    (second.header.known()?, start(second.bit)),
                ],
                bytes: WORD_BYTES.min(bytes - from),
                is_reversed: is_little_endian,
                to: to + from,
            });
        }
        Some(())
    }

    /// The key of a packet's flow; `None` if it lacks a header.
    #[inline]
    fn of(&self, packets: &Upcoming<'_>, number: usize) -> Option<FlowKey> {
        let mut key = FlowKey::default();
        for piece in &self.pieces {
            if !piece.read(packets, number, key.words_mut()) {
                return None;
            }
        }
        Some(key)
    }
}
