//! The hooks of an extension: points on a packet's path and events of the switch, each with a
//! default that does nothing.

use alloc::string::String;

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::{FlowMod, FlowRemoved, PortMod};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, ExtValue, Message, PortNo};

use crate::{
    Config, ControlContext, EgressDrop, HookContext, HookEffect, OptionError, ReplyPart, Time,
    Verdict,
};
#[cfg(feature = "lookahead")]
use crate::{LookupNote, Upcoming};

/// A point on a packet's path through a table at which hooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookPoint {
    /// Before the lookup.
    BeforeLookup,
    /// After a hit, before the instructions.
    AfterHit,
}

/// An extension's behaviour. The switch calls hooks in the order of registration. It also calls
/// them in a trace: see [`HookContext::is_dry`].
#[allow(unused_variables)]
pub trait Hook {
    /// The extension's name, under which its rows are in the catalogue. The hook gets the actions,
    /// instructions and messages of these rows, each with the place of its row among them.
    fn name(&self) -> &'static str;

    /// Sets one of the extension's options before it is added to a switch, which the operator
    /// writes as `EXTENSION.NAME=VALUE`.
    fn set_option(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        Err(OptionError::NoOptions(self.name()))
    }

    /// Called when it is added to a switch. The configuration contains a seed for random choices, a
    /// secret for hashes, and the time of day.
    fn start(&mut self, config: &Config) {}

    /// Returns what [`Hook::before_lookup`], [`Hook::after_hit`] and [`Hook::on_miss`] do in a
    /// table. If the answer changes with the extension's state, [`Hook::generation`] must change,
    /// too.
    ///
    /// A hook that does more than it declares is safe except for `None` and `Pure`: when it changes
    /// the key or sends the packet elsewhere, the packet leaves the cached path.
    fn effect(&self, table: TableId) -> HookEffect {
        HookEffect::Unknown
    }

    /// Returns true if it acts in tables only in [`Hook::before_lookup`]; asked once, when it is
    /// added. If true, [`Hook::after_hit`] and [`Hook::on_miss`] are not called.
    fn only_prepares(&self) -> bool {
        false
    }

    /// Returns true if it acts in tables only in [`Hook::on_miss`]; asked once, when it is added.
    /// If true, [`Hook::before_lookup`] and [`Hook::after_hit`] are not called, and the hook costs
    /// packets that hit an entry nothing.
    fn only_misses(&self) -> bool {
        false
    }

    /// A number that identifies all answers of [`Hook::effect`] and the values that a pure hook
    /// sets: if any of these changes, the number must change. A former number may return with the
    /// former answers. It changes only in calls with `&mut self`, after which it is asked
    /// for.
    fn generation(&self) -> u64 {
        0
    }

    /// Returns what one of the extension's actions or instructions, of row `row` of its list, does
    /// to packets. The answer may change only together with [`Hook::generation`]. A cached path
    /// continues after an action that is pure or live, and ends after any other.
    ///
    /// An action is called for each packet. If a pure one does more than set fields, or a live one
    /// changes the key or sends the packet elsewhere, the packet leaves the cached path.
    fn action_effect(&self, row: usize, value: &ExtValue) -> HookEffect {
        HookEffect::Unknown
    }

    /// Returns true if it currently has to see each packet of the wire, because one packet affects
    /// how the next is handled. If true, a super-frame is cut into its segments before the tables
    /// if its packets meet one of the extension's actions, or a table in which its effect is more
    /// than pure.
    fn acts_on_segments(&self) -> bool {
        false
    }

    /// Prefetches what [`Hook::before_lookup`] will read for packets that come to a table soon, or
    /// [`Hook::on_miss`] if the hook [only acts there](Hook::only_misses), and
    /// [predicts](Upcoming::predict) which fields it will set. It may be called for a burst that is
    /// about to be looked up in table 0. It must not change anything that packets or messages can
    /// observe, because some of the burst may never be looked up.
    #[cfg(feature = "lookahead")]
    fn prefetch(&mut self, table: TableId, packets: &mut Upcoming<'_>) {}

    /// Does with a packet what [`Hook::before_lookup`] would do, if that only sets what the last
    /// [`Hook::prefetch`] predicted for the packet of this number. Otherwise it returns false and
    /// does nothing, and [`Hook::before_lookup`] is called. It is called only if no other hook acts
    /// there and the packet is unchanged since `prefetch`.
    #[cfg(feature = "lookahead")]
    fn apply_prediction(&mut self, now: Time, table: TableId, number: usize) -> bool {
        false
    }

    /// Returns what [`Hook::before_lookup`] would have noted about the packet of this number, for
    /// which [`Hook::apply_prediction`] has just returned true.
    #[cfg(feature = "lookahead")]
    fn prediction_note(&self, number: usize) -> Option<LookupNote> {
        None
    }

    /// Does with a packet what [`Hook::on_action`] would do, if that leaves the packet unchanged
    /// and asks for nothing. Otherwise it returns false and does nothing, and [`Hook::on_action`]
    /// is called. The packet has the number that it had in the last [`Hook::prefetch`], and is
    /// unchanged since then.
    #[cfg(feature = "lookahead")]
    fn apply_predicted_action(
        &mut self,
        now: Time,
        number: usize,
        row: usize,
        value: &ExtValue,
    ) -> bool {
        false
    }

    /// Called before the lookup in a table.
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        Verdict::Continue
    }

    /// Called after an entry was hit, before its instructions.
    fn after_hit(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        Verdict::Continue
    }

    /// Called when no entry matched. If it returns true, the table is looked up again (once). A
    /// packet that the hook [takes](HookContext::take) is no longer a miss: it is not dropped, and
    /// no controller gets it.
    fn on_miss(&mut self, cx: &mut HookContext<'_>) -> bool {
        false
    }

    /// Called for one of the extension's actions or instructions, of row `row` of its list.
    fn on_action(&mut self, cx: &mut HookContext<'_>, row: usize, value: &ExtValue) -> Verdict {
        Verdict::Continue
    }

    /// Called after an entry was added that it wanted, or was not; once
    /// for each, in their order.
    #[cfg(feature = "wanted")]
    fn on_wanted_entry(&mut self, now: Time, result: crate::WantedResult) {}

    /// Returns true if [`Hook::on_egress`] is to be called; asked once, when it is added.
    fn acts_on_egress(&self) -> bool {
        false
    }

    /// Called before a packet is sent out of a port.
    fn on_egress(&mut self, cx: &mut HookContext<'_>, port: PortNo) -> Verdict {
        Verdict::Continue
    }

    /// Called after packets were dropped at or before a port, if their QoS record names the
    /// extension as its [owner](crate::Qos::owner).
    fn on_egress_drop(&mut self, drop: &EgressDrop) {}

    /// The time when [`Hook::on_tick`] has to be called next. It changes only in calls with
    /// `&mut self`.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// Called at or after the time that [`Hook::next_tick`] returned.
    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {}

    /// Called for one of the extension's messages, of row `row` of its list. If the row says that
    /// the message [changes](bofuss_oflib::ext::ExtRow::changes) the switch, it never comes from a
    /// slave. Errors: an OpenFlow error, or one of the experimenter's own; then nothing that the
    /// hook asked for is done.
    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        Err(BadRequest::BAD_EXP_TYPE)
    }

    /// Returns the next part of the answer to one of the extension's multipart requests, of row
    /// `row` of its list; the request is complete. `from` is 0 in the first call, and then what the
    /// previous part named as next. Packets and messages wait while a part is made, so it should
    /// visit a few hundred items at most; it must be below 64 KiB. Errors: as for a message.
    fn on_multipart(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        Err(BadRequest::BAD_EXP_TYPE)
    }

    /// Called after a connection and its auxiliary ones were closed. Its number is never used
    /// again, so what is kept for it may be freed.
    fn on_disconnect(&mut self, connection: u64) {}

    /// Called before a flow-mod adds or changes entries with an instruction of the extension, of
    /// row `row` of its list; not for its actions. The flow-mod may still fail for another reason.
    /// Errors: an OpenFlow error; then it changes nothing.
    fn admit(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        flow_mod: &FlowMod,
    ) -> Result<(), ErrorCode> {
        Ok(())
    }

    /// Called after a flow-mod was executed; a reply gets its transaction id. There is no asker if
    /// its connection has closed meanwhile, and for the entries of the fail mode and those that a
    /// hook wanted.
    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {}

    /// Called after an entry was removed, whatever its flags.
    fn on_flow_removed(&mut self, cx: &mut ControlContext<'_>, removed: &FlowRemoved) {}

    /// Called after a port was added, changed or removed; `up` is false if it was removed or its
    /// link is down.
    fn on_port_change(&mut self, cx: &mut ControlContext<'_>, port: PortNo, up: bool) {}

    /// Returns true if it does what a port-mod sets beyond OpenFlow's bits: an optical port, and
    /// properties of experimenters. Errors: an OpenFlow error, if its extension knows the port.
    fn takes_port_mod(&self, port_mod: &PortMod) -> Result<bool, ErrorCode> {
        Ok(false)
    }

    /// Called after a port-mod was executed that a hook [takes](Hook::takes_port_mod).
    fn on_port_mod(&mut self, cx: &mut ControlContext<'_>, port_mod: &PortMod) {}

    /// Its states of flows, if it has such and all that it does to packets depends on the packet,
    /// its flow's state and what controllers have sent: then several replicas of a switch can
    /// divide packets.
    #[cfg(feature = "replicas")]
    fn flow_states(&mut self) -> Option<&mut dyn crate::FlowStates> {
        None
    }

    /// Called once if it is of one of several replicas of a switch, which have the same entries.
    #[cfg(feature = "replicas")]
    fn be_replica(&mut self) {}

    /// The reason why a message was refused with this error, in a sentence for the log that says
    /// more than the error's own text; `None` if it has nothing to add. Nothing has changed since
    /// the refusal.
    fn explain(&self, message: &Message, error: ErrorCode) -> Option<String> {
        None
    }

    /// Lists some of its counters and measurements for metrics, at most a few hundred; `from` is 0
    /// or what the previous call returned. Returns the place to continue with, if there are more.
    #[cfg(feature = "metrics")]
    fn metrics(
        &self,
        now: Time,
        from: u64,
        list: &mut alloc::vec::Vec<crate::Metric>,
    ) -> Option<u64> {
        None
    }

    /// Checks whether an action or instruction of the extension, of row `row` of its list, is valid
    /// in an entry of this table. Errors: an OpenFlow error.
    fn check(&self, row: usize, value: &ExtValue, table: TableId) -> Result<(), ErrorCode> {
        Ok(())
    }
}
