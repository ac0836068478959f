//! The places of actions in OpenFlow 1.1: FLOW_MOD, entries, buckets and PACKET_OUT; and
//! FLOW_REMOVED. Spec: OpenFlow 1.1.0 sections 4.6, A.3.4, A.3.5.2, A.3.6, A.4.2.

use alloc::vec::Vec;

use super::V1_1;
use super::action::{gather, spread};
use crate::action::Action;
use crate::error::{DecodeError, FlowModFailed};
use crate::forms::Form;
use crate::instruction::{Instruction, Instructions};
use crate::matching::Match;
use crate::message::multipart::flow::FlowEntry;
use crate::message::{Bucket, FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, PacketOut};
use crate::v1_2::V1_2;
use crate::v1_3::{V1_3, layout};
use crate::wire::{Reader, Writer};

layout! {
    V1_1;
    FlowRemoved {
        cookie, priority, reason, table_id, duration_sec, duration_nsec, idle_timeout => 2,
        packet_count, byte_count, fields;
        ..default
    }
}

/// The flags that every flow-mod of 1.1 means besides its own: an add begins at zero, and a modify
/// that asks for no cookie adds what it does not find.
fn implied(flow: &FlowMod) -> FlowModFlags {
    match flow.command {
        FlowModCommand::ADD => FlowModFlags::RESET_COUNTS,
        FlowModCommand::MODIFY | FlowModCommand::MODIFY_STRICT if flow.cookie_mask == 0 => {
            FlowModFlags::OR_ADD
        }
        _ => FlowModFlags::default(),
    }
}

impl Form<V1_1> for FlowModFlags {
    /// Errors: FLOW_MOD_FAILED/BAD_FLAGS for flags that came later.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_flags = r.clone();
        let flags = <Self as Form<V1_2>>::read(r)?;
        if flags.has(Self::RESET_COUNTS) {
            return Err(at_flags.err(FlowModFailed::BAD_FLAGS));
        }
        Ok(flags)
    }
    fn write(&self, w: &mut Writer<'_>) {
        if self.has(Self::RESET_COUNTS) {
            w.unsupported("these flags");
        }
        <Self as Form<V1_2>>::write(self, w);
    }
}

/// Changes each list of actions. Errors: those of `change`.
fn changed<E>(
    instructions: &Instructions,
    change: impl Fn(&[Action]) -> Result<Vec<Action>, E>,
) -> Result<Instructions, E> {
    let mut list = instructions.list().to_vec();
    for instruction in &mut list {
        if let Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) = instruction
        {
            *actions = change(actions)?;
        }
    }
    Ok(Instructions::new(list).expect("each type stands once, as before"))
}

/// The instructions of the model that those on the wire mean in an entry of this match.
fn meant(instructions: &Instructions, fields: &Match) -> Instructions {
    let meant = changed(instructions, |list| Ok::<_, ()>(spread(list, Some(fields))));
    meant.expect("every list has a meaning")
}

/// The instructions on the wire. What cannot be said: what [`gather`] refuses.
fn said(instructions: &Instructions, fields: &Match, w: &mut Writer<'_>) -> Instructions {
    changed(instructions, |list| gather(list, Some(fields))).unwrap_or_else(|what| {
        w.unsupported(what);
        Instructions::default()
    })
}

impl Form<V1_1> for FlowMod {
    /// Errors: FLOW_MOD_FAILED with BAD_COMMAND or BAD_FLAGS; the match's and the instructions'.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut flow = <Self as Form<V1_3>>::read(r)?;
        flow.flags = flow.flags | implied(&flow);
        flow.instructions = meant(&flow.instructions, &flow.fields);
        Ok(flow)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let on_wire = Self {
            flags: self.flags.without(implied(self)),
            instructions: said(&self.instructions, &self.fields, w),
            ..self.clone()
        };
        <Self as Form<V1_3>>::write(&on_wire, w);
    }
}

impl Form<V1_1> for FlowEntry {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut entry = <Self as Form<V1_2>>::read(r)?;
        entry.instructions = meant(&entry.instructions, &entry.fields);
        Ok(entry)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let on_wire = Self {
            instructions: said(&self.instructions, &self.fields, w),
            ..self.clone()
        };
        <Self as Form<V1_2>>::write(&on_wire, w);
    }
}

/// The list on the wire of actions that no match is known of. What cannot be said: what [`gather`]
/// refuses.
fn said_alone(actions: &[Action], w: &mut Writer<'_>) -> Vec<Action> {
    gather(actions, None).unwrap_or_else(|what| {
        w.unsupported(what);
        Vec::new()
    })
}

impl Form<V1_1> for Bucket {
    /// Errors: GROUP_MOD_FAILED/BAD_BUCKET for its length, or an action's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut bucket = <Self as Form<V1_3>>::read(r)?;
        bucket.actions = spread(&bucket.actions, None);
        Ok(bucket)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let on_wire = Self {
            actions: said_alone(&self.actions, w),
            ..self.clone()
        };
        <Self as Form<V1_3>>::write(&on_wire, w);
    }
}

impl Form<V1_1> for PacketOut {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut packet = <Self as Form<V1_3>>::read(r)?;
        packet.actions = spread(&packet.actions, None);
        Ok(packet)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let on_wire = Self {
            actions: said_alone(&self.actions, w),
            ..self.clone()
        };
        <Self as Form<V1_3>>::write(&on_wire, w);
    }
}
