//! Reads a state: whether it is one, and its records.

use alloc::format;

use bofuss_datapath::Time;
use bofuss_packet::checksum::crc32c;

use super::{
    EARLIER_FIRST_LINE, FIRST_LINE, MAGIC, MAX_STATE_BYTES, RECORD_HEAD_BYTES, SUM_BYTES,
    StateError, kind,
};

/// A state that is whole: its checksum is right.
#[derive(Clone, Copy, Debug)]
pub struct SavedState<'a> {
    /// Nanoseconds since 1970 when it was saved.
    pub unix_ns: u64,
    /// The time of the switch then.
    pub time: Time,
    pub(super) generation_id: Option<u64>,
    /// The checksum of the features of tables as configured.
    pub(super) configured: [u8; 4],
    pub(super) records: Records<'a>,
}

/// Reads numbers from the front of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl<'a> Numbers<'a> {
    /// The next bytes, if there are so many.
    pub(super) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}

/// The records after the first, which are whole: kind and payload of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records<'a>(Numbers<'a>);

impl<'a> Iterator for Records<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let [kind] = self.0.take()?;
        let length = self.0.u32()? as usize;
        let (payload, rest) = self.0.0.split_at_checked(length)?;
        self.0.0 = rest;
        Some((kind, payload))
    }
}

impl<'a> SavedState<'a> {
    /// Reads a state. Errors: it is none, it was cut off or damaged, or another version wrote it.
    pub fn read(bytes: &'a [u8]) -> Result<Self, StateError> {
        let wrong = |what: &str| StateError(what.into());
        if !bytes.starts_with(MAGIC) {
            return Err(wrong("it is no state of a switch"));
        }
        if !bytes.starts_with(FIRST_LINE) && !bytes.starts_with(EARLIER_FIRST_LINE) {
            return Err(wrong("another version of bofuss has written it"));
        }
        if bytes.len() > MAX_STATE_BYTES {
            let most = MAX_STATE_BYTES >> 20;
            return Err(StateError(format!("it is larger than {most} MiB")));
        }
        let whole = bytes.split_last_chunk::<SUM_BYTES>();
        let (state, sum) = whole.ok_or_else(|| wrong("it is cut off"))?;
        if state.len() < FIRST_LINE.len() || crc32c(state) != *sum {
            return Err(wrong("it is cut off or damaged: its checksum is wrong"));
        }
        let mut records = Records(Numbers(&state[FIRST_LINE.len()..]));
        let head = records.next().filter(|record| record.0 == kind::HEAD);
        let head = head.and_then(|record| Self::of_head(Numbers(record.1), records));
        let head = head.ok_or_else(|| wrong("its first record is wrong"))?;
        let mut all = head.records;
        let bytes = all
            .by_ref()
            .map(|record| record.1.len() + RECORD_HEAD_BYTES);
        let bytes: usize = bytes.sum();
        if bytes != records.0.0.len() {
            return Err(wrong("a record is longer than the rest"));
        }
        Ok(head)
    }

    fn of_head(mut head: Numbers<'a>, records: Records<'a>) -> Option<Self> {
        let unix_ns = head.u64()?;
        let time = Time(head.u64()?);
        let [has_generation] = head.take()?;
        let generation = head.u64()?;
        Some(Self {
            unix_ns,
            time,
            generation_id: (has_generation != 0).then_some(generation),
            configured: head.take()?,
            records,
        })
    }

    /// The time at which a switch goes on, at `unix_ns` nanoseconds since 1970. If the clock was
    /// set back, no time has passed.
    pub fn resumed_at(&self, unix_ns: u64) -> Time {
        self.time.after(unix_ns.saturating_sub(self.unix_ns))
    }
}
