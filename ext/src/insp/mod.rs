//! In-switch packet generation: templates, and instructions that make packets from them.
//!
//! Spec: R. Bifulco et al., "Improving SDN with InSPired switches", SOSR 2016; the messages are
//! those of the BEBA switch. See README.md.

mod copying;
pub mod error;
mod wire;

pub use copying::{FieldCopy, PacketGenCopy};
pub use wire::{PacketGen, TemplateMod};

use alloc::{boxed::Box, collections::BTreeMap, format, vec::Vec};

use bofuss_datapath::{ControlContext, Hook, HookContext, HookEffect, ReplyPart, Verdict};
use bofuss_oflib::error::{BadInstruction, BadRequest};
use bofuss_oflib::ext::{BOFUSS, ExtKind, ExtRow};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::{Bytes, Text};
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field, PortNo};

use crate::common::beba::EXPERIMENTER;
use crate::common::beba::{BAD_EXP_INSTRUCTION, BAD_EXP_LEN, BAD_EXP_MESSAGE};
use crate::common::list::ValueList;
use error::TEMPLATE_MOD_FAILED;

/// The most templates that a switch keeps.
pub const MAX_TEMPLATES: usize = 4096;
/// The most bytes of a template, so that each fits into a part of the reply that lists all.
pub const MAX_BYTES_OF_ONE: usize = 65_000;
/// The most bytes of a part of that reply, unless it has only one template.
const BYTES_PER_PART: usize = 30_000;
/// The most bytes of a new packet that a trace shows.
const TRACED_BYTES: usize = 64;
/// Bytes before the packet of a template in that reply: length, command, number and padding.
const BYTES_BEFORE_PACKET: usize = 12;
/// The most bytes of all templates together.
pub const MAX_TEMPLATE_BYTES: usize = 4 << 20;

/// The extension has no fields.
pub static FIELDS: [Field; 0] = [];

/// The message that adds and deletes templates, the instruction, and two of our own: the multipart
/// that lists templates, and the instruction that also copies fields.
pub static VALUES: [ExtRow; 4] = [
    ExtRow::typed::<TemplateMod>(ExtKind::Message, EXPERIMENTER, 1, "template_mod")
        .with_errors(BAD_EXP_MESSAGE, BAD_EXP_LEN)
        .that_changes()
        .with_error_names(error::ERRORS)
        .with_usage("add|delete,id=N[,packet=HEX]", "changes packet templates"),
    ExtRow::typed::<PacketGen>(ExtKind::Instruction, EXPERIMENTER, 0, "packet_gen")
        .with_errors(BAD_EXP_INSTRUCTION, BAD_EXP_LEN)
        .that_runs_first(),
    ExtRow::typed::<ValueList<TemplateMod>>(ExtKind::Multipart, BOFUSS, 17, "templates")
        .with_usage("", "prints packet templates as template_mod takes them"),
    ExtRow::typed::<PacketGenCopy>(ExtKind::Instruction, BOFUSS, 18, "packet_gen_copy")
        .with_errors(BadInstruction::BAD_EXP_TYPE, BAD_EXP_LEN)
        .that_runs_first(),
];

/// The hook of this extension, without templates.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(Templates::default())
}

/// The templates, by their numbers.
#[derive(Default)]
struct Templates {
    packets: BTreeMap<u32, Vec<u8>>,
    bytes: usize,
}

impl Templates {
    /// Adds, replaces or deletes a template. Errors: TEMPLATE_MOD_FAILED if there is no template to
    /// delete, or no room for one more.
    fn modify(&mut self, message: &TemplateMod) -> Result<(), ErrorCode> {
        let (id, after) = match message {
            TemplateMod::Add { id, packet } => (id, Some(packet)),
            TemplateMod::Delete { id } => (id, None),
        };
        let before = self.packets.get(id);
        let is_new = before.is_none();
        let others = self.bytes - before.map_or(0, Vec::len);
        let Some(packet) = after else {
            self.packets.remove(id).ok_or(TEMPLATE_MOD_FAILED)?;
            self.bytes = others;
            return Ok(());
        };
        let is_full = is_new && self.packets.len() >= MAX_TEMPLATES;
        let is_long = packet.0.len() > MAX_BYTES_OF_ONE;
        if is_full || is_long || others + packet.0.len() > MAX_TEMPLATE_BYTES {
            return Err(TEMPLATE_MOD_FAILED);
        }
        self.packets.insert(*id, packet.0.clone());
        self.bytes = others + packet.0.len();
        Ok(())
    }

    /// A part of the reply that lists all templates: the commands that would add those from a
    /// number on, and the number with which the next part begins.
    fn part(&self, from: u32) -> (Vec<TemplateMod>, Option<u64>) {
        let mut list = Vec::new();
        let mut bytes = 0;
        for (id, packet) in self.packets.range(from..) {
            bytes += packet.len() + BYTES_BEFORE_PACKET;
            if bytes > BYTES_PER_PART && !list.is_empty() {
                return (list, Some((*id).into()));
            }
            list.push(TemplateMod::Add {
                id: *id,
                packet: Bytes(packet.clone()),
            });
        }
        (list, None)
    }
}

impl Hook for Templates {
    fn name(&self) -> &'static str {
        "insp"
    }

    /// Only the instructions act on packets.
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    /// The packet that hit the entry continues unchanged.
    fn action_effect(&self, _: usize, _: &ExtValue) -> HookEffect {
        HookEffect::Live
    }

    /// Each segment of a super-frame makes a packet, as it would without offloads.
    fn acts_on_segments(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Makes a packet from a template, copies fields of the packet that hit the entry into it, and
    /// applies the instruction's actions to it. If the template is unknown or empty, nothing
    /// happens. The packet that hit the entry continues.
    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        let Some((wanted, copies)) = wanted_of(value) else {
            return Verdict::Continue;
        };
        let template = wanted.template;
        let bytes = self
            .packets
            .get(&template)
            .filter(|bytes| !bytes.is_empty());
        let Some(bytes) = bytes else {
            cx.say(|| format!("makes nothing: there is no template {template}, or it is empty"));
            return Verdict::Continue;
        };
        let Some(mut packet) = cx.packet(bytes, PortNo(0)) else {
            cx.say(|| "makes nothing: there is no buffer".into());
            return Verdict::Continue;
        };
        for copy in copies {
            copy.apply(cx, &mut packet);
        }
        cx.say(|| {
            let bytes = packet.frame.bytes();
            let first = Bytes(bytes[..bytes.len().min(TRACED_BYTES)].to_vec());
            let n_bytes = bytes.len();
            format!(
                "makes template={template},bytes={n_bytes},packet={}",
                Text(&first)
            )
        });
        cx.emit(packet, wanted.actions.clone());
        Verdict::Continue
    }

    fn on_message(
        &mut self,
        _: &mut ControlContext<'_>,
        _: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        let message = value
            .body::<TemplateMod>()
            .ok_or(BadRequest::BAD_EXP_TYPE)?;
        self.modify(message)
    }

    fn on_multipart(
        &mut self,
        _: &mut ControlContext<'_>,
        _: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let (list, next) = self.part(from as u32);
        let value = Some(ExtValue::typed(request.row, ValueList(list)));
        Ok(ReplyPart { value, next })
    }
}

/// The template, the actions and the copies of one of the two instructions; `None` for other
/// values.
fn wanted_of(value: &ExtValue) -> Option<(&PacketGen, &[FieldCopy])> {
    if let Some(with_copies) = value.body::<PacketGenCopy>() {
        return Some((&with_copies.made, &with_copies.copies));
    }
    value.body().map(|wanted| (wanted, &[][..]))
}
