//! Bundles and their time, which the ONF added to 1.3 as 1.4 has them, and messages in messages.
//! Spec: ONF extension 230, OpenFlow 1.4.1 section 7.3.9; ONF extension 340, as 1.5.1 has it in
//! sections 7.3.5.22 and 7.3.9.

use alloc::{boxed::Box, vec::Vec};
use core::ops::RangeInclusive;

use super::{Properties, V1_3, layout, onf, properties, read_properties, with_properties};
use crate::codec::HEADER_BYTES;
use crate::error::{BadRequest, BundleFailed, DecodeError, ErrorCode};
use crate::forms::{Form, write_body};
use crate::message::bundle::{BundleAdd, BundleControl, Timestamp};
use crate::message::multipart::bundle_features::{
    BundleFeatures, BundleFeaturesRequest, TimeCapability,
};
use crate::message::property::ExperimenterProperty;
use crate::message::{Message, TYPE_OFFSET};
use crate::wire::{Reader, Writer};

with_properties! {
    V1_3;
    BundleControl { bundle_id, ty, flags }
    // Bits of the features that the controller asks for; those of time need a property.
    BundleFeaturesRequest { flags => 4 }
    BundleFeatures { capabilities => 6 }
}

properties! {
    BundleControl {
        // OFPBPT_TIME: when a commit is to be carried out. The padding aligns the 64-bit seconds.
        1 pad 4 option scheduled;
    }
    BundleFeaturesRequest {
        1 pad 4 option time_capability;
    }
    BundleFeatures {
        1 pad 4 option time_capability;
    }
    Experimenters {}
}

layout! {
    V1_3;
    // Seconds since 1970, and the nanoseconds beyond them.
    Timestamp { seconds, nanoseconds => 4 }
    // Four times in the form of a timestamp: how exact a commit is, how far ahead of the switch's
    // clock and how late it may be, and what the clock says.
    TimeCapability { sched_accuracy, sched_max_future, sched_max_past, timestamp }
}

/// Properties of experimenters alone.
///
/// BUNDLE_ADD_MESSAGE has no others, but its message stands before them, so that it cannot be a row
/// of `with_properties!`.
struct Experimenters {
    experimenters: Vec<ExperimenterProperty>,
}

/// The types of messages with a message in them: none stands within another.
///
/// They are REQUESTFORWARD, BUNDLE_CONTROL, which has none but cannot be in a bundle either, and
/// BUNDLE_ADD_MESSAGE. Without this limit, a peer could make the decoder recurse as deep as a
/// message is long.
const WITH_MESSAGE: RangeInclusive<u8> = 32..=onf::BUNDLE_ADD;

/// Reads a whole message with its header, in the version of that around it; gives its transaction
/// id, too.
///
/// Errors: `bad_length` for a length less than a header or past the window, `bad_type` for a
/// message that has one in it, BAD_REQUEST/BAD_VERSION, or the message's.
///
/// The inner version must be that of the connection: a message in a bundle is executed as if it had
/// come alone.
pub(crate) fn read_message(
    r: &mut Reader<'_>,
    bad_length: ErrorCode,
    bad_type: ErrorCode,
) -> Result<(u32, Message), DecodeError> {
    let mut window = r
        .at("message length")
        .sized(2, HEADER_BYTES, 0, bad_length)?;
    let at_version = window.at("message version").clone();
    let version: u8 = window.get()?;
    let at_type = window.at("message type").clone();
    let ty: u8 = window.get()?;
    window.take(2)?;
    let xid = window.at("xid").get()?;
    // The whole header is read before it is judged, so that a short one is a wrong length.
    if version != r.version().number() {
        return Err(at_version.err(BadRequest::BAD_VERSION));
    }
    if WITH_MESSAGE.contains(&ty) || onf::newer_type(ty, &window).is_some() {
        return Err(at_type.err(bad_type));
    }
    // A window of its own, in which a wrong length is the inner message's error again.
    let rest = window.remaining();
    let mut body = window.sub(rest, BadRequest::BAD_LEN)?;
    let decoded = Message::decode_body(ty, &mut body);
    let message = decoded.map_err(|error| match error.offset {
        // The header's place is not counted from the window.
        TYPE_OFFSET => at_type.err(error.error),
        _ => error,
    })?;
    body.at("end of message").finish()?;
    Ok((xid, message))
}

/// Appends a whole message with its header.
///
/// Its lists cannot be split over several messages, nor go without an item, as a multipart's can.
pub(crate) fn write_message(xid: u32, message: &Message, w: &mut Writer<'_>) {
    let start = w.bytes.len();
    let version = w.version().number();
    w.raw(&[version, message.type_number(), 0, 0]).put(&xid);
    w.undivided(|w| {
        write_body(message, w);
    });
    w.patch_length(start, start + 2);
}

/// The bundle's id, padding, flags, the message with its header, padding to 8 bytes if properties
/// follow, and these. Spec: OpenFlow 1.4.1 section 7.3.9.
impl Form<V1_3> for BundleAdd {
    /// Errors: BUNDLE_FAILED with MSG_BAD_LEN or MSG_UNSUP, BAD_REQUEST/BAD_VERSION, the message's,
    /// or BAD_PROPERTY's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bundle_id = r.at("bundle_id").get()?;
        r.take(2)?;
        let flags = r.at("flags").get()?;
        let start = r.position();
        let (xid, message) = read_message(r, BundleFailed::MSG_BAD_LEN, BundleFailed::MSG_UNSUP)?;
        let length = r.position() - start;
        let padding = length.next_multiple_of(8) - length;
        // Without properties a sender may leave the padding away.
        r.take(padding.min(r.remaining()))?;
        let mut properties = Experimenters {
            experimenters: Vec::new(),
        };
        read_properties(&mut properties, r)?;
        Ok(Self {
            bundle_id,
            flags,
            xid,
            message: Box::new(message),
            experimenters: properties.experimenters,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.bundle_id).pad(2).put(&self.flags);
        let start = w.bytes.len();
        write_message(self.xid, &self.message, w);
        if self.experimenters.is_empty() {
            return;
        }
        w.align8(start);
        let properties = Experimenters {
            experimenters: self.experimenters.clone(),
        };
        properties.write_properties(w);
    }
}
