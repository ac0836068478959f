//! Reads the words of the cache's key directly from the headers of a frame.

use alloc::vec::Vec;
use bofuss_datapath::engine::WORDS;
use core::ops::Range;

use bofuss_oflib::field::{FIELDS, Header, VID_PRESENT, VLAN_VID};
use bofuss_packet::{COMMON_LAYOUTS, KeyMask, Layout};

/// Bits of a word.
const BITS: usize = 64;

/// Adjacent bits of a header that belong to one word of the key.
#[derive(Clone, Copy, Debug, PartialEq)]
struct KeyPiece {
    /// Number of the word.
    word: usize,
    header: Header,
    /// The offset in the header of the eight bytes that are read; before its start if the number
    /// wraps around.
    at: usize,
    /// By how many bits they are rotated to the left; the first bit is the leftmost.
    turn: u32,
    /// The bits that count after the rotation.
    mask: u64,
    /// The bits that are set because the header is present.
    preset: u64,
}

impl KeyPiece {
    /// Returns true if one read serves both: same place in the same header, same rotation, same
    /// word.
    fn is_read_with(&self, other: &Self) -> bool {
        self.word == other.word
            && self.header == other.header
            && self.at == other.at
            && self.turn == other.turn
    }
}

/// Adjacent bits of frames with one layout that belong to one word of the key.
#[derive(Clone, Copy, Debug)]
struct PlacedPiece {
    /// Number of the word.
    word: usize,
    /// The offset in the frame of the eight bytes that are read; before its start if the number
    /// wraps around.
    at: usize,
    /// The same as of a [`KeyPiece`].
    mask: u64,
    turn: u32,
    preset: u64,
}

/// The places of a key's words in frames with one layout.
#[derive(Debug, Default)]
struct PlacedPieces {
    /// The pieces that need no rotation and set no other bits: usually all.
    straight: Vec<PlacedPiece>,
    others: Vec<PlacedPiece>,
}

impl PlacedPieces {
    /// Keeps the pieces whose headers the layout has.
    fn new(pieces: &[KeyPiece], layout: &Layout) -> Self {
        let mut this = Self::default();
        for piece in pieces {
            if let Some(start) = layout.offset(piece.header) {
                this.add(PlacedPiece {
                    word: piece.word,
                    at: start.wrapping_add(piece.at),
                    mask: piece.mask,
                    turn: piece.turn,
                    preset: piece.preset,
                });
            }
        }
        this
    }

    fn add(&mut self, new: PlacedPiece) {
        let pieces = match (new.turn, new.preset) {
            (0, 0) => &mut self.straight,
            _ => &mut self.others,
        };
        for one in pieces.iter_mut() {
            if (one.word, one.at, one.turn) == (new.word, new.at, new.turn) {
                one.mask |= new.mask;
                one.preset |= new.preset;
                return;
            }
        }
        pieces.push(new);
    }

    #[inline(always)]
    fn read(&self, bytes: &[u8], words: &mut [u64; WORDS]) {
        for piece in &self.straight {
            let read = u64::from_ne_bytes(eight(bytes, piece.at));
            words[piece.word] |= read & piece.mask;
        }
        for piece in &self.others {
            let read = u64::from_be_bytes(eight(bytes, piece.at));
            words[piece.word] |= read.rotate_left(piece.turn).to_be() & piece.mask | piece.preset;
        }
    }
}

/// The places of a key's words in the headers.
#[derive(Debug, Default)]
pub(crate) struct KeyReader {
    pieces: Vec<KeyPiece>,
    /// The places of a key's words in frames of each common layout.
    common: Vec<PlacedPieces>,
}

impl KeyReader {
    /// Makes the reader for the words of this mask.
    pub(crate) fn new(mask: &KeyMask) -> Self {
        let mut this = Self::default();
        let rows = FIELDS
            .iter()
            .flat_map(|field| field.at.iter().map(move |at| (field, at)))
            .filter_map(|(field, at)| Some((field, at, at.header.known()?)));
        for (number, (index, mask)) in mask.words().iter().enumerate() {
            for (field, at, header) in rows.clone() {
                let end = 8 * (usize::from(field.offset) + field.bytes());
                let start = end - usize::from(at.bits);
                let from = start.max(index * BITS);
                let to = end.min((index + 1) * BITS);
                if from >= to || ones(from..to) & mask == 0 {
                    continue;
                }
                let present = u64::from(VID_PRESENT) * u64::from(field == VLAN_VID);
                this.add(KeyPiece {
                    preset: (present << ((BITS - end % BITS) % BITS)).to_be(),
                    ..piece(
                        number + 1,
                        header,
                        usize::from(at.bit) + from - start,
                        from..to,
                    )
                });
            }
        }
        let layouts = COMMON_LAYOUTS.iter();
        this.common = layouts
            .map(|layout| PlacedPieces::new(&this.pieces, layout))
            .collect();
        this
    }

    fn add(&mut self, new: KeyPiece) {
        for one in &mut self.pieces {
            if one.is_read_with(&new) {
                one.mask |= new.mask;
                one.preset |= new.preset;
                return;
            }
        }
        self.pieces.push(new);
    }

    /// Adds the bits from a frame's headers to the words. `common` is the number of its layout
    /// among the common layouts, if it is there. Returns false if a word has bits that are in no
    /// header.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        bytes: &[u8],
        layout: &Layout,
        common: Option<usize>,
        words: &mut [u64; WORDS],
    ) -> bool {
        words[1] |= layout.fields.words()[0];
        match common.and_then(|number| self.common.get(number)) {
            Some(pieces) => pieces.read(bytes, words),
            None => self.read_uncommon(bytes, layout, words),
        }
        // No piece reads fields that a catalogue places in headers, and the layout does not say
        // which of them are present.
        !layout.has_placed && layout.derived.is_none_or(|(_, value)| value == 0)
    }

    /// As [`Self::read`], for a frame of any layout.
    #[inline(never)]
    fn read_uncommon(&self, bytes: &[u8], layout: &Layout, words: &mut [u64; WORDS]) {
        for piece in &self.pieces {
            if let Some(start) = layout.offset(piece.header) {
                let at = start.wrapping_add(piece.at);
                let read = u64::from_be_bytes(eight(bytes, at)).rotate_left(piece.turn);
                words[piece.word] |= read.to_be() & piece.mask | piece.preset;
            }
        }
    }
}

/// The piece for the bits `place` of a key, which begin at bit `bit` of a header.
fn piece(word: usize, header: Header, bit: usize, place: Range<usize>) -> KeyPiece {
    let mask = ones(place.clone());
    let place = place.start % BITS..place.start % BITS + place.len();
    let off = (8 + bit - place.start % 8) % 8;
    // The eight bytes are chosen so that a rotation by less than a byte puts the bits in place: to
    // the left by `off`, or, if the bits would then exceed the word, to the right by `8 - off`.
    let before = place.end + off > BITS;
    let (from, turn) = if before {
        (place.start + off - 8, BITS + off - 8)
    } else {
        (place.start + off, off)
    };
    KeyPiece {
        word,
        header,
        at: (bit / 8).wrapping_sub(from / 8),
        turn: turn as u32,
        mask,
        preset: 0,
    }
}

/// Ones in some bits of a key, within their word; the first bit is the leftmost.
fn ones(place: Range<usize>) -> u64 {
    let ones = u64::MAX >> (BITS - place.len());
    (ones << ((BITS - place.end % BITS) % BITS)).to_be()
}

/// Eight bytes of a frame, zeros where it has none.
#[inline]
fn eight(bytes: &[u8], at: usize) -> [u8; 8] {
    match bytes.get(at..at.wrapping_add(8)) {
        Some(eight) => eight.try_into().expect("these are eight"),
        None => core::array::from_fn(|i| *bytes.get(at.wrapping_add(i)).unwrap_or(&0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_oflib::Mac;
    use bofuss_packet::craft::{ethernet, ipv4, ipv6, mpls, tcp, udp, vlan};
    use bofuss_packet::{Key, parse, survey};

    // I14
    #[test]
    fn words_read_from_headers_equal_those_of_the_key() {
        let (four, six) = ([10, 1, 2, 3].into(), [0xfe80, 1, 2, 3, 4, 5, 6, 7].into());
        let segment = || tcp(0x1234, 80, 0xa5, b"data");
        let upper = [
            ipv4(four, four, 64, segment()),
            ipv4(four, four, 64, udp(5, 6, b"")),
            ipv6(six, six, 64, segment()),
            mpls(0xabcde, 5, 64, ipv4(four, four, 64, segment())),
            vlan(0x8100, 0x0fed, ipv4(four, four, 64, segment())),
            vlan(
                0x88a8,
                7,
                vlan(0x8100, 9, ipv6(six, six, 64, udp(7, 8, b"x"))),
            ),
        ];
        let mut n_common = 0;
        for layer in upper {
            let (dst, src) = (Mac([1, 2, 3, 4, 5, 6]), Mac([7, 8, 9, 10, 11, 12]));
            let mut frame = ethernet(dst, src, layer);
            frame[15] |= 0xb7;
            for len in [frame.len(), 60, 38, 34, 20, 14, 13, 3, 0] {
                let frame = &frame[..len.min(frame.len())];
                let (mut key, mut layout) = (Key::EMPTY, Layout::EMPTY);
                parse(frame, &mut key, &mut layout);
                let common = survey(frame, &mut layout);
                for chosen in (0..FIELDS.len())
                    .map(|n| &FIELDS[..=n])
                    .chain([&FIELDS[3..4]])
                {
                    let mask = KeyMask::whole(chosen.iter());
                    let reader = KeyReader::new(&mask);
                    let wanted: Vec<u64> = mask.of_key(&key, &mut ()).unwrap().collect();
                    let begun = mask.of_key(&Key::EMPTY, &mut ()).unwrap().next();
                    for common in [None, common] {
                        let mut words = [0; WORDS];
                        words[1] = begun.unwrap();
                        assert!(reader.read(frame, &layout, common, &mut words));
                        assert_eq!(words[1..=wanted.len()], wanted);
                    }
                    n_common += usize::from(common.is_some());
                }
            }
        }
        assert!(n_common > 100, "{n_common} times a common layout");
    }
}
