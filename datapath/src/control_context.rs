//! What a hook is given where no packet is on its way: with a message, at a time, when ports and
//! entries change.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_frame::Pool;
use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::ControllerRole;
use bofuss_oflib::{Action, Catalogue, ExtValue, PortNo, Version};
use bofuss_packet::Packet;

use crate::{Egress, HeldPacket, Port, PortProperties, Table, Time};

/// Who sent a message.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// A number that no other connection of the switch has had.
    pub connection: u64,
    /// Its role. A slave sends only what changes nothing.
    pub role: ControllerRole,
    /// The version that it speaks.
    pub version: Version,
    /// The last argument of [`ControlContext::set_form`], else 0.
    pub form: u8,
}

/// The answer to a message on its connection.
#[derive(Debug, Default)]
pub struct HookAnswer {
    /// The replies.
    pub replies: Vec<ExtValue>,
    /// The notifications that it wants from now on, or does not want any more.
    pub subscriptions: Vec<(&'static ExtRow, bool)>,
    /// The form in which it wants the experimenter's values.
    pub form: Option<u8>,
}

/// The requests of a hook.
#[derive(Debug, Default)]
pub(crate) struct ControlOutcome {
    pub(crate) answer: HookAnswer,
    pub(crate) notifications: Vec<ExtValue>,
    pub(crate) packets: Vec<(Packet, Vec<Action>)>,
    pub(crate) resumed: Vec<HeldPacket>,
    pub(crate) properties: Vec<(PortNo, PortProperties)>,
    #[cfg(feature = "spare")]
    pub(crate) catalogue: Option<Catalogue>,
}

/// The switch as a hook sees it outside of a packet's way, and what it can do there. What it asks
/// for is done when it returns, and not at all if it returns an error.
pub struct ControlContext<'a> {
    /// The time.
    pub now: Time,
    /// Who sent the message; `None` if nobody did.
    pub asker: Option<Asker>,
    pub(crate) tables: &'a [Table],
    pub(crate) ports: &'a BTreeMap<PortNo, Port>,
    pub(crate) catalogue: &'a Catalogue,
    #[cfg(feature = "spare")]
    pub(crate) field_uses: &'a crate::tables::field_uses::FieldUses,
    pub(crate) pool: &'a Pool,
    pub(crate) egress: &'a BTreeMap<PortNo, Egress>,
    pub(crate) outcome: ControlOutcome,
}

impl ControlContext<'_> {
    /// The tables, by number. Their counters may lack packets of the last moments.
    pub fn tables(&self) -> &[Table] {
        self.tables
    }

    /// The ports, by number.
    pub fn ports(&self) -> &BTreeMap<PortNo, Port> {
        self.ports
    }

    /// The fields and experimenter values that the switch knows.
    pub fn catalogue(&self) -> &Catalogue {
        self.catalogue
    }

    /// Returns true if an entry, or a bucket of a group, matches, sets or copies a field.
    #[cfg(feature = "spare")]
    pub fn uses(&self, field: &bofuss_oflib::Field) -> bool {
        self.field_uses.has(field)
    }

    /// Has the switch go on with its catalogue in which spare rows are [mapped](Catalogue::map)
    /// otherwise, which no entry uses. The flows that its engine knows are forgotten.
    #[cfg(feature = "spare")]
    pub fn set_catalogue(&mut self, catalogue: Catalogue) {
        self.outcome.catalogue = Some(catalogue);
    }

    /// Returns what the discipline of a port knows of a microflow.
    #[cfg(feature = "microflows")]
    pub fn standing(&self, port: PortNo, microflow: &crate::Microflow) -> Option<crate::Standing> {
        let egress = self.egress.get(&port)?;
        egress.discipline.standing(self.now, microflow)
    }

    /// Returns what a port has promised by QoS records; `None` if its discipline heeds none.
    #[cfg(feature = "microflows")]
    pub fn guarantees(&self, port: PortNo) -> Option<crate::Guarantees> {
        self.egress.get(&port)?.guarantees()
    }

    /// Returns true if packets wait at a port whose QoS records have this number of a microflow.
    pub fn waits(&self, port: PortNo, flow_id: u64) -> bool {
        let egress = self.egress.get(&port);
        egress.is_some_and(|egress| egress.holds(flow_id))
    }

    /// Answers the message. Without an asker, nobody gets it.
    pub fn reply(&mut self, value: ExtValue) {
        self.outcome.answer.replies.push(value);
    }

    /// Sends a message to the connections that want it: those that its row says, and those that
    /// subscribed. One that has no room for it does not get it, which is counted.
    pub fn notify(&mut self, value: ExtValue) {
        self.outcome.notifications.push(value);
    }

    /// Sends the asker notifications of this row from now on, whatever its role, or no more.
    pub fn subscribe(&mut self, row: &'static ExtRow, wanted: bool) {
        self.outcome.answer.subscriptions.push((row, wanted));
    }

    /// Sends the asker this experimenter's notifications in a form from now on: see
    /// [`bofuss_oflib::ext::TypedBody::in_form`].
    pub fn set_form(&mut self, form: u8) {
        self.outcome.answer.form = Some(form);
    }

    /// A packet made anew, as if it came in through a port; `None` if there is no buffer.
    pub fn packet(&self, bytes: &[u8], in_port: PortNo) -> Option<Packet> {
        let frame = self.pool.frame(bytes)?;
        let additions = self.catalogue.additions();
        Some(Packet::with_additions(frame, in_port, additions))
    }

    /// Applies actions to a packet, as a packet-out does: an output to TABLE sends it through the
    /// tables.
    pub fn emit(&mut self, packet: Packet, actions: Vec<Action>) {
        self.outcome.packets.push((packet, actions));
    }

    /// Has a port say this to controllers from now on, in place of what was said for it before.
    pub fn set_properties(&mut self, port: PortNo, properties: PortProperties) {
        self.outcome.properties.push((port, properties));
    }

    /// Has a packet go on its way that was held.
    pub fn resume(&mut self, held: HeldPacket) {
        self.outcome.resumed.push(held);
    }
}

/// A part of the answer to a multipart request.
#[derive(Debug)]
pub struct ReplyPart {
    /// The value that is sent; `None` if there was nothing to tell in this turn. A last part has
    /// one.
    pub value: Option<ExtValue>,
    /// The point to go on from; `None` after the last part.
    pub next: Option<u64>,
}

impl ReplyPart {
    /// The last part.
    pub fn last(value: ExtValue) -> Self {
        Self {
            value: Some(value),
            next: None,
        }
    }
}
