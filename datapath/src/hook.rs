//! Where an extension acts: the points of a packet's way and of the switch's life, each with a
//! default that does nothing.

use alloc::{boxed::Box, vec::Vec};

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::{FlowMod, FlowRemoved};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, ExtValue, PortNo};
use bofuss_packet::Packet;

use crate::{ControlContext, Metric, ReplyPart, Time};

/// What a hook's effect on a packet depends on, for whoever wants to remember a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEffect {
    /// Only on key bits that it reads.
    Pure,
    /// It operates on live state, and the way goes on unchanged or ends.
    Live,
    /// It puts a value into the key, on which later lookups depend.
    Branch,
    /// It does not say: the way of such packets is never remembered.
    Unknown,
}

/// Whether a packet goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Continue,
    /// It ends here.
    Drop,
}

/// An extension's behaviour. The switch calls each point of each hook, in the order of
/// registration.
#[allow(unused_variables)]
pub trait Hook {
    /// The extension's name, under which its rows stand in the catalogue. It is given the actions,
    /// instructions and messages of these, each with the place of its row among them.
    fn name(&self) -> &'static str;

    /// What its effect on packets depends on.
    fn effect(&self) -> HookEffect {
        HookEffect::Unknown
    }

    /// Whether, as things stand, all that its points do to packets, but for its actions, is that
    /// before a lookup they give each the same fields with the same values. Then a way through
    /// several tables may be remembered as one, and packets on known ways need not be shown to it.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Whether, as things stand, it acts on each packet of the wire, so that what one did shows in
    /// the next: then a super-frame is cut into its segments before the tables.
    fn acts_on_segments(&self) -> bool {
        false
    }

    /// Before a table is looked up; may set the extension's key fields and the metadata.
    fn before_lookup(&mut self, now: Time, table: TableId, packet: &mut Packet) {}

    /// The same in a trace: sets the same fields, and changes nothing that lasts. Of a packet's
    /// other points, only [`Hook::try_action`] is called in a trace.
    fn peek(&mut self, now: Time, table: TableId, packet: &mut Packet) {}

    /// After an entry was hit.
    fn after_hit(&mut self, now: Time, table: TableId, packet: &mut Packet) -> Verdict {
        Verdict::Continue
    }

    /// When no entry matched. `true`: the table is looked up again (once).
    fn on_miss(&mut self, now: Time, table: TableId, packet: &mut Packet) -> bool {
        false
    }

    /// On one of the extension's actions or instructions, of row `row` of its list.
    fn on_action(
        &mut self,
        now: Time,
        row: usize,
        value: &ExtValue,
        packet: &mut Packet,
    ) -> Verdict {
        Verdict::Continue
    }

    /// The same in a trace: does to the packet what the action would, and changes nothing that
    /// lasts.
    fn try_action(
        &mut self,
        now: Time,
        row: usize,
        value: &ExtValue,
        packet: &mut Packet,
    ) -> Verdict {
        Verdict::Continue
    }

    /// Before a packet leaves by a port.
    fn on_egress(&mut self, now: Time, port: PortNo, packet: &mut Packet) -> Verdict {
        Verdict::Continue
    }

    /// When it wants [`Hook::on_tick`] next.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// At or after the time it asked for.
    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {}

    /// On one of the extension's messages, of row `row` of its list. A slave does not send what its
    /// row says [changes](bofuss_oflib::ext::ExtRow::changes) the switch. Errors: an OpenFlow
    /// error, or one of the experimenter's own; then nothing that was asked for is done.
    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        Err(BadRequest::BAD_EXP_TYPE)
    }

    /// On one of the extension's multipart requests, of row `row` of its list, whole: the next part
    /// of the answer. `from` is 0 in the first call, then what the part before names as next. A
    /// part is made without other packets or messages in between: it should look at some hundred
    /// things at most, and takes less than 64 KiB. Errors: as for a message.
    fn on_multipart(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        Err(BadRequest::BAD_EXP_TYPE)
    }

    /// After a connection's flow-mod was carried out. A reply has the flow-mod's transaction id.
    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {}

    /// After an entry was removed, whatever its flags.
    fn on_flow_removed(&mut self, cx: &mut ControlContext<'_>, removed: &FlowRemoved) {}

    /// After a port came, changed or went (`up` is false).
    fn on_port_change(&mut self, cx: &mut ControlContext<'_>, port: PortNo, up: bool) {}

    /// Lists values that it counts or measures, for metrics: from 0 on, or from the place that the
    /// call before gave; some hundred at most. Gives the place to go on with, if there are more.
    fn metrics(&self, now: Time, from: u64, list: &mut Vec<Metric>) -> Option<u64> {
        None
    }

    /// Whether an action or instruction of the extension, of row `row` of its list, may stand in an
    /// entry of this table. Errors: an OpenFlow error.
    fn check(&self, row: usize, value: &ExtValue, table: TableId) -> Result<(), ErrorCode> {
        Ok(())
    }
}

/// The hooks of all extensions, in the order of registration.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) all: Vec<Box<dyn Hook>>,
    /// The experimenter values of each one's extension.
    rows: Vec<&'static [ExtRow]>,
}

impl Hooks {
    /// Adds the hook of the extension that brought these rows.
    pub(crate) fn add(&mut self, hook: Box<dyn Hook>, rows: &'static [ExtRow]) {
        self.all.push(hook);
        self.rows.push(rows);
    }

    /// The number of the hook whose extension has this row, and the row's place in the extension's
    /// list.
    pub(crate) fn of(&self, row: &'static ExtRow) -> Option<(usize, usize)> {
        let mut lists = self.rows.iter().enumerate();
        lists.find_map(|(hook, rows)| Some((hook, row.place_in(rows)?)))
    }

    /// Whether an extension allows an action or instruction in an entry of this table.
    ///
    /// Errors: an OpenFlow error.
    pub(crate) fn check(&self, value: &ExtValue, table: TableId) -> Result<(), ErrorCode> {
        match self.of(value.row) {
            Some((hook, place)) => self.all[hook].check(place, value, table),
            None => Ok(()),
        }
    }
}
