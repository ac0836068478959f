//! HELLO: the versions that a peer speaks. Spec: OpenFlow 1.3.5 section 7.5.1.

use alloc::vec::Vec;
use core::fmt;

use crate::codec::Version;
use crate::error::{BadRequest, DecodeError};
use crate::wire::{Reader, Wire, Writer};

/// The element type of the version bitmap.
const VERSION_BITMAP: u16 = 1;

/// The version bitmap of a hello: bit `n % 32` of word `n / 32` says that wire version `n` is
/// spoken.
///
/// Empty where the hello has no bitmap; then the header's version is the highest one spoken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The bitmap's words.
    pub bitmap: Vec<u32>,
}

impl Hello {
    /// A hello that offers `versions`.
    pub fn offering(versions: &[Version]) -> Self {
        Self {
            bitmap: [versions.iter().fold(0, |map, v| map | v.bit())].into(),
        }
    }

    /// The version that both sides use: the highest in both bitmaps, or, where the peer sent no
    /// bitmap, the lower of the two highest, if we speak it. `header` is the version in the peer's
    /// header. `None` if there is none in common.
    pub fn negotiate(&self, header: Version, ours: &[Version]) -> Option<Version> {
        let highest = ours.iter().max().copied()?;
        match self.bitmap.first() {
            Some(theirs) => ours.iter().filter(|v| theirs & v.bit() != 0).max().copied(),
            None => Some(highest.min(header)).filter(|v| ours.contains(v)),
        }
    }
}

impl Hello {
    /// Reads one element with its padding. Errors: it is malformed.
    fn read_element(&mut self, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        let start = r.position();
        let mut element = r.at("hello element").sized(2, 4, 0, BadRequest::BAD_LEN)?;
        let ty = element.get::<u16>()?;
        element.take(2)?;
        if ty == VERSION_BITMAP {
            self.bitmap = element.at("version bitmap").get()?;
        }
        let length = r.position() - start;
        r.take((length.next_multiple_of(8) - length).min(r.remaining()))?;
        Ok(())
    }
}

impl Wire for Hello {
    /// Unknown elements are skipped. Choice: a malformed one ends the list, and what came before
    /// counts: the version in the header is one that the peer speaks.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut hello = Self::default();
        while !r.is_empty() && hello.read_element(r).is_ok() {}
        r.rest();
        Ok(hello)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        if !self.bitmap.is_empty() {
            let start = w.bytes.len();
            w.put(&VERSION_BITMAP).put(&0u16).put(&self.bitmap);
            w.patch_length(start, start + 2);
            w.align8(start);
        }
    }

    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "versions=";
        for (word, bits) in self.bitmap.iter().enumerate() {
            for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
                write!(f, "{comma}{}", Version((32 * word + bit) as u8))?;
                comma = ",";
            }
        }
        Ok(())
    }
}
