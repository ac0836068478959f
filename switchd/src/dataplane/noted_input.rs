//! An input of the first worker's switch, which the switches of the others get, too.

use bofuss_agent::{ConnId, Request};
use bofuss_datapath::Time;
use bofuss_embed::record::{Player, RecordError, RecordedInput};
use bofuss_oflib::Message;

/// An input of the first worker's switch.
pub(super) enum NotedInput {
    /// As a record has it.
    Recorded(RecordedInput),
    /// A message: most inputs are, and each would be encoded here and decoded by all others.
    Message(Box<NotedMessage>),
}

/// A message that a connection has sent.
pub(super) struct NotedMessage {
    conn: ConnId,
    xid: u32,
    head: Vec<u8>,
    message: Message,
}

impl NotedInput {
    /// Notes a message of a connection, whose first bytes are `head`.
    pub(super) fn message(conn: ConnId, xid: u32, head: &[u8], message: &Message) -> Self {
        Self::Message(Box::new(NotedMessage {
            conn,
            xid,
            head: head.into(),
            message: message.clone(),
        }))
    }

    /// Gives it to the switch of another worker; `denied` are the numbers of the questions that
    /// were answered no. Errors: it is impossible there.
    pub(super) fn play(
        &self,
        player: &mut Player,
        at: Time,
        denied: &[u32],
    ) -> Result<(), RecordError> {
        match self {
            Self::Recorded(input) => player.play(at, input, denied).map(drop),
            Self::Message(noted) => {
                let request = Request {
                    xid: noted.xid,
                    head: &noted.head,
                    message: Ok(noted.message.clone()),
                };
                drop(player.play_request(at, noted.conn, request, denied));
                Ok(())
            }
        }
    }
}
