//! Messages and multiparts of extensions, and which notifications connections want.
//!
//! A hook answers a message without knowing connections. The subscriptions and forms that its
//! answer names are kept here, at the main connection of the asker's channel, as long as that is
//! open.

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Asker, Datapath, HookAnswer, ReplyPart};
use bofuss_oflib::ext::{Audience, ExtRow};
use bofuss_oflib::message::{ControllerRole, FlowMod};
use bofuss_oflib::{ErrorCode, ExtValue, Message};

use crate::connection::Connection;
use crate::connections::Connections;
use crate::deliver::SwitchSink;
use crate::io::SwitchIo;
use crate::request::{ConnId, Refusal};

impl Connection {
    /// Returns true if it wants notifications of this row: as it subscribed, otherwise as the row
    /// says for its role.
    pub(crate) fn wants_notification(&self, row: &'static ExtRow) -> bool {
        let mut said = self.subscriptions.iter();
        let said = said.find(|(other, _)| *other == row);
        let wanted = match (said, row.audience) {
            (Some((_, wanted)), _) => *wanted,
            (None, Audience::Controllers) => self.role != ControllerRole::SLAVE,
            (None, Audience::Subscribers) => false,
        };
        self.auxiliary_id == 0 && wanted
    }
}

/// The reason why a message is refused with this error. To be asked for before anything else
/// changes, because extensions explain it from their present state.
pub(crate) fn refusal(
    datapath: &Datapath<impl FrameEngine>,
    message: &Message,
    error: ErrorCode,
) -> Refusal {
    Refusal {
        error,
        words: datapath.hooks().explain(message, error),
    }
}

/// Passes a message to its extension, and sends the replies. Errors: the extension's;
/// BAD_REQUEST/BAD_EXPERIMENTER if none has it.
pub(crate) fn extension_message<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    xid: u32,
    value: &ExtValue,
) -> Result<(), ErrorCode> {
    let experimenter = value.row.experimenter;
    let asker = asker(sink.connections, conn, experimenter);
    let answer = datapath.hook_calls(sink.now, sink).message(asker, value)?;
    follow(sink.connections, conn, experimenter, &answer);
    for reply in answer.replies {
        sink.io.send(conn, xid, Message::Experimenter(reply));
    }
    Ok(())
}

/// Requests the next part of an extension's answer to a multipart request; `from` is 0 at first,
/// then what the part before named as next. What the hook replies besides the part is not sent.
///
/// Errors: the extension's; BAD_REQUEST/BAD_EXPERIMENTER if none has it.
pub(crate) fn extension_multipart<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    request: &ExtValue,
    from: u64,
) -> Result<ReplyPart, ErrorCode> {
    let experimenter = request.row.experimenter;
    let asker = asker(sink.connections, conn, experimenter);
    let (part, answer) = datapath
        .hook_calls(sink.now, sink)
        .multipart(asker, request, from)?;
    follow(sink.connections, conn, experimenter, &answer);
    Ok(part)
}

/// Informs extensions that a flow-mod of a connection is done, and sends their replies with its
/// transaction id. Each extension sees the asker with the form that the connection chose for that
/// extension's experimenter; if the connection has closed, there is no asker and no reply.
pub(crate) fn flow_mod_done<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    xid: u32,
    flow_mod: &FlowMod,
) {
    if !sink.connections.has(conn) {
        let mut hooks = datapath.hook_calls(sink.now, sink);
        hooks.flow_mod_done(|_| None, flow_mod);
        return;
    }
    // A copy, because the calls of hooks borrow the connections for their effects.
    let forms = sink.connections.channel(conn).forms.clone();
    let plain = asker(sink.connections, conn, 0);
    let ask = |experimenter| {
        Some(Asker {
            form: forms.get(&experimenter).copied().unwrap_or(0),
            ..plain
        })
    };
    for (experimenter, answer) in datapath
        .hook_calls(sink.now, sink)
        .flow_mod_done(ask, flow_mod)
    {
        follow(sink.connections, conn, experimenter, &answer);
        // The answer may just have changed the form.
        let form = asker(sink.connections, conn, experimenter).form;
        for reply in answer.replies {
            sink.io
                .send(conn, xid, Message::Experimenter(reply.in_form(form)));
        }
    }
}

/// A connection as an experimenter's extension sees it: with the number of the main connection, so
/// that to extensions all connections of a channel are one.
fn asker(connections: &mut Connections, conn: ConnId, experimenter: u32) -> Asker {
    let channel = connections.channel(conn);
    Asker {
        connection: channel.main.0,
        role: channel.role,
        version: channel.version,
        form: channel.forms.get(&experimenter).copied().unwrap_or(0),
    }
}

/// Stores the subscriptions and the form of values that an extension's answer sets for a
/// connection. For each row the newest wish counts.
fn follow(connections: &mut Connections, conn: ConnId, experimenter: u32, answer: &HookAnswer) {
    let channel = connections.channel(conn);
    if let Some(form) = answer.form {
        channel.forms.insert(experimenter, form);
    }
    for (row, wanted) in &answer.subscriptions {
        let subscriptions = &mut channel.subscriptions;
        subscriptions.retain(|(other, _)| other != row);
        subscriptions.push((row, *wanted));
    }
}
