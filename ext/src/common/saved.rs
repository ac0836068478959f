//! How an extension's state gets into the saved state of a switch, and out of it.

use alloc::vec::Vec;

use bofuss_oflib::ExtValue;
use bofuss_oflib::ext::ExtRow;

/// What an extension knows that outlives a restart, as OpenFlow messages: a multipart request asks
/// for it, and what its reply lists is given to another switch by messages.
pub struct SavedExtension {
    /// The request.
    pub request: fn() -> ExtValue,
    /// The messages that give another switch what a reply to the request says, in their order. A
    /// value that is no such reply has none.
    pub messages: fn(&ExtValue) -> Vec<ExtValue>,
    /// The rows of these messages.
    pub rows: &'static [&'static ExtRow],
    /// The one of these that is about one thing that the extension knows, such as the state of a
    /// flow, if there is one; the others are configuration.
    pub thing: Option<&'static ExtRow>,
}
