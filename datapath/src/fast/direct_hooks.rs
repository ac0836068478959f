//! Hooks on the direct path: they are called with a frame that is no packet yet, and as long as
//! they only read and set fields that stand in no header, it becomes none.

use alloc::{boxed::Box, rc::Rc, vec::Vec};

use bofuss_frame::Frame;
use bofuss_oflib::types::TableId;
use bofuss_packet::{Key, Packet};

use crate::cache::lookahead::Lookahead;
use crate::hook::HookPoint;
use crate::hook_context::{HookOutcome, Subject, set_field};
use crate::lazy_packet::{FieldSets, LazyEdits, LazyPacket};
use crate::pipeline::context::Context;
use crate::pipeline::hooking::{BegunActions, HookReply};
use crate::pipeline::{NO_COOKIE, Start};
use crate::{Hook, HookContext, Sink, Upcoming, Verdict};

/// What hooks have done with a frame so far.
#[derive(Default)]
pub(super) struct Begun {
    made: LazyEdits,
    /// What they have asked for.
    outcome: HookOutcome,
    start: Start,
}

impl Begun {
    /// Nothing; keeps its memory.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.made.sets.clear();
        self.start.prepared = false;
    }

    /// The reply of a hook, unless all that it did was to read fields of a frame and, if it may,
    /// to set some that stand in no header.
    #[inline]
    fn reply(
        &mut self,
        hook: usize,
        (verdict, replanned): (Verdict, bool),
        may_set: bool,
    ) -> Option<HookReply> {
        let outcome = &mut self.outcome;
        let is_plain = verdict == Verdict::Continue
            && (may_set || !outcome.changed)
            && outcome.acts.is_empty()
            && outcome.goto.is_none()
            && !outcome.taken
            && outcome.drop.is_none()
            && !replanned
            && self.made.packet.is_none();
        if is_plain {
            outcome.changed = false;
            return None;
        }
        Some(HookReply {
            hook,
            verdict,
            outcome: core::mem::take(outcome),
            replanned,
        })
    }
}

impl<S: Sink> Context<'_, S> {
    /// Calls a hook with a frame at a point of a table, where the cookie is that of the entry hit.
    /// Its verdict, and whether hooks act otherwise since.
    #[inline]
    fn call_lazily(
        &mut self,
        hook: usize,
        frame: &mut Frame,
        (arrival, lookahead): (&Key, &Lookahead),
        place: (TableId, u64),
        begun: &mut Begun,
        point: impl FnOnce(&mut dyn Hook, &mut HookContext<'_>) -> Verdict,
    ) -> (Verdict, bool) {
        let lazy = Subject::Lazy(LazyPacket {
            frame,
            layout: &lookahead.layout,
            arrival,
            number: lookahead.number,
            made: &mut begun.made,
        });
        self.ask_hook(hook, lazy, place, (false, &mut begun.outcome), point)
    }

    /// Has hooks prepare a frame for the lookup of table 0, and gives the fields that they set to
    /// the words by which its flow is found, unless these were foreseen. False if that takes a
    /// packet.
    pub(super) fn prepare(
        &mut self,
        frame: &mut Frame,
        key: &Key,
        lookahead: &mut Lookahead,
        foreseen: &FieldSets,
        begun: &mut Begun,
    ) -> bool {
        if self.fulfils(lookahead) {
            begun.made.sets.extend_from_slice(foreseen);
            begun.start.prepared = true;
            return true;
        }
        let place = (TableId(0), NO_COOKIE);
        let mut next = 0;
        while let Some(&(hook, _)) = self.hooks.at(TableId(0), HookPoint::BeforeLookup).get(next) {
            next += 1;
            let given = (key, &*lookahead);
            let said = self.call_lazily(hook, frame, given, place, begun, |hook, cx| {
                hook.before_lookup(cx)
            });
            if let Some(reply) = begun.reply(hook, said, true) {
                begun.start.reply = Some(Box::new(reply));
                return false;
            }
        }
        begun.start.prepared = true;
        let sets = &begun.made.sets;
        let has_place = sets == foreseen || {
            let overrides = |(field, _): &_| sets.iter().any(|(other, _)| other == field);
            foreseen.iter().all(overrides) && self.lane.cache.set_fields(lookahead, sets)
        };
        if has_place && cfg!(any(test, debug_assertions)) {
            assert!(self.is_exact(lookahead, frame, key, sets));
        }
        has_place
    }

    /// Whether what the only hook of table 0 foresaw for a frame has come true.
    #[inline]
    fn fulfils(&mut self, lookahead: &Lookahead) -> bool {
        let hooks = self.hooks.at(TableId(0), HookPoint::BeforeLookup);
        match (hooks, lookahead.number) {
            (&[(hook, _)], Some(number)) => {
                self.hooks.all[hook].fulfil(self.now, TableId(0), number)
            }
            _ => false,
        }
    }

    /// Gives the fields that hooks will most likely set to the words by which flows are found.
    pub(super) fn foresee(
        &mut self,
        frames: &[Frame],
        key: &Key,
        lookaheads: &mut [Lookahead],
        foreseen: &mut [FieldSets],
    ) {
        foreseen.iter_mut().for_each(Vec::clear);
        let layout_of = |number: usize| &lookaheads[number].layout;
        let mut packets = Upcoming {
            now: self.now,
            frames,
            layout_of: &layout_of,
            arrival: key,
            foreseen,
        };
        self.hooks.prefetch(TableId(0), &mut packets);
        for ((lookahead, sets), number) in lookaheads.iter_mut().zip(foreseen).zip(0..) {
            lookahead.number = Some(number);
            if lookahead.is_read && self.lane.cache.set_fields(lookahead, sets) {
                self.lane.cache.prefetch(lookahead);
            }
        }
    }

    /// Whether the words of a lookahead are those of the frame's packet with these fields set.
    fn is_exact(&self, lookahead: &Lookahead, frame: &Frame, key: &Key, sets: &FieldSets) -> bool {
        let mut key = key.clone();
        for (field, value) in sets {
            match value {
                Some(value) => key.set(field, *value),
                None => key.clear(field),
            }
        }
        self.lane.cache.is_exact(lookahead, frame, &key)
    }

    /// Calls the hooks of the actions with which a flow's program begins. False if one wants more
    /// than to read fields: the frame then goes its path, on which that is done.
    pub(super) fn act_first(
        &mut self,
        frame: &mut Frame,
        key: &Key,
        lookahead: &Lookahead,
        begun: &mut Begun,
    ) -> bool {
        let flow = &self.lane.cache.flows[lookahead.guess];
        let program = Rc::clone(&flow.program);
        for (done, action) in program.actions.iter().enumerate() {
            let hit = self.lane.cache.flows[lookahead.guess].hit(action.hit.into());
            let place = (action.table, self.cookie_of(hit));
            let given = (key, lookahead);
            let said = self.call_lazily(action.hook, frame, given, place, begun, |hook, cx| {
                hook.on_action(cx, action.row, &action.value)
            });
            if let Some(reply) = begun.reply(action.hook, said, false) {
                begun.start.actions = Some(Box::new(BegunActions { done, reply }));
                return false;
            }
        }
        true
    }

    /// Sends a frame through the tables with which hooks have begun, on the path of `flow` if that
    /// is known.
    pub(super) fn run_begun(
        &mut self,
        frame: Frame,
        key: &Key,
        lookahead: &Lookahead,
        flow: Option<u32>,
        begun: &mut Begun,
    ) {
        self.lane.work.begin_frame();
        let start = Start {
            flow,
            ..core::mem::take(&mut begun.start)
        };
        if let Some(mut packet) = begun.made.packet.take() {
            return self.run_from(&mut packet, start);
        }
        let mut packet = Packet::surveyed(frame, key, &lookahead.layout);
        for (field, value) in &begun.made.sets {
            set_field(&mut packet, field, *value);
        }
        self.run_from(&mut packet, start);
    }
}
