//! Packets that a controller sends as bytes, for a packet-out or a trace.

use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::error::{BadMatch, BadRequest};
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::{ErrorCode, FieldMatch, Match, PortNo};
use bofuss_packet::Packet;
use bofuss_packet::packet_type;

use crate::switch::Switch;

/// Checks the bytes of a packet-out. Errors: BAD_MATCH/BAD_VALUE for a packet type that the switch
/// does not support, BAD_REQUEST/BAD_PACKET if there are no bytes, or they are not of the stated
/// type.
pub(crate) fn check_bytes(bytes: &[u8], fields: &Match) -> Result<(), ErrorCode> {
    let named = fields.get(PACKET_TYPE).map_or(0, FieldMatch::number) as u32;
    if packet_type::supported().all(|one| one != named) {
        return Err(BadMatch::BAD_VALUE);
    }
    let is_of_type = match packet_type::front(bytes) {
        Some(front) => front.ends_with(&named.to_be_bytes()),
        None => false,
    };
    let is_right = fields.is_of_ethernet() || is_of_type;
    if bytes.is_empty() || !is_right {
        return Err(BadRequest::BAD_PACKET);
    }
    Ok(())
}

impl<E: FrameEngine> Switch<E> {
    /// Makes a packet of bytes that a controller sent; `None` if the pool is exhausted. Errors:
    /// BAD_REQUEST/BAD_PACKET if there are no bytes, or if a packet without Ethernet is not IP.
    pub(crate) fn packet_of(
        &self,
        bytes: &[u8],
        in_port: PortNo,
        is_of_ethernet: bool,
    ) -> Result<Option<Packet>, ErrorCode> {
        if bytes.is_empty() {
            return Err(BadRequest::BAD_PACKET);
        }
        let additions = self.datapath.catalogue().additions();
        let pool = self.datapath.pool();
        if is_of_ethernet {
            let frame = pool.frame(bytes);
            return Ok(frame.map(|frame| Packet::with_additions(frame, in_port, additions)));
        }
        let front = packet_type::front(bytes).ok_or(BadRequest::BAD_PACKET)?;
        let frame = pool.frame(&[&front[..], bytes].concat());
        Ok(frame.map(|frame| Packet::without_ethernet(frame, in_port, additions)))
    }
}
