//! Edits that a flow cache makes ready for the frames of a flow: a set-field as the words of eight
//! bytes that it writes and which checksums count them, and a layout that follows a pushed tag.
//! Other edits that it alone makes of a frame without a key.

use alloc::vec::Vec;

use bofuss_oflib::FieldMatch;
use bofuss_oflib::added_header::Sum;
use bofuss_oflib::copy_field::CopyField;
use bofuss_oflib::field::{At, Header};

use crate::checksum::fold;
use crate::edit::EditError;
use crate::header::{Cover, cover, is_vlan_tag};
use crate::headers::{
    Headers, IPV4_ADDRESSES, IPV4_CHECKSUM, IPV6_DESTINATION, IPV6_SOURCE, TAG_BYTES, TYPE_AT,
    TagChange, decremented,
};
use crate::parse::{ABSENT, Flaw, Layout, survey};
use crate::rows::{fields_of, ones};

/// The longest packet whose headers certainly have offsets after a tag, too.
const MAX_MOVED: usize = 1 << 15;
/// Words of the longest field, an IPv6 address.
const MAX_WORDS: usize = 2;
/// Bytes of a word.
const WORD_BYTES: usize = 8;
/// Bytes of the words that checksums add up.
const SUMMED_BYTES: usize = 2;

/// A prepared set-field of one of OpenFlow's fields that are in headers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rewrite(Vec<HeaderWords>);

/// The words that it writes in one header. They end with the field, so that they are in the frame
/// wherever the header is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HeaderWords {
    header: Header,
    count: usize,
    words: [WordChange; MAX_WORDS],
    /// True if the checksum of IPv4 counts them.
    in_ip: bool,
    /// Their part in the transport header's checksum, as its own or as its pseudo-header's.
    in_transport: Option<Counted>,
}

/// A change of a big-endian word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct WordChange {
    /// Bytes from the start of the header to that of the word, which may be before it.
    at: isize,
    /// The bits that stay.
    stays: u64,
    /// The bits that are set.
    set: u64,
    /// The 16-bit words that the field has a part of, as checksums add them up.
    summed: u64,
}

/// The part of words in the transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Counted {
    /// The header is covered itself.
    Covered,
    /// By the pseudo-header.
    Pseudo,
    /// By the pseudo-header, unless a routing header has another destination.
    Destination,
}

impl Rewrite {
    /// Makes a set-field ready, of the bits that its mask covers.
    ///
    /// Errors: `None` of a field that stands in a header of an extension or below a CRC32c, that a
    /// checksum counts otherwise than as it stands in its header, or that stands nowhere.
    pub fn of(one: &FieldMatch) -> Option<Self> {
        let field = one.field;
        if field.at.is_empty() {
            return None;
        }
        let value = one.number();
        let mask = one.mask_number();
        let places = field.at.iter().map(|at| HeaderWords::of(at, value, mask));
        places.collect::<Option<_>>().map(Self)
    }

    /// Makes this one write what `next` writes, too, if both write few words of one header that no
    /// checksum counts. Returns false if it stays as it was.
    pub fn merge(&mut self, next: &Self) -> bool {
        let ([first], [second]) = (&mut self.0[..], &next.0[..]) else {
            return false;
        };
        let end = first.count + second.count;
        if first.header != second.header
            || end > MAX_WORDS
            || first.is_summed()
            || second.is_summed()
        {
            return false;
        }
        first.words[first.count..end].copy_from_slice(&second.words[..second.count]);
        first.count = end;
        true
    }

    /// Returns what it does to a VLAN tag, if it writes nothing else.
    pub fn in_tag(&self) -> Option<TagChange> {
        let [place] = &self.0[..] else {
            return None;
        };
        let [change] = place.words[..place.count] else {
            return None;
        };
        let is_tag = place.header == Header::Vlan
            && change.at + WORD_BYTES as isize == TAG_BYTES as isize
            && change.stays | u64::from(u16::MAX) == u64::MAX;
        is_tag.then_some(TagChange {
            stays: change.stays as u16,
            set: change.set as u16,
        })
    }
}

impl WordChange {
    /// The word, in a frame whose header begins at `start`.
    #[inline(always)]
    fn word(self, bytes: &mut [u8], start: usize) -> &mut [u8; WORD_BYTES] {
        let from = start.wrapping_add_signed(self.at);
        let word = bytes[from..].first_chunk_mut();
        word.expect("a header that was found has the words that end in it")
    }
}

impl HeaderWords {
    /// Returns true if a checksum counts them.
    #[inline(always)]
    fn is_summed(&self) -> bool {
        self.in_ip || self.in_transport.is_some()
    }

    fn of(at: &At, value: u128, bits: u128) -> Option<Self> {
        let header = at.header.known()?;
        let start = usize::from(at.bit) / 8 / SUMMED_BYTES * SUMMED_BYTES;
        let end_bit = usize::from(at.bit) + usize::from(at.bits);
        let end = end_bit.div_ceil(8 * SUMMED_BYTES) * SUMMED_BYTES;
        let count = (end - start).div_ceil(WORD_BYTES);
        if count > MAX_WORDS {
            return None;
        }
        let mut first = end as isize - (WORD_BYTES * count) as isize;
        if header == Header::Eth {
            // Nothing is before it, and it is longer than a word.
            first = first.max(0);
        }
        // The bits of all words as one number, whose lowest bit is the last.
        let last = (first + (WORD_BYTES * count) as isize) as usize;
        let mask = (ones(usize::from(at.bits)) & bits) << (8 * last - end_bit);
        let set = value << (8 * last - end_bit) & mask;
        let summed = ones(8 * (end - start)) << (8 * (last - end));
        let mut words = [WordChange::default(); MAX_WORDS];
        for (number, word) in words[..count].iter_mut().enumerate() {
            let shift = 8 * WORD_BYTES * (count - 1 - number);
            *word = WordChange {
                at: first + (WORD_BYTES * number) as isize,
                stays: !((mask >> shift) as u64),
                set: (set >> shift) as u64,
                summed: (summed >> shift) as u64,
            };
        }
        let is_address = IPV4_ADDRESSES.contains(&start);
        let (in_ip, in_transport) = match cover(at.header) {
            Cover::Nothing => (false, None),
            Cover::Ipv4 => (true, is_address.then_some(Counted::Pseudo)),
            Cover::Pseudo if header != Header::Ipv6 => return None,
            Cover::Pseudo if IPV6_SOURCE.contains(&start) => (false, Some(Counted::Pseudo)),
            Cover::Pseudo if IPV6_DESTINATION.contains(&start) => {
                (false, Some(Counted::Destination))
            }
            Cover::Pseudo => (false, None),
            Cover::Transport if header == Header::Sctp => return None,
            Cover::Transport => (false, Some(Counted::Covered)),
        };
        Some(Self {
            header,
            count,
            words,
            in_ip,
            in_transport,
        })
    }
}

/// The sum of a word's two halves, in each of which two 16-bit words stand: see
/// [`crate::checksum::sum`].
#[inline(always)]
fn halves(word: u64) -> u64 {
    (word >> 32) + u64::from(word as u32)
}

impl Layout {
    /// The TTL of the IP header in a frame with this layout; `None` if there is none.
    pub fn nw_ttl(&self, bytes: &[u8]) -> Option<u8> {
        self.nw_ttl_place().map(|place| bytes[place.at()])
    }

    /// Finds the headers of a frame again into which a VLAN tag was pushed. In front of a sound
    /// frame without tags that moves the others and changes nothing else.
    pub fn follow_push(&mut self, bytes: &[u8]) {
        let is_plain = self.vlan_tags == 0
            && self.flaw == Flaw::None
            && self.end < MAX_MOVED
            && self.added.is_none()
            && self.additions.placed.is_empty()
            && self.offset(Header::EthType).is_some()
            && bytes.len() >= TYPE_AT + TAG_BYTES
            && is_vlan_tag(u16::from_be_bytes([bytes[TYPE_AT], bytes[TYPE_AT + 1]]));
        if !is_plain {
            survey(bytes, self);
            return;
        }
        for offset in &mut self.offsets {
            let moves = *offset >= TYPE_AT as u16 && *offset != ABSENT;
            *offset += if moves { TAG_BYTES as u16 } else { 0 };
        }
        self.offsets[Header::Vlan as usize] = TYPE_AT as u16;
        self.fields
            .insert(const { fields_of(Header::Vlan as usize) });
        self.vlan_tags = 1;
        self.end += TAG_BYTES;
        for place in [&mut self.payload, &mut self.fragment_header] {
            if *place > 0 {
                *place += TAG_BYTES;
            }
        }
    }
}

impl Headers<'_> {
    /// Copies bits between two of OpenFlow's fields in the headers of a frame with this layout.
    pub fn copy_field(&mut self, copy: &CopyField) -> Result<(), EditError> {
        let bytes = self.frame.bytes();
        let source = self
            .layout
            .value(bytes, copy.src)
            .ok_or(EditError::NoHeader)?;
        let before = self
            .layout
            .value(bytes, copy.dst)
            .ok_or(EditError::NoHeader)?;
        self.set_field(copy.dst, &copy.copied(source, before).value)?;
        Ok(())
    }

    /// Decrements the TTL of the IP header.
    pub fn dec_nw_ttl(&mut self) -> Result<(), EditError> {
        let place = self.layout.nw_ttl_place().ok_or(EditError::NoHeader)?;
        let ttl = decremented(self.frame.bytes()[place.at()])?;
        self.put_ttl(place, ttl);
        Ok(())
    }

    /// Carries out a set-field that was made ready: as [`Headers::set_field`].
    pub fn rewrite(&mut self, rewrite: &Rewrite) -> Result<(), EditError> {
        for place in &rewrite.0 {
            if let Some(start) = self.layout.offset(place.header) {
                self.rewrite_at(place, start);
                return Ok(());
            }
        }
        Err(EditError::NoHeader)
    }

    #[inline]
    fn rewrite_at(&mut self, place: &HeaderWords, start: usize) {
        let bytes = self.frame.bytes_mut();
        if !place.is_summed() {
            for change in &place.words[..place.count] {
                let word = change.word(bytes, start);
                let new = u64::from_be_bytes(*word) & change.stays | change.set;
                *word = new.to_be_bytes();
            }
            return;
        }
        let mut before = 0;
        let mut after = 0;
        for change in &place.words[..place.count] {
            let word = change.word(bytes, start);
            let old = u64::from_be_bytes(*word);
            let new = old & change.stays | change.set;
            *word = new.to_be_bytes();
            before += halves(old & change.summed);
            after += halves(new & change.summed);
        }
        if fold(before) == fold(after) {
            return;
        }
        if place.in_ip {
            self.update_at(start + IPV4_CHECKSUM, before, after);
        }
        let counted = place.in_transport.zip(self.layout.transport_checksum());
        match counted {
            Some((counted, (at, kind))) if self.counts(counted, kind) => {
                self.refresh_transport(at, kind, before, after);
            }
            Some(_) | None => {}
        }
    }

    fn counts(&self, counted: Counted, kind: Sum) -> bool {
        let has_pseudo = matches!(kind, Sum::Pseudo | Sum::PseudoOrNone);
        match counted {
            Counted::Covered => !self.is_checksum_pending(),
            Counted::Pseudo => has_pseudo,
            Counted::Destination => has_pseudo && !self.layout.routed,
        }
    }
}
