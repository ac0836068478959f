//! Keys of flows, read straight from the headers of frames that will be looked up soon.

use alloc::vec::Vec;

use bofuss_datapath::UpcomingPacket;
use bofuss_oflib::Field;
use bofuss_oflib::field::{Header, VLAN_VID};

use super::extractor::{Extractor, FieldSource, FlowKey};

/// Bytes of a word: so many are read of a header at a time.
const WORD_BYTES: usize = 8;

impl FieldSource for UpcomingPacket<'_> {
    fn get(&mut self, field: &Field) -> Option<u128> {
        Self::get(self, field)
    }
}

/// Up to eight bytes that are next to each other both in a header and in a word of a key.
#[derive(Clone, Copy, Debug)]
struct HeaderBytes {
    /// The headers that may have them, such as IPv4 and IPv6, and where in each they begin; the
    /// first one that the packet has counts.
    places: [(Header, usize); 2],
    /// How many bits they lack to a word.
    unused: u32,
    /// Whether the key has them in the opposite order.
    is_reversed: bool,
    /// The number of the word, and how many bits of it are below them.
    word: usize,
    shift: u32,
}

impl HeaderBytes {
    /// The number that they are in the key, not yet shifted; `None` if the packet has none of the
    /// headers.
    #[inline]
    fn read(&self, packet: &UpcomingPacket<'_>) -> Option<u64> {
        let [(header, at), (other, at_other)] = self.places;
        let place = match packet.offset(header) {
            Some(start) => start + at,
            None => packet.offset(other)? + at_other,
        };
        let word = word(packet.bytes(), place);
        Some(if self.is_reversed {
            word.swap_bytes() >> self.unused
        } else {
            word << self.unused >> self.unused
        })
    }
}

/// The little-endian word at a place, with zeros after the end of the bytes.
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
    /// Where the headers of frames have the bytes of its keys, if they have all of them.
    pub(super) fn header_key(&self) -> Option<KeyInHeaders> {
        let mut key = KeyInHeaders::default();
        for part in &self.parts {
            key.add(part.field?, (part.bytes, part.at), part.little_endian)?;
        }
        Some(key)
    }

    /// Whether all fields of its keys are in headers.
    fn is_in_headers(&self) -> bool {
        let mut fields = self.parts.iter().map(|part| part.field);
        fields.all(|field| field.is_some_and(|field| !field.at.is_empty()))
    }

    /// Reads the key of an upcoming packet's flow into `key`. Returns false if the packet lacks a
    /// field, or if not all fields are in headers: then the key is made when the packet is looked
    /// up.
    #[inline]
    pub fn key_ahead(&self, mut packet: UpcomingPacket<'_>, key: &mut FlowKey) -> bool {
        let is_found = match &self.in_headers {
            Some(in_headers) => in_headers.read(&packet, key),
            None if self.is_in_headers() => match self.key(&mut packet) {
                Some(found) => {
                    *key = found;
                    true
                }
                None => false,
            },
            None => return false,
        };
        debug_assert_eq!(self.key(&mut packet), is_found.then_some(*key));
        is_found
    }
}

/// Where the headers of frames have the bytes of a key.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyInHeaders {
    pieces: Vec<HeaderBytes>,
}

impl KeyInHeaders {
    /// Adds the bytes of a field, which begin at byte `to` of a key. `None` if they are not whole
    /// bytes of one header or of either of two.
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
        if !whole || field == VLAN_VID {
            return None;
        }
        let mut done = 0;
        while done < bytes {
            let below = (to + done) % WORD_BYTES;
            let count = (WORD_BYTES - below).min(bytes - done);
            let before = if is_little_endian {
                bytes - done - count
            } else {
                done
            };
            self.pieces.push(HeaderBytes {
                places: [
                    (first.header.known()?, usize::from(first.bit) / 8 + before),
                    (second.header.known()?, usize::from(second.bit) / 8 + before),
                ],
                unused: 8 * (WORD_BYTES - count) as u32,
                is_reversed: is_little_endian,
                word: (to + done) / WORD_BYTES,
                shift: 8 * below as u32,
            });
            done += count;
        }
        Some(())
    }

    /// Reads the key of a packet's flow. Returns false if the packet lacks a header.
    #[inline]
    fn read(&self, packet: &UpcomingPacket<'_>, key: &mut FlowKey) -> bool {
        *key = FlowKey::default();
        for piece in &self.pieces {
            let Some(value) = piece.read(packet) else {
                return false;
            };
            key.words_mut()[piece.word] |= value << piece.shift;
        }
        true
    }
}
