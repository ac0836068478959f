//! The head of multipart requests and replies. Spec: OpenFlow 1.3.5 section 7.3.5.

use super::{V1_3, onf};
use crate::error::DecodeError;
use crate::forms::Form;
use crate::message::multipart::{MORE, MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use crate::wire::{Reader, Writer};

/// Gives requests and replies their common head: type and flags of 16 bits each, and 4 bytes of
/// padding. An experimenter's id and type come after it, in the body.
macro_rules! parts {
    ($($Part:ident($Body:ident);)*) => { $(
        impl Form<V1_3> for $Part {
            /// Errors: BAD_REQUEST/BAD_MULTIPART for an unknown type, or the body's.
            fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let at_type = r.at("multipart type").clone();
                let ty: u16 = r.get()?;
                // Flags besides MORE are not defined, and ignored.
                let more = r.at("multipart flags").get::<u16>()? & MORE != 0;
                r.take(4)?;
                // A multipart that the version has from the ONF is read as the one that later
                // versions have.
                let ty = onf::multipart_type(ty, &at_type, r)?;
                let body = $Body::decode_body(ty, &at_type, r)?;
                Ok(Self { more, body })
            }
            fn write(&self, w: &mut Writer<'_>) {
                let start = w.bytes.len();
                // The head is first written as later versions have it, and changed in place.
                w.put(&self.body.number()).put(&u16::from(self.more)).pad(4);
                onf::write_multipart_head(self.body.number(), start, w);
                self.body.encode_body(w);
            }
        }
    )* };
}

parts! {
    MultipartRequest(RequestBody);
    MultipartReply(ReplyBody);
}
