//! Keys of flows straight from the headers of frames that will be looked up soon.

use alloc::vec::Vec;

use bofuss_datapath::UpcomingPacket;
use bofuss_oflib::Field;
use bofuss_oflib::field::{Header, VLAN_VID};

use super::extractor::{Extractor, FieldSource, FlowKey};

/// Bytes that are read of a header at a time.
const WORD_BYTES: usize = 8;
/// Bytes of a part of a key: it is put together in registers.
const PART_BYTES: usize = 16;

impl FieldSource for UpcomingPacket<'_> {
    fn get(&mut self, field: &Field) -> Option<u128> {
        Self::get(self, field)
    }
}

/// Bytes of a header that stand together in a part of a key.
#[derive(Clone, Copy, Debug)]
struct HeaderBytes {
    /// The header, and another one that has the same field; where in it they begin.
    places: [(Header, usize); 2],
    /// How many bits they are less than a word.
    unused: u32,
    /// Whether the key has them in the opposite order.
    is_reversed: bool,
    /// How many bits the part has below them.
    shift: u32,
}

impl HeaderBytes {
    /// The number that they are in the key; `None` if the packet has no such header.
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
    /// Where headers have the fields of its keys, if they have all.
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

    /// Makes `key` that of a packet's flow, if headers say all of it; `false` if it has to be
    /// looked at when the packet is looked up.
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

/// Where all of a key stands in headers.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyInHeaders {
    /// The bytes of each part; those after the last one are zero.
    parts: Vec<Vec<HeaderBytes>>,
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
        if !whole || field == VLAN_VID {
            return None;
        }
        let mut done = 0;
        while done < bytes {
            let below = (to + done) % PART_BYTES;
            let count = WORD_BYTES.min(bytes - done).min(PART_BYTES - below);
            let before = if is_little_endian {
                bytes - done - count
            } else {
                done
            };
            let start = |bit: u16| usize::from(bit) / 8 + before;
            let part = (to + done) / PART_BYTES;
            if self.parts.len() <= part {
                self.parts.resize(part + 1, Vec::new());
            }
            self.parts[part].push(HeaderBytes {
                places: [
                    (first.header.known()?, start(first.bit)),
                    (second.header.known()?, start(second.bit)),
                ],
                unused: 8 * (WORD_BYTES - count) as u32,
                is_reversed: is_little_endian,
                shift: 8 * below as u32,
            });
            done += count;
        }
        Some(())
    }

    /// Makes `key` that of a packet's flow; `false` if the packet lacks a header.
    #[inline]
    fn read(&self, packet: &UpcomingPacket<'_>, key: &mut FlowKey) -> bool {
        *key = FlowKey::default();
        for (number, pieces) in self.parts.iter().enumerate() {
            let mut part = 0;
            for piece in pieces {
                let Some(value) = piece.read(packet) else {
                    return false;
                };
                part |= u128::from(value) << piece.shift;
            }
            key.set_part(number, part);
        }
        true
    }
}
