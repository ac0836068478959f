//! Checks of flow entries and packet-outs before anything is changed.
//!
//! The features of a table are checked in `tables/shape/admission.rs`; here are the facts that
//! hold for every table. The text asks for these checks, so that an action which cannot work is an
//! error when it is sent, and not a loss of packets later: OpenFlow 1.3.5 sections 5.12, 6.4 and
//! 7.2.5.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use bofuss_oflib::error::{BadAction, MeterModFailed};
use bofuss_oflib::field::{ETH_TYPE, Field, VID_PRESENT, VLAN_VID};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::types::{MeterId, QueueId, TableId};
use bofuss_oflib::{Action, Catalogue, ErrorCode, FieldMatch, Instruction, Match, PortNo};

use crate::control::triggers::check_thresholds;
use crate::frame_engine::FrameEngine;
use crate::hooks::Hooks;
use crate::pipeline::context::Pipeline;
#[cfg(feature = "spare")]
use crate::tables::spare_rows;

/// The Ethernet types that push actions accept. A push with another type would make a header that
/// no parser recognises, and is refused with BAD_ACTION/BAD_ARGUMENT. Spec: OpenFlow 1.3.5 section
/// 5.12.
const VLAN_TYPES: &[u16] = &[0x8100, 0x88a8];
const MPLS_TYPES: &[u16] = &[0x8847, 0x8848];
const PBB_TYPES: &[u16] = &[0x88e7];

/// The facts that are known of packets that reach an action: the entry's match, updated by the
/// preceding actions.
///
/// It is `None` if nothing is known: then any field may be there, and no action is refused. The
/// match is copied only when an action changes what is known.
#[derive(Clone)]
struct KnownFields<'a>(Option<Cow<'a, Match>>);

/// The match on `first` and on those of `others` whose prerequisites are met by `first` or by one
/// another.
fn sound(first: &[FieldMatch], others: &[FieldMatch]) -> Match {
    let mut known = Match::new(first).unwrap_or_default();
    for other in others {
        if known.meets_need(other.field) {
            let more: Vec<_> = known.fields().iter().chain([other]).copied().collect();
            known = Match::new(&more).unwrap_or_default();
        }
    }
    known
}

/// The fields of a match but for one.
fn without(known: &Match, field: &Field) -> Vec<FieldMatch> {
    let others = known.fields().iter().filter(|one| one.field != field);
    others.copied().collect()
}

impl KnownFields<'_> {
    /// Notes that a field has this value from here on.
    fn set(&mut self, field: &'static Field, value: u128) {
        let Some(known) = &mut self.0 else { return };
        let mut fields = without(known, field);
        fields.push(FieldMatch::exact(field, value));
        if let Ok(changed) = Match::new(&fields) {
            *known = Cow::Owned(changed);
            return;
        }
        // Fields that depended on the old value are no longer known.
        let (others, last) = fields.split_at(fields.len() - 1);
        *known = Cow::Owned(sound(last, others));
    }

    /// Notes that a field may now have any value.
    fn forget(&mut self, field: &Field) {
        let Some(known) = &mut self.0 else { return };
        *known = Cow::Owned(sound(&[], &without(known, field)));
    }

    /// Errors: BAD_ACTION/MATCH_INCONSISTENT if the packets have no Ethernet header to which a push
    /// could add.
    fn check_push(&self) -> Result<(), ErrorCode> {
        match &self.0 {
            Some(known) if !known.is_of_ethernet() => Err(BadAction::MATCH_INCONSISTENT),
            _ => Ok(()),
        }
    }

    /// Returns true if nothing says that the packets have a field: its prerequisite is not met by
    /// what is known of them.
    fn lacks(&self, field: &Field, catalogue: &Catalogue) -> bool {
        // A mapping may have given the field another prerequisite than at the time of decoding.
        let row = catalogue.by_id(field.id.into());
        let known = self.0.as_ref();
        known.is_some_and(|known| !known.meets_need(row))
    }
}

/// The state against which lists of actions and instructions are checked.
pub struct Checker<'a, E: FrameEngine> {
    pub(super) pipeline: &'a Pipeline<E>,
    hooks: &'a Hooks,
}

impl<'a, E: FrameEngine> Checker<'a, E> {
    pub(crate) fn new(pipeline: &'a Pipeline<E>, hooks: &'a Hooks) -> Self {
        Self { pipeline, hooks }
    }

    /// Checks the instructions of an entry of `table` that matches `fields`; `None` if its actions
    /// may concern any header.
    ///
    /// Errors: METER_MOD_FAILED with INVALID_METER or UNKNOWN_METER, BAD_INSTRUCTION/UNSUP_INST for
    /// thresholds, BAD_ACTION with BAD_OUT_PORT, BAD_OUT_GROUP, BAD_ARGUMENT or MATCH_INCONSISTENT,
    /// or an extension's.
    pub(crate) fn instructions(
        &self,
        table: TableId,
        fields: Option<&Match>,
        instructions: &Instructions,
    ) -> Result<(), ErrorCode> {
        let known = KnownFields(fields.map(Cow::Borrowed));
        for instruction in instructions.list() {
            match instruction {
                // Virtual meters are above MAX: no entry can send packets to them.
                Instruction::Meter(id) if *id == MeterId(0) || *id > MeterId::MAX => {
                    return Err(MeterModFailed::INVALID_METER);
                }
                Instruction::Meter(id) if !self.pipeline.meters.contains_key(id) => {
                    return Err(MeterModFailed::UNKNOWN_METER);
                }
                // Each list begins with what the match says: what apply-actions change is not known
                // of the packets for which the action set runs, so a set-field there is judged by
                // the match alone.
                Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => {
                    self.list(table, known.clone(), false, actions)?;
                }
                Instruction::StatTrigger(trigger) => check_thresholds(trigger)?,
                Instruction::Experimenter(value) => self.hooks.check(value, table)?,
                Instruction::Meter(_)
                | Instruction::ClearActions
                | Instruction::WriteMetadata { .. }
                | Instruction::GotoTable(_) => {}
            }
        }
        Ok(())
    }

    /// Checks a list of actions; `fields` is `None` for a packet-out: nothing is known of its
    /// packet, and it may go to TABLE.
    ///
    /// Errors: BAD_ACTION with BAD_OUT_PORT, BAD_OUT_GROUP, BAD_QUEUE, BAD_ARGUMENT or
    /// MATCH_INCONSISTENT, or an extension's. A queue that its port does not have is no error.
    pub fn actions(
        &self,
        table: TableId,
        fields: Option<&Match>,
        actions: &[Action],
    ) -> Result<(), ErrorCode> {
        let known = KnownFields(fields.map(Cow::Borrowed));
        self.list(table, known, fields.is_none(), actions)
    }

    /// Checks actions in their order, since each may change what is known for the next.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an action may stand in every entry unless it has an arm"
    )]
    fn list(
        &self,
        table: TableId,
        mut known: KnownFields<'_>,
        packet_out: bool,
        actions: &[Action],
    ) -> Result<(), ErrorCode> {
        let catalogue = &*self.pipeline.catalogue;
        for action in actions {
            match action {
                Action::Output(output) => check_output(output.port, packet_out)?,
                // In a bundle, these are the groups as its earlier messages have made them.
                Action::Group(id) if self.pipeline.groups.contains_key(id) => {}
                Action::Group(_) => return Err(BadAction::BAD_OUT_GROUP),
                Action::SetQueue(QueueId::ALL) => return Err(BadAction::BAD_QUEUE),
                Action::SetField(set) => {
                    #[cfg(feature = "spare")]
                    spare_rows::check_set(&set.0, catalogue)?;
                    if known.lacks(set.0.field, catalogue) {
                        return Err(BadAction::MATCH_INCONSISTENT);
                    }
                    // A set-field of some bits leaves the others as they were, so the value is not
                    // known.
                    if set.0.is_exact() {
                        known.set(set.0.field, set.0.number());
                    } else {
                        known.forget(set.0.field);
                    }
                }
                Action::Meter(id)
                    if !self.pipeline.meters.contains_key(id) || *id > MeterId::MAX =>
                {
                    return Err(BadAction::BAD_METER);
                }
                Action::CopyField(copy) => {
                    copy.check()?;
                    #[cfg(feature = "spare")]
                    spare_rows::check_copy(copy, catalogue)?;
                    if known.lacks(copy.src, catalogue) || known.lacks(copy.dst, catalogue) {
                        return Err(BadAction::MATCH_INCONSISTENT);
                    }
                    // The value comes from the packet.
                    known.forget(copy.dst);
                }
                Action::PushVlan(ty) => {
                    check_type(ty.0, VLAN_TYPES)?;
                    known.check_push()?;
                    known.set(VLAN_VID, VID_PRESENT.into());
                }
                Action::PushMpls(ty) => {
                    check_type(ty.0, MPLS_TYPES)?;
                    known.check_push()?;
                    known.set(ETH_TYPE, ty.0.into());
                }
                Action::PushPbb(ty) => {
                    check_type(ty.0, PBB_TYPES)?;
                    known.check_push()?;
                    known.set(ETH_TYPE, ty.0.into());
                }
                // The controller says which type follows, as the label does not.
                Action::PopMpls(ty) => known.set(ETH_TYPE, ty.0.into()),
                Action::Experimenter(_) if action.is_tag_vlan() => {
                    known.check_push()?;
                    known.set(VLAN_VID, VID_PRESENT.into());
                }
                // Any frame may be in the tunnel, so nothing is known of its headers.
                Action::PopPbb => known = KnownFields(None),
                Action::Experimenter(value) => {
                    self.hooks.check(value, table)?;
                    // Nested actions may be executed or not, so they do not change what is known
                    // after them.
                    self.list(table, known.clone(), false, value.actions())?;
                }
                // Any other action is valid in every entry, so a new one needs no arm here.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Errors: BAD_ACTION/BAD_OUT_PORT. Choice: a port that does not exist yet is accepted, because it
/// may be added later; ANY and numbers that are reserved without a meaning are not.
fn check_output(port: PortNo, packet_out: bool) -> Result<(), ErrorCode> {
    let ok = match port {
        PortNo::TABLE => packet_out,
        PortNo::NORMAL => cfg!(feature = "normal"),
        PortNo::IN_PORT | PortNo::FLOOD | PortNo::ALL | PortNo::CONTROLLER | PortNo::LOCAL => true,
        port => port.is_port(),
    };
    ok.then_some(()).ok_or(BadAction::BAD_OUT_PORT)
}

fn check_type(ty: u16, allowed: &[u16]) -> Result<(), ErrorCode> {
    let known = allowed.contains(&ty).then_some(());
    known.ok_or(BadAction::BAD_ARGUMENT)
}
