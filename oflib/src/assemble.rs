//! Turns frames into messages: decodes them and joins the parts of multipart messages.

use alloc::vec::Vec;
use core::ops::Range;

use crate::codec::{Codec, HEADER_BYTES};
use crate::error::{BadRequest, BundleFailed, DecodeError, ErrorCode};
use crate::framing::xid_of;
use crate::instruction::Instructions;
use crate::message::{BundleAdd, ErrorMsg, Message, TYPE_OFFSET};
use crate::v1_3::onf::{self, BUNDLE_ADD};
use crate::version::Version;
use crate::wire::Reader;

/// The most multipart messages that a peer may have begun and not finished.
///
/// A sequence of which a part was refused counts, too, as it is remembered until its last part.
pub const MAX_SEQUENCES: usize = 16;

/// The offset of the low byte of a multipart message's flags, in every version, and the flag that
/// says that more follow.
///
/// The frame is read here before it is decoded: a part that cannot be decoded still says whether
/// others follow.
const FLAGS_OFFSET: usize = HEADER_BYTES + 3;
const MORE: u8 = 1;

/// The reason for which a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The answer, unless the frame is an ERROR itself.
    pub cause: DecodeError,
    /// True if the connection has to be closed.
    pub fatal: bool,
    /// The offset in the frame at which the refused message begins: 0, except for a message within
    /// a BUNDLE_ADD_MESSAGE. Its error quotes it, and has its transaction id.
    pub start: usize,
}

impl Refused {
    /// An error that ends a connection, because it is unknown where the next message begins.
    pub fn fatal(cause: DecodeError) -> Self {
        Self {
            cause,
            fatal: true,
            start: 0,
        }
    }

    /// Returns what a switch answers to the message that begins with `head`; an ERROR is never
    /// answered.
    pub fn answer(&self, head: &[u8]) -> Option<ErrorMsg> {
        let is_error = head.get(1) == Some(&Message::Error(ErrorMsg::default()).type_number());
        (!is_error).then(|| ErrorMsg::quoting(self.cause.error, head))
    }
}

/// Returns what is wrong with a message to a switch that only a switch sends.
///
/// Without this check such a message would be decoded in full before it is refused.
const MISDIRECTED: DecodeError = DecodeError {
    error: BadRequest::BAD_TYPE,
    offset: 1,
    field: "type",
};

/// A multipart message that is not finished.
#[derive(Debug)]
struct Sequence {
    /// A request and a reply with the same transaction id are two sequences.
    ty: u8,
    xid: u32,
    /// Bytes of its parts so far.
    bytes: usize,
    /// The parts joined so far; `None` once a part was refused: the rest is skipped, so that a tail
    /// never passes for a request of its own.
    joined: Option<Message>,
}

/// Decodes one connection's frames, and joins the parts of multipart messages.
///
/// ```
/// use std::sync::Arc;
/// use bofuss_oflib::message::Empty;
/// use bofuss_oflib::{Assembler, Codec, Message, Version};
///
/// let mut assembler = Assembler::new(Codec::new(Version::V1_3, Arc::default()), 1 << 20);
/// let barrier = assembler.receive(&[4, 20, 0, 8, 0, 0, 0, 7]);
/// assert!(matches!(barrier, Ok(Some((7, Message::BarrierRequest(Empty))))));
/// ```
#[derive(Debug)]
pub struct Assembler {
    /// The codec that reads the frames.
    pub codec: Codec,
    /// True if this side is a switch: it refuses what only a switch sends.
    pub is_switch: bool,
    /// In no order: few are open at a time, so that they are searched one by one.
    open: Vec<Sequence>,
    /// Bytes on the wire, not those of the decoded messages.
    limit_bytes: usize,
    /// The content of the last flow-mod: many have the same, which is in memory once then.
    instructions: Instructions,
}

impl Assembler {
    /// An assembler that holds at most `limit_bytes` of unfinished messages.
    pub fn new(codec: Codec, limit_bytes: usize) -> Self {
        Self {
            codec,
            is_switch: false,
            open: Vec::new(),
            limit_bytes,
            instructions: Instructions::default(),
        }
    }

    /// Takes a whole frame; gives a whole message, or `None` for a part of one or of a refused one.
    ///
    /// Errors: the decoder's, also for less than a header; BAD_REQUEST/BAD_TYPE for a message to a
    /// switch that only a switch sends; BAD_REQUEST/BAD_MULTIPART for a part of
    /// another type than those before it, or of a type that has one part;
    /// BAD_REQUEST/MULTIPART_BUFFER_OVERFLOW past a limit, which ends the connection if it is
    /// [`MAX_SEQUENCES`].
    /// Spec: OpenFlow 1.3.5 section 7.3.5.
    pub fn receive(&mut self, frame: &[u8]) -> Result<Option<(u32, Message)>, Refused> {
        if frame.len() < HEADER_BYTES {
            return Err(Refused {
                cause: self.codec.decode(frame).expect_err("there is no header"),
                fatal: false,
                start: 0,
            });
        }
        let ty = frame[1];
        let version = self.codec.version;
        // A frame of another version is left to the decoder, which refuses it as BAD_VERSION.
        if self.is_switch && frame[0] == version.number() && version.is_from_switch(ty) {
            return Err(Refused {
                cause: MISDIRECTED,
                fatal: false,
                start: 0,
            });
        }
        let xid = xid_of(frame);
        let parts = self.codec.version.multipart_types().contains(&ty);
        let more = parts && frame.get(FLAGS_OFFSET).is_some_and(|f| f & MORE != 0);
        let mut sequences = self.open.iter();
        // A sequence is taken out, and held again if it goes on: whatever fails on the way, no half
        // of it stays behind.
        let begun = sequences
            .position(|s| s.ty == ty && s.xid == xid)
            .map(|at| self.open.swap_remove(at));
        // The error was sent with the part at fault. Further parts are dropped without an answer.
        if begun.as_ref().is_some_and(|s| s.joined.is_none()) {
            if more {
                self.hold(ty, xid, 0, None);
            }
            return Ok(None);
        }
        let bytes = frame.len() + begun.as_ref().map_or(0, |s| s.bytes);
        let decoded = self.codec.decode(frame);
        let joined = decoded.and_then(|(_, part)| match begun.and_then(|s| s.joined) {
            Some(joined) => join(joined, part),
            None => Ok(part),
        });
        match joined {
            Ok(mut message) if !more => {
                self.share(&mut message);
                Ok(Some((xid, message)))
            }
            Ok(message) if self.has_room_for(bytes) => {
                self.hold(ty, xid, bytes, Some(message));
                Ok(None)
            }
            refused => {
                if more {
                    self.hold(ty, xid, 0, None);
                }
                // A message that was decoded and joined comes here only for want of room.
                let overflow = multipart_error(BadRequest::MULTIPART_BUFFER_OVERFLOW);
                let cause = refused.err().unwrap_or(overflow);
                // Sequences to be skipped are held without a limit of bytes, but their number must
                // end, too: a peer that begins more loses its connection.
                let fatal = self.open.len() > MAX_SEQUENCES;
                let start = self.start_of(frame, &cause);
                Err(Refused {
                    cause,
                    fatal,
                    start,
                })
            }
        }
    }

    /// Returns where the message begins that an error is about. Spec: OpenFlow 1.4.1 section
    /// 7.3.9.7.
    fn start_of(&self, frame: &[u8], cause: &DecodeError) -> usize {
        // The bundle's own errors are about the outer message, wherever they were found.
        if cause.error.ty == BundleFailed::UNKNOWN.ty {
            return 0;
        }
        match inner_message(&self.codec, frame) {
            Some(inner) if inner.contains(&cause.offset) => inner.start,
            Some(_) | None => 0,
        }
    }

    /// Makes a flow-mod share the instructions of the previous flow-mod, if they are equal.
    ///
    /// A controller that adds many entries with the same instructions, as is usual, then pays for
    /// one copy of them.
    fn share(&mut self, message: &mut Message) {
        if let Message::FlowMod(flow_mod) = message {
            if flow_mod.instructions != self.instructions {
                self.instructions = flow_mod.instructions.clone();
            }
            flow_mod.instructions = self.instructions.clone();
        }
    }

    /// Returns true if a sequence of `bytes` may be held with those that are.
    fn has_room_for(&self, bytes: usize) -> bool {
        let held: usize = self.open.iter().map(|s| s.bytes).sum();
        self.open.len() < MAX_SEQUENCES && held + bytes <= self.limit_bytes
    }

    /// Remembers a sequence until its next part; `joined` is `None` if the parts are to be skipped.
    fn hold(&mut self, ty: u8, xid: u32, bytes: usize, joined: Option<Message>) {
        self.open.push(Sequence {
            ty,
            xid,
            bytes,
            joined,
        });
    }
}

/// Appends a further part. Errors: BAD_REQUEST/BAD_MULTIPART if it does not belong to it.
///
/// The flag of the last part is that of the whole, so that a whole message has none.
fn join(mut joined: Message, part: Message) -> Result<Message, DecodeError> {
    let belongs = match (&mut joined, part) {
        (Message::MultipartRequest(all), Message::MultipartRequest(part)) => {
            all.more = part.more;
            all.body.join(part.body)
        }
        (Message::MultipartReply(all), Message::MultipartReply(part)) => {
            all.more = part.more;
            all.body.join(part.body)
        }
        _ => false,
    };
    if belongs {
        Ok(joined)
    } else {
        Err(multipart_error(BadRequest::BAD_MULTIPART))
    }
}

/// The offset, in the frame of a BUNDLE_ADD_MESSAGE with its header, of the message in it.
///
/// `None` if the frame is another message or ends before. The range may go beyond the frame: its
/// end is the inner header's length, as the peer says it.
fn inner_message(codec: &Codec, frame: &[u8]) -> Option<Range<usize>> {
    let mut r = Reader::new(codec, frame);
    let mut ty = r.take(HEADER_BYTES).ok()?[TYPE_OFFSET];
    // In 1.3 the type is that of experimenters, and the ONF's head comes before the body.
    if codec.version < Version::V1_4 {
        ty = onf::newer_type(ty, &r)?;
        r.take(onf::HEAD_BYTES).ok()?;
    }
    if ty != BUNDLE_ADD {
        return None;
    }
    r.take(BundleAdd::HEAD_BYTES - HEADER_BYTES).ok()?;
    let start = r.position();
    r.take(2).ok()?;
    let length: u16 = r.get().ok()?;
    Some(start..start + usize::from(length))
}

fn multipart_error(error: ErrorCode) -> DecodeError {
    DecodeError {
        error,
        offset: HEADER_BYTES,
        field: "multipart type",
    }
}

#[cfg(test)]
mod tests {
    use alloc::{sync::Arc, vec};

    use crate::instruction::Instruction;
    use crate::matching::Match;
    use crate::message::multipart::{FlowStatsRequest, RequestBody, TableFeatures};
    use crate::message::{Empty, FlowMod, MultipartRequest};
    use crate::types::TableId;

    use super::*;

    fn assembler(limit_bytes: usize) -> Assembler {
        Assembler::new(Codec::new(Version::V1_3, Arc::default()), limit_bytes)
    }

    fn request(xid: u32, more: bool, body: RequestBody) -> Vec<u8> {
        let mut bytes = Vec::new();
        let message = Message::MultipartRequest(MultipartRequest { more, body });
        assembler(0)
            .codec
            .encode(xid, &message, &mut bytes)
            .unwrap();
        bytes
    }

    /// A part of a table features request, for this many tables.
    fn part(xid: u32, more: bool, tables: usize) -> Vec<u8> {
        let body = RequestBody::TableFeatures(vec![TableFeatures::default(); tables]);
        request(xid, more, body)
    }

    fn tables(received: Result<Option<(u32, Message)>, Refused>) -> (u32, usize) {
        match received {
            Ok(Some((xid, Message::MultipartRequest(whole)))) => {
                assert!(!whole.more);
                let RequestBody::TableFeatures(list) = whole.body else {
                    panic!("{:?}", whole.body);
                };
                (xid, list.len())
            }
            other => panic!("{other:?}"),
        }
    }

    fn error(received: Result<Option<(u32, Message)>, Refused>) -> (ErrorCode, bool) {
        match received {
            Err(refused) => (refused.cause.error, refused.fatal),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_switch_refuses_what_only_a_switch_sends() {
        let mut reply = Vec::new();
        let message = Message::BarrierReply(Empty);
        assembler(0).codec.encode(1, &message, &mut reply).unwrap();
        for is_switch in [false, true] {
            let mut a = assembler(0);
            a.is_switch = is_switch;
            let received = a.receive(&reply);
            if is_switch {
                assert_eq!(error(received), (BadRequest::BAD_TYPE, false));
            } else {
                assert_eq!(received, Ok(Some((1, message.clone()))));
            }
        }
    }

    #[test]
    fn flow_mods_have_their_own_instructions_whatever_the_one_before_had() {
        let mut a = assembler(0);
        for table in [1, 1, 2, 0, 1] {
            let mut sent = FlowMod::add(Match::ANY);
            if table > 0 {
                let list = vec![Instruction::GotoTable(TableId(table))];
                sent.instructions = Instructions::new(list).unwrap();
            }
            let (sent, mut bytes) = (Message::FlowMod(sent), Vec::new());
            a.codec.encode(1, &sent, &mut bytes).unwrap();
            assert_eq!(a.receive(&bytes), Ok(Some((1, sent))));
        }
    }

    #[test]
    fn parts_of_one_xid_are_joined_while_others_pass() {
        let mut a = assembler(1 << 20);
        assert!(matches!(a.receive(&part(1, true, 2)), Ok(None)));
        assert!(matches!(a.receive(&part(2, true, 3)), Ok(None)));
        assert_eq!(tables(a.receive(&part(3, false, 1))), (3, 1));
        assert!(matches!(a.receive(&part(1, true, 0)), Ok(None)));
        assert_eq!(tables(a.receive(&part(1, false, 4))), (1, 6));
        assert_eq!(tables(a.receive(&part(2, false, 0))), (2, 3));
        assert_eq!(tables(a.receive(&part(1, false, 1))), (1, 1));
    }

    #[test]
    fn a_request_of_the_limit_is_held_and_one_byte_more_overflows() {
        let (first, second) = (part(1, true, 10), part(1, true, 1));
        let bytes = first.len() + second.len();
        for (limit, overflows) in [(bytes, false), (bytes - 1, true)] {
            let mut a = assembler(limit);
            assert!(matches!(a.receive(&first), Ok(None)));
            let received = a.receive(&second);
            if overflows {
                let expected = (BadRequest::MULTIPART_BUFFER_OVERFLOW, false);
                assert_eq!(error(received), expected);
                // The tail is no request of its own, and what was held is free again.
                assert!(matches!(a.receive(&part(1, true, 1)), Ok(None)));
                assert!(matches!(a.receive(&part(1, false, 1)), Ok(None)));
                assert!(matches!(a.receive(&first), Ok(None)));
            } else {
                assert!(matches!(received, Ok(None)));
                assert_eq!(tables(a.receive(&part(1, false, 1))), (1, 12));
            }
        }
    }

    #[test]
    fn one_sequence_too_many_overflows_and_ends_the_connection() {
        let mut a = assembler(1 << 20);
        for xid in 0..MAX_SEQUENCES as u32 {
            assert!(matches!(a.receive(&part(xid, true, 1)), Ok(None)));
        }
        assert_eq!(tables(a.receive(&part(99, false, 1))), (99, 1));
        let expected = (BadRequest::MULTIPART_BUFFER_OVERFLOW, true);
        assert_eq!(error(a.receive(&part(99, true, 1))), expected);
    }

    #[test]
    fn parts_of_another_type_or_of_a_type_with_one_part_are_bad_multiparts() {
        let flow = || RequestBody::Flow(FlowStatsRequest::default());
        for (first, second) in [
            (part(1, true, 1), request(1, true, RequestBody::Desc(Empty))),
            (request(1, true, flow()), request(1, true, flow())),
        ] {
            let mut a = assembler(1 << 20);
            assert!(matches!(a.receive(&first), Ok(None)));
            assert_eq!(
                error(a.receive(&second)),
                (BadRequest::BAD_MULTIPART, false)
            );
            assert!(matches!(a.receive(&part(1, false, 1)), Ok(None)));
            assert_eq!(tables(a.receive(&part(1, false, 1))), (1, 1));
        }
    }

    #[test]
    fn a_bad_part_spoils_the_rest_of_its_sequence() {
        let mut a = assembler(1 << 20);
        let mut bad = part(1, true, 1);
        bad[8] = 0x70;
        assert_eq!(error(a.receive(&bad)), (BadRequest::BAD_MULTIPART, false));
        assert!(matches!(a.receive(&part(1, false, 1)), Ok(None)));
        assert_eq!(tables(a.receive(&part(1, false, 2))), (1, 2));
    }

    #[test]
    fn less_than_a_header_is_an_error() {
        let mut a = assembler(0);
        for length in 0..HEADER_BYTES {
            assert_eq!(error(a.receive(&[4; 8][..length])).0, BadRequest::BAD_LEN);
        }
    }
}
