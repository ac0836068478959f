//! Any bytes are a message of P4Runtime, which survives the wire, or no message.

use bofuss_p4runtime::wire::config::P4Info;
use bofuss_p4runtime::wire::entities::Entity;
use bofuss_p4runtime::wire::messages::{
    CapabilitiesRequest, CapabilitiesResponse, Error, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, ReadRequest,
    ReadResponse, SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse, Status,
    StreamMessageRequest, StreamMessageResponse, WriteRequest, WriteResponse,
};
use prost::Message;

/// Panics: if the message that the first byte chooses is another after it was encoded.
pub fn run(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 16 {
        0 => again::<WriteRequest>(bytes),
        1 => again::<WriteResponse>(bytes),
        2 => again::<ReadRequest>(bytes),
        3 => again::<ReadResponse>(bytes),
        4 => again::<SetForwardingPipelineConfigRequest>(bytes),
        5 => again::<SetForwardingPipelineConfigResponse>(bytes),
        6 => again::<GetForwardingPipelineConfigRequest>(bytes),
        7 => again::<GetForwardingPipelineConfigResponse>(bytes),
        8 => again::<StreamMessageRequest>(bytes),
        9 => again::<StreamMessageResponse>(bytes),
        10 => again::<CapabilitiesRequest>(bytes),
        11 => again::<CapabilitiesResponse>(bytes),
        12 => again::<Status>(bytes),
        13 => again::<Error>(bytes),
        14 => again::<P4Info>(bytes),
        _ => {
            again::<Entity>(bytes);
            again::<ForwardingPipelineConfig>(bytes);
        }
    }
}

/// Decodes a message, encodes it, and decodes that. Floats that are no number equal nothing, so
/// the bytes are compared as well.
fn again<M: Message + Default + PartialEq>(bytes: &[u8]) {
    let Ok(message) = M::decode(bytes) else {
        return;
    };
    let encoded = message.encode_to_vec();
    assert_eq!(encoded.len(), message.encoded_len());
    let decoded = M::decode(&*encoded).expect("it was encoded");
    assert!(decoded == message || decoded.encode_to_vec() == encoded);
}
