//! The pass from bytes to key: what it finds, and the steps that headers are read with.

use bofuss_oflib::Field;
use bofuss_oflib::added_header::{AddedHeader, AnyHeader};
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::{HEADERS, Header};
use bofuss_oflib::field_set::StandardFields;

#[cfg(feature = "fast_path")]
use crate::common_layouts::survey_common;
use crate::configured;
use crate::header;
use crate::key::Key;
use crate::rows::{assert_reach, fields_of, write};

/// The offset of a header that is not there.
pub(crate) const ABSENT: u16 = u16::MAX;
/// The number of frames within frames that a deep parse enters.
const MAX_NESTING: u8 = 4;

/// The part of an IP packet that a frame holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragment {
    /// All of it.
    #[default]
    No,
    /// Its beginning, the transport header included.
    First,
    /// A part without a transport header.
    Later,
}

/// The faults of a frame's headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing that the parser looks at.
    #[default]
    None,
    /// The frame, or the packet in it, ends before a header or a length says.
    Truncated,
    /// A header contradicts itself.
    Malformed,
}

/// The places of a frame's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) offsets: [u16; HEADERS],
    /// The header that an extension brings, and where it begins.
    pub(crate) added: Option<(&'static AddedHeader, usize)>,
    /// The header that follows IP, if it is one that the parser knows.
    pub transport: Option<Header>,
    /// The part of an IP packet that the frame holds.
    pub fragment: Fragment,
    /// The first flaw found.
    pub flaw: Flaw,
    /// True if IPv6 routing continues beyond the destination address, which then is not in the
    /// pseudo-header.
    pub routed: bool,
    /// The offset of IPv6's fragment header; 0 if there is none.
    pub fragment_header: usize,
    /// VLAN tags in front of the Ethernet type.
    pub vlan_tags: u8,
    /// The offset of the IP packet's payload, after options and extension headers; 0 if there is
    /// none.
    pub payload: usize,
    /// The end of the IP packet, or of the frame: what follows is padding.
    pub end: usize,
    /// The headers and fields to look for whose rows are known at run time only.
    pub(crate) additions: &'static Additions,
    /// The fields that the headers have, and the facts about VLAN tags.
    pub fields: StandardFields,
    /// True if they have some that a catalogue has placed there.
    pub has_placed: bool,
    /// A field of OpenFlow that is in no header, and its value.
    pub derived: Option<(&'static Field, u16)>,
}

impl Layout {
    /// Nothing found.
    pub const EMPTY: Self = Self {
        offsets: [ABSENT; HEADERS],
        added: None,
        transport: None,
        fragment: Fragment::No,
        flaw: Flaw::None,
        routed: false,
        fragment_header: 0,
        vlan_tags: 0,
        payload: 0,
        end: 0,
        additions: Additions::NONE,
        fields: StandardFields::EMPTY,
        has_placed: false,
        derived: None,
    };

    /// Nothing found, with what a catalogue has added to look for, too.
    pub const fn seeking(additions: &'static Additions) -> Self {
        Self {
            additions,
            ..Self::EMPTY
        }
    }

    /// Bytes from the frame's start to `header`, if the whole header is there.
    #[inline]
    pub fn offset(&self, header: Header) -> Option<usize> {
        let offset = self.offsets[header as usize];
        (offset != ABSENT).then_some(usize::from(offset))
    }

    /// The same of one that an extension may bring.
    pub fn offset_of_any(&self, header: AnyHeader) -> Option<usize> {
        match header {
            AnyHeader::Known(header) => self.offset(header),
            AnyHeader::Spare => None,
            AnyHeader::Added(row) => {
                let (added, at) = self.added?;
                added.is_named_as(row).then_some(at)
            }
        }
    }

    /// The protocol that the fragment header of IPv6 names, if the frame is a part of a datagram:
    /// all parts name the same, also if the first part has further extension headers.
    pub fn fragment_protocol(&self, bytes: &[u8]) -> Option<u8> {
        if self.fragment == Fragment::No || self.fragment_header == 0 {
            return None;
        }
        bytes.get(self.fragment_header).copied()
    }
}

/// Reads a frame: adds the fields of its headers to `key`, which has none of them, and replaces
/// `layout`. The key says whether the packet begins with an Ethernet header.
///
/// Total: any bytes give a key. The fields of a header that is cut off or contradicts itself are
/// absent.
#[inline]
pub fn parse(bytes: &[u8], key: &mut Key, layout: &mut Layout) {
    survey(bytes, layout);
    if !key.is_of_ethernet() {
        layout.leave_ethernet();
    }
    write(bytes, layout, key);
}

/// Finds the headers of a frame, and replaces `layout` except for the additional headers that it
/// looks for. Returns the number of its layout among `COMMON_LAYOUTS`, if it is one of these; only
/// the feature `fast_path` has them.
#[inline]
pub fn survey(bytes: &[u8], layout: &mut Layout) -> Option<usize> {
    #[cfg(feature = "fast_path")]
    let common = if layout.additions.headers.is_empty() {
        survey_common(bytes, layout)
    } else {
        None
    };
    #[cfg(not(feature = "fast_path"))]
    let common = None;
    if common.is_none() {
        walk(bytes, layout, 0);
    }
    if !layout.additions.placed.is_empty() {
        find_placed(bytes, layout);
    }
    common
}

/// Notes whether a frame has some of the fields to look for.
#[cold]
fn find_placed(bytes: &[u8], layout: &mut Layout) {
    let mut placed = layout.additions.placed.iter();
    layout.has_placed = placed.any(|field| configured::find(field, bytes, layout).is_some());
}

/// Reads a frame through MPLS labels and backbone headers down to the innermost IP packet, and what
/// a catalogue has added after that.
pub fn parse_deep(bytes: &[u8], additions: &'static Additions) -> Layout {
    let mut layout = Layout::seeking(additions);
    walk(bytes, &mut layout, MAX_NESTING);
    layout
}

/// Finds the headers of a frame of any kind, down to this many frames within it.
#[inline(never)]
pub(crate) fn walk(bytes: &[u8], layout: &mut Layout, depth: u8) {
    *layout = Layout {
        end: bytes.len(),
        ..Layout::seeking(layout.additions)
    };
    let mut walk = HeaderWalk {
        bytes,
        layout,
        depth,
    };
    // If the walk ended at a flaw, that is in the layout.
    let _ = header::ethernet(&mut walk, 0);
}

/// A walk along the headers of a frame. Its steps give `None` where the walk ends for a flaw.
pub(crate) struct HeaderWalk<'a> {
    bytes: &'a [u8],
    pub(crate) layout: &'a mut Layout,
    /// The number of frames within the frame that are still to be entered.
    pub(crate) depth: u8,
}

impl<'a> HeaderWalk<'a> {
    /// The `N` bytes at `at`, if the packet has them.
    #[inline(always)]
    pub(crate) fn look<const N: usize>(&self, at: usize) -> Option<&'a [u8; N]> {
        let bytes = self.bytes.get(at..self.layout.end)?;
        bytes.first_chunk().filter(|_| at < usize::from(ABSENT))
    }

    /// The `N` bytes at `at`; a flaw if the packet ends before.
    #[inline(always)]
    pub(crate) fn peek<const N: usize>(&mut self, at: usize) -> Option<&'a [u8; N]> {
        let bytes = self.look(at);
        if bytes.is_none() {
            return self.fail(Flaw::Truncated);
        }
        bytes
    }

    /// A flaw if the packet ends before `end`.
    #[inline(always)]
    pub(crate) fn reach(&mut self, end: usize) -> Option<()> {
        if end > self.layout.end {
            return self.fail(Flaw::Truncated);
        }
        Some(())
    }

    /// Notes that header number `H` stands at `at`, with its fields; gives its first `N` bytes; a
    /// flaw if the packet ends before.
    #[inline(always)]
    pub(crate) fn take<const H: usize, const N: usize>(
        &mut self,
        at: usize,
    ) -> Option<&'a [u8; N]> {
        const { assert_reach(H, N) };
        let bytes = self.peek::<N>(at)?;
        self.layout.offsets[H] = at as u16;
        self.layout.fields.insert(const { fields_of(H) });
        Some(bytes)
    }

    /// Notes a field that is in no header.
    #[inline]
    pub(crate) fn derive(&mut self, field: &'static Field, value: u16) {
        self.layout.fields.insert(StandardFields::of(field));
        self.layout.derived = Some((field, value));
    }

    /// A big-endian number of two bytes at `at`.
    #[inline(always)]
    pub(crate) fn u16(&mut self, at: usize) -> Option<u16> {
        self.peek(at).map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// Ends the packet at `end`: what follows is padding.
    #[inline(always)]
    pub(crate) fn end_at(&mut self, end: usize) {
        if end > self.layout.end {
            self.layout.flaw = Flaw::Truncated;
        } else {
            self.layout.end = end;
        }
    }

    /// Ends the walk.
    pub(crate) fn fail<T>(&mut self, flaw: Flaw) -> Option<T> {
        if self.layout.flaw == Flaw::None {
            self.layout.flaw = flaw;
        }
        None
    }
}
