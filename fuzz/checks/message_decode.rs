//! Any bytes are a message, which survives the wire, or one error of the specification.

use bofuss_oflib::{Catalogue, Codec, Version};

/// Panics: if the codec breaks its word.
pub fn run(bytes: &[u8]) {
    let number = bytes.first().copied().unwrap_or(0);
    let version = Version::of_number(number).unwrap_or(Version::NEWEST);
    let codec = Codec::new(version, Catalogue::default().into());
    match codec.decode(bytes) {
        Ok((xid, message)) => {
            assert!(!message.to_string().is_empty());
            let mut again = Vec::new();
            codec
                .encode(xid, &message, &mut again)
                .expect("it fitted before");
            assert_eq!(codec.decode(&again), Ok((xid, message)));
        }
        Err(error) => {
            assert!(error.error.row().is_some());
            assert!(error.offset <= bytes.len());
        }
    }
}
