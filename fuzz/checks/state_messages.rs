//! Any body of a message, an action, an instruction or a multipart of the stateful extensions is
//! one that survives the wire, or one error.

use std::sync::Arc;

use bofuss_oflib::{Codec, DecodeError, Message, Version};

/// The experimenter of the extensions, and our own.
const EXPERIMENTERS: [u32; 2] = [0xbeba_beba, 0x0062_6f66];
/// Types of messages, actions and multiparts that are tried.
const TYPES: u8 = 42;

/// The message in which a body of some kind stands: the first byte says which, the second its type.
fn message(bytes: &[u8]) -> Vec<u8> {
    let [kind, ty, body @ ..] = bytes else {
        return vec![4, 4, 0, 8, 0, 0, 0, 0];
    };
    let experimenter = EXPERIMENTERS[usize::from(*kind >> 7)].to_be_bytes();
    let head = [experimenter, u32::from(ty % TYPES).to_be_bytes()].concat();
    let padded = (8 + body.len() / 8 * 8).min(0xff00);
    let inner = [&head[..], body].concat();
    let (number, rest) = match kind % 5 {
        0 => (4, inner),
        1 => (18, [&[0xff, 0xff, 0, 0, 0, 0, 0, 0], &inner[..]].concat()),
        2 => (19, [&[0xff, 0xff, 0, 0, 0, 0, 0, 0], &inner[..]].concat()),
        kind => {
            // A flow-mod with the instruction, or with one that applies the action.
            let mut value = vec![0xff, 0xff];
            value.extend((padded as u16 + 4).to_be_bytes());
            value.extend(&inner[..padded]);
            if kind == 4 {
                let length = (value.len() as u16 + 8).to_be_bytes();
                value.splice(..0, [0, 4, length[0], length[1], 0, 0, 0, 0]);
            }
            let mut flow = vec![0; 40];
            flow[22] = 0x80;
            flow[24..36].fill(0xff);
            flow.extend([0, 1, 0, 4, 0, 0, 0, 0]);
            (14, [flow, value].concat())
        }
    };
    let length = (8 + rest.len().min(0xfff0)) as u16;
    let [high, low] = length.to_be_bytes();
    [&[4, number, high, low, 0, 0, 0, 1], &rest[..usize::from(length) - 8]].concat()
}

/// Panics: if the codec breaks its word.
pub fn run(bytes: &[u8]) {
    let codec = Codec::new(Version::V1_3, Arc::new(bofuss_ext::catalogue()));
    let bytes = message(bytes);
    let decoded: Result<(u32, Message), DecodeError> = codec.decode(&bytes);
    match decoded {
        Ok((xid, message)) => {
            assert!(!message.to_string().is_empty());
            let mut again = Vec::new();
            let encoded = codec.encode(xid, &message, &mut again);
            encoded.expect("it fitted before");
            assert_eq!(codec.decode(&again), Ok((xid, message)));
        }
        Err(error) => assert!(error.offset <= bytes.len()),
    }
}
