//! A set-field that is made ready for any frame: the words that it writes, and which checksums
//! count them.

use alloc::vec::Vec;

use bofuss_oflib::added_header::Sum;
use bofuss_oflib::field::{At, Field, Header};

use crate::checksum::fold;
use crate::edit::EditError;
use crate::header::{Cover, cover};
use crate::headers::{Headers, IPV4_ADDRESSES, IPV4_CHECKSUM, IPV6_DESTINATION, IPV6_SOURCE};
use crate::rows::ones;

/// 16-bit words that a field may have a part of.
const MAX_WORDS: usize = 9;
/// Bytes of a word.
const WORD_BYTES: usize = 2;

/// A set-field of one of OpenFlow's fields that stand in headers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rewrite(Vec<HeaderWords>);

/// The words that it writes in one header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HeaderWords {
    header: Header,
    /// Where the first of them stands.
    at: usize,
    count: usize,
    /// Of each word, the bits that stay and those that are set.
    words: [(u16, u16); MAX_WORDS],
    /// Whether the checksum of IPv4 counts them,
    in_ip: bool,
    /// and that of the transport header, as its own or as its pseudo-header's.
    in_transport: Option<Counted>,
}

/// How words count in the transport checksum.
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
    /// Makes a set-field ready. Shape: the first [`Field::bytes`] bytes of `value`, as in OXM.
    ///
    /// Errors: `None` of a field that stands in a header of an extension or below a CRC32c, that a
    /// checksum counts otherwise than as it stands in its header, or that stands nowhere.
    pub fn of(field: &Field, value: &[u8; 16]) -> Option<Self> {
        if field.at.is_empty() {
            return None;
        }
        let value = u128::from_be_bytes(*value) >> (128 - 8 * field.bytes());
        let places = field.at.iter().map(|at| HeaderWords::of(at, value));
        places.collect::<Option<_>>().map(Self)
    }
}

impl HeaderWords {
    fn of(at: &At, value: u128) -> Option<Self> {
        let header = at.header.known()?;
        let start = usize::from(at.bit) / 8 / WORD_BYTES * WORD_BYTES;
        let end = usize::from(at.bit) + usize::from(at.bits);
        let count = (end - 8 * start).div_ceil(8 * WORD_BYTES);
        let bits = usize::from(at.bits);
        let mut words = [(u16::MAX, 0); MAX_WORDS];
        for (number, word) in words.iter_mut().enumerate().take(count) {
            // How far the field's last bit is after the word's last.
            let after = end as isize - (8 * start + 16 * (number + 1)) as isize;
            let mask = shifted(ones(bits), after);
            *word = (!mask, shifted(value & ones(bits), after));
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
            at: start,
            count,
            words,
            in_ip,
            in_transport,
        })
    }
}

/// The lowest 16 bits of a number that is moved to the right, or to the left if `places` < 0.
fn shifted(number: u128, places: isize) -> u16 {
    match places {
        0.. => (number >> places) as u16,
        _ => (number << -places) as u16,
    }
}

impl Headers<'_> {
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
        let bytes = &mut self.frame.bytes_mut()[start + place.at..];
        let (words, _) = bytes[..WORD_BYTES * place.count].as_chunks_mut::<WORD_BYTES>();
        let mut before = 0;
        let mut after = 0;
        for (word, (stay, set)) in words.iter_mut().zip(&place.words) {
            let old = u16::from_be_bytes(*word);
            let new = old & stay | set;
            before += u64::from(old);
            after += u64::from(new);
            *word = new.to_be_bytes();
        }
        let is_covered = place.in_ip || place.in_transport.is_some();
        if !is_covered || fold(before) == fold(after) {
            return;
        }
        if place.in_ip {
            self.update_at(start + IPV4_CHECKSUM, before, after);
        }
        if let Some(counted) = place.in_transport
            && let Some((at, kind)) = self.layout.transport_checksum()
            && self.counts(counted, kind)
        {
            self.refresh_transport(at, kind, before, after);
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
