//! The codecs of all versions, with the fields and extensions that are known.

use std::sync::{Arc, LazyLock};

use bofuss_oflib::{Catalogue, Codec, Version};

/// A codec for each version, the lowest first.
static CODECS: LazyLock<Vec<Codec>> = LazyLock::new(|| {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let mut codecs = Vec::new();
    for version in Version::ALL {
        codecs.push(Codec::new(*version, Arc::clone(&catalogue)));
    }
    codecs
});

/// The codec of the version with this number on the wire; the newest one for an unknown number.
pub(crate) fn codec(number: u8) -> &'static Codec {
    let mut codecs = CODECS.iter();
    let found = codecs.find(|codec| codec.version.number() == number);
    found.unwrap_or(&CODECS[CODECS.len() - 1])
}

/// The fields and extensions that are known.
pub(crate) fn catalogue() -> &'static Catalogue {
    &CODECS[0].catalogue
}
