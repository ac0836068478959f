//! TCP segments: reads and writes the header with its options.

/// FIN: the sender has nothing more to send.
pub const FIN: u8 = 0x01;
/// SYN: the first segment of a direction.
pub const SYN: u8 = 0x02;
/// RST: there is no such connection.
pub const RST: u8 = 0x04;
/// PSH: the receiver should pass the data on at once.
pub const PSH: u8 = 0x08;
/// ACK: the acknowledgement number is valid.
pub const ACK: u8 = 0x10;
/// ECE: a marked packet arrived; in a SYN, this end supports marks. Spec: RFC 3168.
pub const ECE: u8 = 0x40;
/// CWR: the window was reduced because of ECE.
pub const CWR: u8 = 0x80;

/// The ECN codepoint of IP packets that may be marked instead of dropped. Spec: RFC 3168 section 5.
pub const ECT_0: u8 = 2;
/// The mark: the ECN codepoint that a congested queue sets.
pub const CE: u8 = 3;

/// Bytes of a header without options.
pub const HEADER_BYTES: usize = 20;
/// Bytes that the timestamps take in each segment, padded to whole words. Spec: RFC 7323 appendix
/// A.
pub const TIMESTAMPS_BYTES: usize = 12;
/// Ranges that fit next to timestamps. Spec: RFC 2018 section 3.
pub const MAX_SACK_RANGES: usize = 3;

/// Kinds of options. Spec: RFC 9293 section 3.1, RFC 7323, RFC 2018.
mod kind {
    pub const END: u8 = 0;
    pub const NOP: u8 = 1;
    pub const MSS: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
}

/// One segment. Of its payload there is only the length; on the wire it is zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// The sequence number that is expected next, if [`ACK`] is set.
    pub ack: u32,
    /// [`FIN`], [`SYN`], [`RST`], [`PSH`], [`ACK`], [`ECE`] and [`CWR`].
    pub flags: u8,
    /// The ECN codepoint of its IP packet: not part of the header.
    pub ecn: u8,
    /// The window as in the header, not scaled.
    pub window: u16,
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Bits by which windows are shifted.
    pub window_scale: Option<u8>,
    /// SACK-permitted.
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// Ranges received out of order: the first number, and the one after the last.
    pub sack: [Option<(u32, u32)>; MAX_SACK_RANGES],
    /// Bytes of payload.
    pub len: usize,
}

impl Segment {
    /// Reads a segment; `bytes` is what follows the IP header. The checksum is not checked.
    ///
    /// Errors: `None` if the header is cut off or contradicts itself. An option that is cut off
    /// ends the options.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<HEADER_BYTES>()?;
        let header_bytes = usize::from(header[12] >> 4) * 4;
        let options = bytes.get(HEADER_BYTES..header_bytes)?;
        let mut segment = Self {
            src_port: u16::from_be_bytes([header[0], header[1]]),
            dst_port: u16::from_be_bytes([header[2], header[3]]),
            seq: u32_at(header, 4)?,
            ack: u32_at(header, 8)?,
            flags: header[13],
            window: u16::from_be_bytes([header[14], header[15]]),
            len: bytes.len() - header_bytes,
            ..Self::default()
        };
        segment.read_options(options);
        Some(segment)
    }

    fn read_options(&mut self, mut options: &[u8]) {
        while let Some((&option, rest)) = options.split_first() {
            if option == kind::NOP {
                options = rest;
                continue;
            }
            let Some(&length) = rest.first() else { return };
            let Some(body) = options.get(2..usize::from(length)) else {
                return;
            };
            if option == kind::END {
                return;
            }
            self.read_option(option, body);
            options = &options[usize::from(length)..];
        }
    }

    fn read_option(&mut self, option: u8, body: &[u8]) {
        match (option, body) {
            (kind::MSS, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            // Spec: RFC 7323 section 2.3: more than 14 counts as 14.
            (kind::WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift.min(14)),
            (kind::SACK_PERMITTED, &[]) => self.sack_permitted = true,
            (kind::TIMESTAMPS, _) => self.timestamps = u32_at(body, 0).zip(u32_at(body, 4)),
            (kind::SACK, _) => {
                for (range, at) in self.sack.iter_mut().zip((0..).step_by(8)) {
                    *range = u32_at(body, at).zip(u32_at(body, at + 4));
                }
            }
            _ => {}
        }
    }

    /// Appends the header with its options. The checksum is zero; the payload is not written.
    pub fn write_header(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend(self.src_port.to_be_bytes());
        bytes.extend(self.dst_port.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend([0, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        self.write_options(bytes);
        let words = (bytes.len() - start) / 4;
        bytes[start + 12] = (words as u8) << 4;
    }

    /// Each option is padded in front to whole words, as in Linux.
    fn write_options(&self, bytes: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            bytes.extend([kind::MSS, 4]);
            bytes.extend(mss.to_be_bytes());
        }
        if self.sack_permitted {
            bytes.extend([kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]);
        }
        if let Some((value, echo)) = self.timestamps {
            bytes.extend([kind::NOP, kind::NOP, kind::TIMESTAMPS, 10]);
            bytes.extend(value.to_be_bytes());
            bytes.extend(echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            bytes.extend([kind::NOP, kind::WINDOW_SCALE, 3, shift]);
        }
        let ranges = self.sack.iter().flatten().count() as u8;
        if ranges > 0 {
            bytes.extend([kind::NOP, kind::NOP, kind::SACK, 2 + 8 * ranges]);
        }
        for (first, after) in self.sack.iter().flatten() {
            bytes.extend(first.to_be_bytes());
            bytes.extend(after.to_be_bytes());
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let syn = Segment {
            src_port: 5,
            dst_port: 6,
            seq: 0xffff_fffe,
            ack: 7,
            flags: SYN | ACK,
            window: 0xffff,
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((8, 9)),
            ..Segment::default()
        };
        let data = Segment {
            flags: ACK,
            timestamps: Some((8, 9)),
            sack: [Some((1, 2)), Some((5, 3)), None],
            len: 100,
            ..Segment::default()
        };
        for segment in [syn, data] {
            let mut bytes = Vec::new();
            segment.write_header(&mut bytes);
            bytes.resize(bytes.len() + segment.len, 0);
            assert_eq!(Segment::read(&bytes), Some(segment));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_segment_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Some(segment) = Segment::read(&bytes) {
                prop_assert!(segment.len + HEADER_BYTES <= bytes.len());
            }
        }
    }
}
