//! Messages and multiparts of extensions, and which notifications connections want.

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Asker, HookAnswer, ReplyPart, Time};
use bofuss_oflib::ext::{Audience, ExtRow};
use bofuss_oflib::message::{ControllerRole, FlowMod};
use bofuss_oflib::{ErrorCode, ExtValue, Message};

use crate::connection::Connection;
use crate::request::{ConnId, Refusal};
use crate::switch::{Switch, SwitchIo};

impl Connection {
    /// Whether it wants notifications of this row: as it subscribed, otherwise as the row says for
    /// its role.
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

impl<E: FrameEngine> Switch<E> {
    /// Why a message is refused with this error.
    pub(crate) fn refusal(&self, message: &Message, error: ErrorCode) -> Refusal {
        Refusal {
            error,
            words: self.datapath.explain(message, error),
        }
    }

    /// Passes a message to its extension, and sends the replies. Errors: the extension's;
    /// BAD_REQUEST/BAD_EXPERIMENTER if none has it.
    pub(crate) fn extension_message<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        value: &ExtValue,
        io: &mut I,
    ) -> Result<(), ErrorCode> {
        let experimenter = value.row.experimenter;
        let asker = self.asker(conn, experimenter);
        let (datapath, mut sink) = self.parts(now, io);
        let answer = datapath.extension_message(now, asker, value, &mut sink)?;
        self.follow(conn, experimenter, &answer);
        for reply in answer.replies {
            io.send(conn, xid, Message::Experimenter(reply));
        }
        Ok(())
    }

    /// Requests the next part of an extension's answer to a multipart request. Errors: the
    /// extension's; BAD_REQUEST/BAD_EXPERIMENTER if none has it.
    pub(crate) fn extension_multipart<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        request: &ExtValue,
        from: u64,
        io: &mut I,
    ) -> Result<ReplyPart, ErrorCode> {
        let experimenter = request.row.experimenter;
        let asker = self.asker(conn, experimenter);
        let (datapath, mut sink) = self.parts(now, io);
        let (part, answer) = datapath.extension_multipart(now, asker, request, from, &mut sink)?;
        self.follow(conn, experimenter, &answer);
        Ok(part)
    }

    /// Informs extensions that a flow-mod of a connection is done, and sends their replies.
    pub(crate) fn flow_mod_done<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        flow_mod: &FlowMod,
        io: &mut I,
    ) {
        let forms = self.channel(conn).forms.clone();
        let plain = self.asker(conn, 0);
        let asker = |experimenter| {
            Some(Asker {
                form: forms.get(&experimenter).copied().unwrap_or(0),
                ..plain
            })
        };
        let (datapath, mut sink) = self.parts(now, io);
        for (experimenter, answer) in datapath.flow_mod_done(now, asker, flow_mod, &mut sink) {
            self.follow(conn, experimenter, &answer);
            let form = self.asker(conn, experimenter).form;
            for reply in answer.replies {
                io.send(conn, xid, Message::Experimenter(reply.in_form(form)));
            }
        }
    }

    /// A connection as an experimenter's extension sees it.
    fn asker(&mut self, conn: ConnId, experimenter: u32) -> Asker {
        let channel = self.channel(conn);
        Asker {
            connection: channel.main.0,
            role: channel.role,
            version: channel.version,
            form: channel.forms.get(&experimenter).copied().unwrap_or(0),
        }
    }

    /// Stores the subscriptions and the form of values that an extension's answer sets for a
    /// connection.
    fn follow(&mut self, conn: ConnId, experimenter: u32, answer: &HookAnswer) {
        let channel = self.channel(conn);
        if let Some(form) = answer.form {
            channel.forms.insert(experimenter, form);
        }
        for (row, wanted) in &answer.subscriptions {
            let subscriptions = &mut channel.subscriptions;
            subscriptions.retain(|(other, _)| other != row);
            subscriptions.push((row, *wanted));
        }
    }
}
