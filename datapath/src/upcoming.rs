//! Packets that will go through the tables soon, of which little is read yet.

use alloc::vec::Vec;

use bofuss_frame::Frame;
use bofuss_oflib::Field;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::Header;
use bofuss_packet::key::KEY_WORDS;
use bofuss_packet::{Fragment, Key, Layout, survey};

use crate::Time;
use crate::slab::NONE;

/// The most words that are read ahead of a flow: where its path starts, and those of its key but
/// for the tail.
pub(crate) const WORDS: usize = 1 + KEY_WORDS;

/// Packets of a burst, in their order.
pub struct Upcoming<'a> {
    /// The time at which they will most likely be looked up.
    pub now: Time,
    pub(crate) frames: &'a [Frame],
    pub(crate) lookaheads: &'a [Lookahead],
    /// The key without what headers say.
    pub(crate) arrival: &'a Key,
    /// The fields that they will most likely be given.
    pub(crate) foreseen: &'a mut Foreseen,
}

impl Upcoming<'_> {
    /// How many there are.
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

    /// Says that [`crate::Hook::before_lookup`] will most likely set a field of at most 64 bits
    /// that stands in no header, to these values, one for each packet; `None` makes it absent. So
    /// what is known of the packets' flows can be prefetched, too. Whether it comes true changes
    /// nothing else.
    #[inline]
    pub fn foresee(&mut self, field: &'static Field, values: impl Iterator<Item = Option<u64>>) {
        debug_assert!(field.at.is_empty() && field.bits <= 64);
        self.foreseen.add(field, values);
    }

    /// The same, if it is one value for all packets.
    #[inline]
    pub fn foresee_same(&mut self, field: &'static Field, value: Option<u64>) {
        debug_assert!(field.at.is_empty() && field.bits <= 64);
        self.foreseen.same.push((field, value));
    }
}

/// What is read of a frame to find its flow.
#[derive(Debug)]
pub(crate) struct Lookahead {
    pub(crate) layout: Layout,
    /// The number of the layout among the common ones, if it is one of these.
    pub(crate) common: Option<usize>,
    /// Where its path starts, and the words of its key that count, then zeros.
    pub(crate) words: [u64; WORDS],
    /// Whether they are known, but for what hooks set.
    pub(crate) is_read: bool,
    /// Its number among the frames that hooks were shown together, if they were.
    pub(crate) number: Option<usize>,
    /// Their hash; none if they are not known.
    pub(crate) hash: Option<u64>,
    /// The bucket of the index in which that is.
    pub(crate) bucket: usize,
    /// The flow that it most likely is of.
    pub(crate) guess: u32,
}

impl Lookahead {
    /// Of nothing, with what a catalogue has added to look for.
    pub(crate) fn seeking(additions: &'static Additions) -> Self {
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

    /// Begins anew with a frame: finds its headers.
    #[inline]
    pub(crate) fn survey(&mut self, bytes: &[u8]) {
        self.common = survey(bytes, &mut self.layout);
        (self.is_read, self.number) = (false, None);
        self.hash = None;
    }

    /// Makes this one of a packet without an Ethernet header.
    pub(crate) fn leave_ethernet(&mut self) {
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
    /// The value of a field, if the packet has it as it arrives. One that an extension has placed
    /// in a header is taken for absent.
    #[inline]
    pub fn get(&self, field: &Field) -> Option<u128> {
        arriving_value(field, self.arrival, self.layout, self.bytes)
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it is a part of a datagram.
    #[inline]
    pub fn fragment(&self) -> Fragment {
        self.layout.fragment
    }

    /// Where a header begins, if the packet has all of it.
    #[inline]
    pub fn offset(&self, header: Header) -> Option<usize> {
        self.layout.offset(header)
    }
}

/// Fields that the packets of a burst will most likely be given.
#[derive(Debug, Default)]
pub(crate) struct Foreseen {
    n_packets: usize,
    /// The fields that have one value for all packets.
    pub(crate) same: Vec<(&'static Field, Option<u64>)>,
    /// The others.
    fields: Vec<&'static Field>,
    /// The values of the first of these, one for each packet, then those of the next one.
    values: Vec<Option<u64>>,
}

impl Foreseen {
    /// Forgets all fields. They will be foreseen for `n_packets` packets, at least one.
    pub(crate) fn clear(&mut self, n_packets: usize) {
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
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&'static Field, &[Option<u64>])> {
        let fields = self.fields.iter().copied();
        fields.zip(self.values.chunks_exact(self.n_packets))
    }

    /// The fields of one packet and their values.
    pub(crate) fn of(&self, number: usize) -> impl Iterator<Item = (&'static Field, Option<u128>)> {
        let own = self
            .columns()
            .map(move |(field, values)| (field, values[number]));
        let all = self.same.iter().copied().chain(own);
        all.map(|(field, value)| (field, value.map(u128::from)))
    }
}

/// The value of a field of a packet that arrives with a key, but for what its headers say, and with
/// these headers; `None` if it has none, or if an extension has placed it in a header.
#[inline]
pub(crate) fn arriving_value(
    field: &Field,
    arrival: &Key,
    layout: &Layout,
    bytes: &[u8],
) -> Option<u128> {
    if field.at.is_empty()
        && let Some(value) = arrival.get(field, &mut ())
    {
        return Some(value);
    }
    layout.value(bytes, field)
}
