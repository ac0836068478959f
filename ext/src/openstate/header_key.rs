//! Keys of flows that are read straight from frames, before these are parsed into fields.

use alloc::vec::Vec;

use bofuss_datapath::UpcomingPacket;
use bofuss_oflib::Field;
use bofuss_oflib::field::{Header, VLAN_VID};

use super::flow_key::FlowKey;

/// Bytes of a word, the most that are read of a header at a time.
const WORD_BYTES: usize = 8;

/// Up to eight bytes that are contiguous both in a header and in a word of a key.
#[derive(Clone, Copy, Debug)]
struct HeaderBytes {
    /// The headers that may have them, such as IPv4 and IPv6, and where in each they begin. The
    /// first one that the packet has is used.
    places: [(Header, usize); 2],
    /// The bits of a word that they leave unused.
    unused: u32,
    /// True if they are in the opposite order in the key.
    is_reversed: bool,
    /// The index of the word in the key.
    word: usize,
    /// The number of bits of that word below them.
    shift: u32,
}

impl HeaderBytes {
    /// Their value in the key, not yet shifted; `None` if the packet has none of the headers.
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

/// The places where the headers of frames have the bytes of a key.
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
            at.bit % 8 == 0 && usize::from(at.bits) == 8 * bytes && bytes == field.bytes()
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
    pub(super) fn read(&self, packet: &UpcomingPacket<'_>, key: &mut FlowKey) -> bool {
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
