//! Explicit congestion notification: marks frames instead of dropping them. RFC 3168.

use bofuss_frame::Frame;
use bofuss_oflib::field::IP_ECN;
use bofuss_packet::{Headers, Layout, survey};

/// The codepoints of the ECN field: ECT(1) and ECT(0) say that the sender understands marks; CE is
/// the mark.
const CAPABLE: core::ops::RangeInclusive<u128> = 1..=2;
const MARK: u8 = 3;

/// The ECN codepoint of an IP frame, and its layout.
fn codepoint(frame: &Frame) -> (Option<u128>, Layout) {
    let mut layout = Layout::EMPTY;
    survey(frame.bytes(), &mut layout);
    (layout.value(frame.bytes(), IP_ECN), layout)
}

/// Marks a frame, no super-frame, if its sender understands marks. Returns true if it was marked.
pub fn mark(frame: &mut Frame) -> bool {
    let (ecn, layout) = codepoint(frame);
    if !ecn.is_some_and(|ecn| CAPABLE.contains(&ecn)) {
        return false;
    }
    let mut value = [0; 16];
    value[0] = MARK;
    let layout = &layout;
    let done = Headers { frame, layout }.set_field(IP_ECN, &value);
    done.map(|_| true).expect("its value was read just now")
}

#[cfg(test)]
mod tests {
    use bofuss_frame::Pool;
    use bofuss_oflib::Mac;
    use bofuss_packet::craft;

    use super::*;

    #[test]
    fn packets_of_senders_that_understand_it_are_marked_and_others_left() {
        let pool = Pool::new(1 << 20);
        let one = [10, 0, 0, 1].into();
        let v4 = craft::ipv4(one, one, 64, craft::udp(1, 2, &[]));
        let one = [0xfd00, 0, 0, 0, 0, 0, 0, 1].into();
        let v6 = craft::ipv6(one, one, 64, craft::udp(1, 2, &[]));
        // In the second byte of the header: the last bits of IPv4's, of IPv6's those before 4 more.
        for (ip, shift) in [(v4, 0), (v6, 4)] {
            let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
            for (ecn, expected) in [(0, 0), (1, 3), (2, 3), (3, 3)] {
                let mut frame = pool.frame(&bytes).expect("within the limit");
                frame.bytes_mut()[15] |= ecn << shift;
                mark(&mut frame);
                assert_eq!(codepoint(&frame).0, Some(expected), "{ecn}");
            }
        }
        let mut other = pool.frame(&[0xff; 60]).expect("within the limit");
        mark(&mut other);
        assert_eq!(other.bytes(), [0xff; 60]);
    }
}
