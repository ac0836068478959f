//! HELLO: the versions that a peer speaks. Spec: OpenFlow 1.3.5 section 7.5.1.

use alloc::vec::Vec;

#[cfg(feature = "connections")]
use crate::version::Version;

/// The version bitmap of a hello: bit `n % 32` of word `n / 32` says that wire version `n` is
/// spoken.
///
/// Empty where the hello has no bitmap; then the header's version is the highest one spoken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hello {
    /// The bitmap's words.
    pub bitmap: Vec<u32>,
}

#[cfg(feature = "connections")]
impl Hello {
    /// A hello that offers `versions`.
    pub fn offering(versions: &[Version]) -> Self {
        let mut word = 0;
        for version in versions {
            word |= version.bit();
        }
        Self {
            bitmap: [word].into(),
        }
    }

    /// The version that both sides use: the highest in both bitmaps, or, where the peer sent no
    /// bitmap, the lower of the two highest, if we speak it. `header` is the version in the peer's
    /// header, as its number. `None` if there is none in common.
    pub fn negotiate(&self, header: u8, ours: &[Version]) -> Option<Version> {
        let highest = ours.iter().max().copied()?;
        match self.bitmap.first() {
            Some(theirs) => ours.iter().filter(|v| theirs & v.bit() != 0).max().copied(),
            None => {
                let lower = Version::of_number(header.min(highest.number()));
                lower.filter(|v| ours.contains(v))
            }
        }
    }
}
