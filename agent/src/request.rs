//! A message of a connection: where it comes from, and what became of it.

use alloc::{string::String, vec::Vec};

use bofuss_oflib::error::BadProperty;
use bofuss_oflib::message::property::ExperimenterProperty;
use bofuss_oflib::message::{ErrorMsg, FlowMod};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::{ErrorCode, Message};

/// The number of a connection, which is never used for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// The reason why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error that the peer is sent.
    pub error: ErrorCode,
    /// What an extension adds to it, for the log.
    pub words: Option<String>,
}

/// One message from a connection.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Its transaction id, which replies and errors repeat.
    pub xid: u32,
    /// Its first bytes, which errors quote.
    pub head: &'a [u8],
    /// The message, or the error that decoding it caused.
    pub message: Result<Message, ErrorMsg>,
}

/// The origin of a message: its connection, its transaction id and its first bytes, which errors
/// quote.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// The connection that sent it, main or auxiliary: replies go there.
    pub(crate) conn: ConnId,
    pub(crate) xid: u32,
    pub(crate) head: &'a [u8],
}

/// What became of a message that was not refused.
#[expect(
    clippy::large_enum_variant,
    reason = "it is matched at once, and never kept"
)]
pub(crate) enum Outcome {
    /// It is carried out.
    Done,
    /// It is carried out, and this is its reply.
    Reply(Message),
    /// Its change goes on in slices; it is completed after the last.
    GoesOn,
    /// It began a commit or a long reply, which completes it.
    Begun,
    /// Its bundle is to keep it.
    #[cfg(feature = "bundles")]
    Kept,
}

/// What became of a message. Errors: the one that refuses it; then nothing has changed.
pub(crate) type HandlerResult = Result<Outcome, ErrorCode>;

/// A message whose change goes on in slices, kept so that hooks and other controllers can be told
/// of it at the end, also if its connection has closed by then.
pub(crate) struct Pending {
    pub(crate) conn: ConnId,
    pub(crate) xid: u32,
    pub(crate) head: Vec<u8>,
    pub(crate) message: Message,
}

impl Pending {
    /// Its origin.
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            conn: self.conn,
            xid: self.xid,
            head: &self.head,
        }
    }
}

/// The buffered packet that is resubmitted after a flow-mod, if it names one.
pub(crate) fn buffer_of(flow_mod: &FlowMod) -> Option<BufferId> {
    let is_named = !flow_mod.deletes() && flow_mod.buffer_id != BufferId::NO_BUFFER;
    is_named.then_some(flow_mod.buffer_id)
}

/// Refuses experimenter properties; we know none. Errors: BAD_PROPERTY/BAD_EXPERIMENTER.
pub(crate) fn refuse_experimenters(properties: &[ExperimenterProperty]) -> Result<(), ErrorCode> {
    if properties.is_empty() {
        Ok(())
    } else {
        Err(BadProperty::BAD_EXPERIMENTER)
    }
}
