//! Where an extension acts: the points of a packet's way and of the switch's life, each with a
//! default that does nothing.

use alloc::{format, string::String, vec::Vec};

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::{FlowMod, FlowRemoved};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, ExtValue, PortNo};

use crate::{Config, ControlContext, EgressDrop, HookContext, Metric, ReplyPart, Time, Upcoming};

/// What a hook does to packets in a table, for whoever wants to remember a packet's way. From what
/// costs least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEffect {
    /// Nothing: it is not called.
    None,
    /// It sets fields, which depend only on fields that it reads with [`HookContext::get`]. What it
    /// set is remembered, and it is not called again for packets with the same fields.
    Pure,
    /// It operates on live state, and as a rule the way goes on unchanged or ends. It is called for
    /// each packet.
    Live,
    /// It sets fields by live state before the lookup. It is called for each packet, and the way is
    /// remembered by the fields as they are then.
    Branch,
    /// It does not say: ways of packets are never remembered across this table.
    Unknown,
}

/// A point of a packet's way through a table at which hooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HookPoint {
    BeforeLookup,
    AfterHit,
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
/// registration. In a trace it calls them, too: see [`HookContext::is_dry`].
#[allow(unused_variables)]
pub trait Hook {
    /// The extension's name, under which its rows stand in the catalogue. It is given the actions,
    /// instructions and messages of these, each with the place of its row among them.
    fn name(&self) -> &'static str;

    /// Chooses one of the extension's options, before it is added to a switch: what the operator
    /// wrote as `EXTENSION.NAME=VALUE`. Errors: a sentence with what would be right.
    fn set_option(&mut self, name: &str, value: &str) -> Result<(), String> {
        Err(format!("{} has no options", self.name()))
    }

    /// When it is added to a switch. The configuration has a seed for its random choices, a secret
    /// for what it hashes, and the time of day.
    fn start(&mut self, config: &Config) {}

    /// What [`Hook::before_lookup`], [`Hook::after_hit`] and [`Hook::on_miss`] do in a table. It
    /// may change with the extension's state, and then [`Hook::generation`] does, too.
    ///
    /// A hook that does more than it says is safe but for `None` and `Pure`: where it changes the
    /// key or goes elsewhere, the remembered way is left.
    fn effect(&self, table: TableId) -> HookEffect {
        HookEffect::Unknown
    }

    /// Whether [`Hook::before_lookup`] is all that it does in tables, as it says when it is added:
    /// then [`Hook::after_hit`] and [`Hook::on_miss`] are not called.
    fn only_prepares(&self) -> bool {
        false
    }

    /// Whether [`Hook::on_miss`] is all that it does in tables, as it says when it is added: then
    /// [`Hook::before_lookup`] and [`Hook::after_hit`] are not called, and packets that hit an
    /// entry cost nothing.
    fn only_misses(&self) -> bool {
        false
    }

    /// A number that stands for all answers of [`Hook::effect`] and for what a pure hook sets:
    /// where they differ, it does. It may come back.
    fn generation(&self) -> u64 {
        0
    }

    /// What one of the extension's actions or instructions does to packets: row `row` of its list.
    /// It changes at most with [`Hook::generation`]. Of a path through the tables, the part that is
    /// remembered goes on after one that is pure or live, and ends after any other.
    ///
    /// An action is called for each packet. Where a pure one does more than to set fields, or a
    /// live one changes the key or goes elsewhere, the remembered path is left.
    fn action_effect(&self, row: usize, value: &ExtValue) -> HookEffect {
        HookEffect::Unknown
    }

    /// Whether, as things stand, it acts on each packet of the wire, so that what one did shows in
    /// the next: then a super-frame whose packets meet one of its actions, or a table in which its
    /// effect is more than pure, is cut into its segments before the tables.
    fn acts_on_segments(&self) -> bool {
        false
    }

    /// Prefetches what [`Hook::before_lookup`] will read of packets that come to a table soon, or
    /// [`Hook::on_miss`] if the hook [only acts there](Hook::only_misses), and
    /// [foresees](Upcoming::foresee) what it will set. It is called, if at all, for a burst that is
    /// about to be looked up in table 0, and must not change what packets or messages see: some of
    /// the burst may never be looked up.
    fn prefetch(&mut self, table: TableId, packets: &mut Upcoming<'_>) {}

    /// Does with a packet what [`Hook::before_lookup`] would do, if that is to set what
    /// [`Hook::prefetch`] foresaw for the packet of this number when it was called last, and to ask
    /// for nothing. `false`: it does nothing, and that is called. It is called only where this hook
    /// is the only one, and the packet is as it was shown.
    fn fulfil(&mut self, now: Time, table: TableId, number: usize) -> bool {
        false
    }

    /// Does with a packet what [`Hook::on_action`] would do, if that leaves the packet as it is and
    /// asks for nothing. `false`: it does nothing, and that is called. The packet has the number
    /// that it had when [`Hook::prefetch`] was called last, and is as it was shown.
    fn fulfil_action(&mut self, now: Time, number: usize, row: usize, value: &ExtValue) -> bool {
        false
    }

    /// Before a table is looked up.
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        Verdict::Continue
    }

    /// After an entry was hit, before its instructions.
    fn after_hit(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        Verdict::Continue
    }

    /// When no entry matched. `true`: the table is looked up again (once). A packet that the hook
    /// [takes](HookContext::take) is no miss any more: it is not dropped, and no controller gets
    /// it.
    fn on_miss(&mut self, cx: &mut HookContext<'_>) -> bool {
        false
    }

    /// On one of the extension's actions or instructions, of row `row` of its list.
    fn on_action(&mut self, cx: &mut HookContext<'_>, row: usize, value: &ExtValue) -> Verdict {
        Verdict::Continue
    }

    /// Whether [`Hook::on_egress`] is called. It is asked when it is added.
    fn acts_on_egress(&self) -> bool {
        false
    }

    /// Before a packet leaves by a port.
    fn on_egress(&mut self, cx: &mut HookContext<'_>, port: PortNo) -> Verdict {
        Verdict::Continue
    }

    /// After packets were dropped at a port, or on the way there, whose QoS record names the
    /// extension as its [owner](crate::Qos::owner).
    fn on_egress_drop(&mut self, drop: &EgressDrop) {}

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

    /// After a connection has ended, with its auxiliary ones: no other ever has its number, so that
    /// what is kept for it may go.
    fn on_disconnect(&mut self, connection: u64) {}

    /// Before a flow-mod adds or changes entries that have an instruction of the extension, of row
    /// `row` of its list. It may still fail for another reason. Errors: an OpenFlow error; then it
    /// changes nothing.
    fn admit(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        flow_mod: &FlowMod,
    ) -> Result<(), ErrorCode> {
        Ok(())
    }

    /// After a connection's flow-mod was carried out, or that of the fail mode, for which there is
    /// no asker. A reply has the flow-mod's transaction id.
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
