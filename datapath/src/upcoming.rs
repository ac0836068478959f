//! Packets that will soon go through the tables, for prefetching.

use alloc::vec::Vec;

use bofuss_frame::Frame;
use bofuss_oflib::Field;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::Header;
use bofuss_packet::key::KEY_WORDS;
use bofuss_packet::{Key, Layout, survey};

use crate::Time;
use crate::slab::NONE;

/// The most words that are read ahead: the start of the path, and the words of the key without its
/// tail.
pub const WORDS: usize = 1 + KEY_WORDS;

/// The packets of a burst, in order.
pub struct Upcoming<'a> {
    /// The time at which they will most likely be looked up.
    pub now: Time,
    /// Their frames,
    pub frames: &'a [Frame],
    /// and what was read ahead of each.
    pub lookaheads: &'a [Lookahead],
    /// The key without the fields of headers.
    pub arrival: &'a Key,
    /// The fields that hooks will most likely set.
    pub predicted: &'a mut Predicted,
}

impl Upcoming<'_> {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Each of them.
    #[inline]
    pub fn packets(&self) -> impl Iterator<Item = UpcomingPacket<'_>> {
        let both = self.frames.iter().zip(self.lookaheads);
        both.map(|(frame, lookahead)| UpcomingPacket {
            bytes: frame.bytes(),
            layout: &lookahead.layout,
            arrival: self.arrival,
        })
    }

    /// Announces that [`crate::Hook::before_lookup`] will most likely set a field to these values,
    /// one for each packet; `None` marks it as absent. The field has at most 64 bits and is in no
    /// header. So the packets' flows can be prefetched. A wrong prediction costs time and has no
    /// other effect.
    #[inline]
    pub fn predict(&mut self, field: &'static Field, values: impl Iterator<Item = Option<u64>>) {
        debug_assert!(field.at.is_empty() && field.bits <= 64);
        self.predicted.add(field, values);
    }

    /// As [`Self::predict`], with one value for all packets.
    #[inline]
    pub fn predict_same(&mut self, field: &'static Field, value: Option<u64>) {
        debug_assert!(field.at.is_empty() && field.bits <= 64);
        self.predicted.same.push((field, value));
    }
}

/// The fields that are read ahead from a frame to find its flow.
#[derive(Debug)]
pub struct Lookahead {
    /// The places of its headers.
    pub layout: Layout,
    /// The number of the layout among the common ones, if it is one of these.
    pub common: Option<usize>,
    /// The words that identify its flow (the start of its path, and the masked words of its key),
    /// then zeros.
    pub words: [u64; WORDS],
    /// True if they are complete, except for fields that hooks set.
    pub is_read: bool,
    /// Its number among the frames for which hooks prefetched, if they did.
    pub number: Option<usize>,
    /// Their hash; `None` if they are not complete.
    pub hash: Option<u64>,
    /// The bucket of the index for that hash.
    pub bucket: usize,
    /// The flow that it most likely belongs to.
    pub guess: u32,
}

impl Lookahead {
    /// An empty lookahead that also looks for what a catalogue has added.
    pub fn seeking(additions: &'static Additions) -> Self {
        Self {
            layout: Layout::seeking(additions),
            common: None,
            words: [0; WORDS],
            is_read: false,
            number: None,
            hash: None,
            bucket: 0,
            guess: NONE,
        }
    }

    /// Resets it for a frame, and finds the frame's headers.
    #[inline]
    pub fn survey(&mut self, bytes: &[u8]) {
        self.common = survey(bytes, &mut self.layout);
        (self.is_read, self.number) = (false, None);
        self.hash = None;
    }

    /// Turns it into the lookahead of a packet without an Ethernet header.
    pub fn leave_ethernet(&mut self) {
        self.common = None;
        self.layout.leave_ethernet();
    }
}

/// One packet of a burst.
#[derive(Clone, Copy)]
pub struct UpcomingPacket<'a> {
    bytes: &'a [u8],
    layout: &'a Layout,
    arrival: &'a Key,
}

impl<'a> UpcomingPacket<'a> {
    /// The value that a field has when the packet arrives, if it has the field. A field that an
    /// extension has placed in a header counts as absent.
    #[inline]
    pub fn get(&self, field: &Field) -> Option<u128> {
        arriving_value(field, self.arrival, self.layout, self.bytes)
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The places of its headers.
    #[inline]
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The beginning of a header, if the packet has the whole header.
    #[inline]
    pub fn offset(&self, header: Header) -> Option<usize> {
        self.layout.offset(header)
    }
}

/// The fields that hooks will most likely set in the packets of a burst.
#[derive(Debug, Default)]
pub struct Predicted {
    n_packets: usize,
    /// The fields that have one value for all packets.
    pub same: Vec<(&'static Field, Option<u64>)>,
    /// The others.
    fields: Vec<&'static Field>,
    /// The values of the first of these, one for each packet, then those of the next one.
    values: Vec<Option<u64>>,
}

impl Predicted {
    /// Forgets all fields. They will be predicted for `n_packets` packets, at least one.
    pub fn clear(&mut self, n_packets: usize) {
        self.n_packets = n_packets;
        self.same.clear();
        self.fields.clear();
        self.values.clear();
    }

    fn add(&mut self, field: &'static Field, values: impl Iterator<Item = Option<u64>>) {
        self.fields.push(field);
        self.values.extend(values.take(self.n_packets));
        let end = self.fields.len() * self.n_packets;
        self.values.resize(end, None);
    }

    /// Each field whose values may differ, with one for each packet.
    pub fn columns(&self) -> impl Iterator<Item = (&'static Field, &[Option<u64>])> {
        let fields = self.fields.iter().copied();
        fields.zip(self.values.chunks_exact(self.n_packets))
    }

    /// The fields of one packet and their values.
    pub fn of(&self, number: usize) -> impl Iterator<Item = (&'static Field, Option<u128>)> {
        let own = self
            .columns()
            .map(move |(field, values)| (field, values[number]));
        let all = self.same.iter().copied().chain(own);
        all.map(|(field, value)| (field, value.map(u128::from)))
    }
}

/// The value of a field of an arriving packet with these headers; `key` has the fields that are in
/// no header. `None` if the packet does not have it, or if an extension has placed it in a header.
#[inline]
pub fn arriving_value(field: &Field, arrival: &Key, layout: &Layout, bytes: &[u8]) -> Option<u128> {
    let arrived = if field.at.is_empty() {
        arrival.get(field, &mut ())
    } else {
        None
    };
    arrived.or_else(|| layout.value(bytes, field))
}
