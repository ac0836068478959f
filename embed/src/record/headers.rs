//! The part of each frame that a record has: all bytes, or the headers and how many bytes follow
//! them.

use alloc::{borrow::Cow, boxed::Box};
use core::fmt;

use bofuss_frame::Frame;
use bofuss_oflib::added_header::{AnyHeader, Sum};
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::Header;
use bofuss_oflib::message::{ErrorMsg, MESSAGES};
use bofuss_oflib::{HEADER_BYTES, Message};
use bofuss_packet::{Fragment, Layout, parse_deep, survey};

use super::RecordedFrame;

/// The part of frames that a record has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameDetail {
    /// All bytes.
    #[default]
    Whole,
    /// Only headers, so that a record does not contain what hosts say to each other. Of an IP
    /// packet, that is everything before the payload of the transport protocol, and up to the last
    /// configured field. Of other frames, and of those whose headers contradict themselves, it is
    /// the first 128 bytes. The same holds for frames in PACKET_IN and PACKET_OUT.
    ///
    /// A replay takes zeros for the rest. The switch computes transport checksums anew where it
    /// cuts super-frames or finishes what a sender left to be done; they cover the rest, so they
    /// are zero in all outputs, recorded or replayed.
    Headers,
}

/// Bytes kept of a frame in which no transport header is found. ARP-Path, LLDP and the like are
/// shorter, and sFlow samples as many by default.
const OTHER_BYTES: usize = 128;
/// Bytes of transport headers; the length of TCP's is in the header.
const TRANSPORT_BYTES: [(Header, usize); 4] = [
    (Header::Udp, 8),
    (Header::Sctp, 12),
    (Header::Icmpv4, 8),
    (Header::Icmpv6, 8),
];
/// The byte of a TCP header whose upper four bits are its length in words of four bytes.
const TCP_LENGTH: usize = 12;
/// Bytes of the fragment header of IPv6.
const FRAGMENT_BYTES: usize = 8;
/// The requests that contain frames; of these, an ERROR quotes only the header.
const WITH_FRAMES: [&str; 2] = ["PACKET_OUT", "BUNDLE_ADD_MESSAGE"];

impl FrameDetail {
    /// Each value with its name.
    pub const NAMES: &[(Self, &str)] = &[(Self::Whole, "whole"), (Self::Headers, "headers")];

    /// The line that begins a run; the number is that of the format.
    pub fn first_line(self) -> &'static str {
        match self {
            Self::Whole => super::FIRST_LINE,
            Self::Headers => super::FIRST_HEADERS_LINE,
        }
    }

    /// Records a frame that arrives.
    pub(super) fn of_input(self, frame: &Frame, additions: &'static Additions) -> RecordedFrame {
        if self == Self::Whole {
            return frame.into();
        }
        let end = headers_end(frame.bytes(), additions);
        let (kept, omitted) = frame.bytes().split_at(end);
        RecordedFrame {
            bytes: kept.into(),
            omitted_bytes: omitted.len(),
            offload: frame.offload,
            tunnel_id: frame.tunnel_id,
        }
    }

    /// Records a frame that leaves.
    pub(super) fn of_output(self, frame: &Frame, additions: &'static Additions) -> RecordedFrame {
        let mut recorded = self.of_input(frame, additions);
        if self == Self::Headers {
            clear_checksum(&mut recorded.bytes, frame.bytes(), additions);
        }
        recorded
    }

    /// Returns the recorded part of a message.
    pub(super) fn of_message<'m>(
        self,
        message: &'m Message,
        additions: &'static Additions,
    ) -> Cow<'m, Message> {
        if self == Self::Whole {
            return Cow::Borrowed(message);
        }
        match message {
            Message::PacketIn(packet) => {
                let mut packet = packet.clone();
                let original = packet.data.0.clone();
                clear_payload(&mut packet.data.0, additions);
                clear_checksum(&mut packet.data.0, &original, additions);
                Cow::Owned(Message::PacketIn(packet))
            }
            Message::PacketOut(packet) => {
                let mut packet = packet.clone();
                clear_payload(&mut packet.data.0, additions);
                Cow::Owned(Message::PacketOut(packet))
            }
            Message::BundleAdd(add) => {
                let mut add = add.clone();
                add.message = Box::new(self.of_message(&add.message, additions).into_owned());
                Cow::Owned(Message::BundleAdd(add))
            }
            Message::Error(error) => Cow::Owned(Message::Error(self.of_error(error))),
            Message::Hello(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::Experimenter(_)
            | Message::FeaturesRequest(_)
            | Message::FeaturesReply(_)
            | Message::GetConfigRequest(_)
            | Message::GetConfigReply(_)
            | Message::SetConfig(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::FlowMod(_)
            | Message::GroupMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::MultipartRequest(_)
            | Message::MultipartReply(_)
            | Message::BarrierRequest(_)
            | Message::BarrierReply(_)
            | Message::QueueGetConfigRequest(_)
            | Message::QueueGetConfigReply(_)
            | Message::RoleRequest(_)
            | Message::RoleReply(_)
            | Message::GetAsyncRequest(_)
            | Message::GetAsyncReply(_)
            | Message::SetAsync(_)
            | Message::MeterMod(_)
            | Message::RoleStatus(_)
            | Message::TableStatus(_)
            | Message::RequestForward(_)
            | Message::BundleControl(_)
            | Message::ControllerStatus(_) => Cow::Borrowed(message),
        }
    }

    /// Returns the recorded part of an ERROR.
    fn of_error(self, error: &ErrorMsg) -> ErrorMsg {
        let mut error = error.clone();
        let quoted = self.of_head(&error.data.0).len();
        error.data.0.truncate(quoted);
        error
    }

    /// Returns the recorded part of a message's first bytes, which an ERROR quotes.
    pub(super) fn of_head(self, head: &[u8]) -> &[u8] {
        let number = head.get(1);
        let mut rows = MESSAGES.iter();
        let row = rows.find(|row| Some(&row.0) == number);
        let has_frame = row.is_some_and(|row| WITH_FRAMES.contains(&row.1));
        if self == Self::Headers && has_frame {
            return &head[..head.len().min(HEADER_BYTES)];
        }
        head
    }
}

impl fmt::Display for FrameDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = Self::NAMES.iter();
        let row = rows.find(|row| row.0 == *self);
        f.write_str(row.expect("every detail has a name").1)
    }
}

impl RecordedFrame {
    /// The recorded bytes, and zeros for those that were left out.
    pub fn filled(&self) -> Cow<'_, [u8]> {
        if self.omitted_bytes == 0 {
            return Cow::Borrowed(&self.bytes);
        }
        let mut bytes = self.bytes.clone();
        bytes.resize(self.bytes.len() + self.omitted_bytes, 0);
        Cow::Owned(bytes)
    }
}

/// Returns how many bytes of a frame are recorded: up to the end of the last header or configured
/// field.
fn headers_end(bytes: &[u8], additions: &'static Additions) -> usize {
    let mut outer = Layout::seeking(additions);
    survey(bytes, &mut outer);
    let inner = parse_deep(bytes, additions);
    let known = transport_end(bytes, &inner).unwrap_or(OTHER_BYTES);
    let added = additions_end(&outer, additions).max(additions_end(&inner, additions));
    known.max(added).min(bytes.len())
}

/// Returns where the transport header of a frame ends, or its IP header if no known transport
/// header follows; `None` without IP.
fn transport_end(bytes: &[u8], layout: &Layout) -> Option<usize> {
    let at = layout.payload;
    if layout.fragment == Fragment::Later {
        let ipv4 = layout.offset(Header::Ipv4);
        let ipv6 = layout.fragment_header + FRAGMENT_BYTES;
        return Some(ipv4.map_or(ipv6, |at| at + 4 * usize::from(bytes[at] & 15)));
    }
    if at == 0 {
        return None;
    }
    if layout.offset(Header::Nd).is_some() {
        return Some(layout.end);
    }
    if layout.transport == Some(Header::Tcp) {
        return Some(at + 4 * usize::from(bytes[at + TCP_LENGTH] >> 4));
    }
    let row = TRANSPORT_BYTES
        .iter()
        .find(|row| Some(row.0) == layout.transport);
    Some(at + row.map_or(0, |row| row.1))
}

/// Returns where the last of the fields and headers that a catalogue has added ends.
fn additions_end(layout: &Layout, additions: &'static Additions) -> usize {
    let mut end = 0;
    for row in &additions.headers {
        if let Some(start) = layout.offset_of_any(AnyHeader::Added(row)) {
            end = end.max(start + usize::from(row.bytes));
        }
    }
    for place in additions.placed.iter().flat_map(|field| field.at) {
        if let Some(start) = layout.offset_of_any(place.header) {
            end = end.max(start + usize::from(place.bit + place.bits).div_ceil(8));
        }
    }
    end
}

/// Sets all bytes of a frame after its headers to zero.
fn clear_payload(bytes: &mut [u8], additions: &'static Additions) {
    let end = headers_end(bytes, additions);
    bytes[end..].fill(0);
}

/// Sets the transport checksum to zero in the recorded bytes of a frame.
fn clear_checksum(kept: &mut [u8], bytes: &[u8], additions: &'static Additions) {
    let Some((at, kind)) = parse_deep(bytes, additions).transport_checksum() else {
        return;
    };
    let checksum_bytes = if kind == Sum::Crc32c { 4 } else { 2 };
    if let Some(checksum) = kept.get_mut(at..at + checksum_bytes) {
        checksum.fill(0);
    }
}
