//! PACKET_OUT, which has a match. Spec: OpenFlow 1.5.1 section 7.3.6.

use super::V1_5;
use crate::action::Action;
use crate::error::{BadRequest, DecodeError};
use crate::field::IN_PORT;
use crate::forms::Form;
use crate::matching::{FieldMatch, Match};
use crate::message::PacketOut;
use crate::types::PortNo;
use crate::wire::{Reader, Writer};

impl Form<V1_5> for PacketOut {
    /// Errors: BAD_REQUEST with PIPELINE_FIELDS_ONLY for a field that a header has, or a mask, and
    /// with BAD_PORT if there is no ingress port; the match's, an action's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = r.at("buffer_id").get()?;
        let actions_len = r.at("actions_len").get::<u16>()?;
        r.take(2)?;
        let at_match = r.at("match").clone();
        let given: Match = r.get()?;
        for one in given.fields() {
            if !one.field.is_pipeline() || !one.is_exact() {
                return Err(at_match.err(BadRequest::PIPELINE_FIELDS_ONLY));
            }
        }
        let Some(in_port) = given.get(IN_PORT) else {
            return Err(at_match.err(BadRequest::BAD_PORT));
        };
        let others = given.fields().iter().filter(|one| one.field != IN_PORT);
        let actions = Action::decode_list(r, actions_len.into())?;
        Ok(Self {
            buffer_id,
            in_port: PortNo(in_port.number() as u32),
            fields: Match::again(others.copied().collect()),
            actions,
            data: r.at("data").get()?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let mut fields = self.fields.fields().to_vec();
        fields.push(FieldMatch::exact(IN_PORT, self.in_port.0.into()));
        let sent = Match::new(&fields);
        if sent.is_err() {
            w.unsupported("fields");
        }
        w.put(&self.buffer_id);
        let length_at = w.bytes.len();
        w.pad(4).put(&sent.unwrap_or_default());
        let start = w.bytes.len();
        w.put(&self.actions).patch_length(start, length_at);
        w.put(&self.data);
    }
}
