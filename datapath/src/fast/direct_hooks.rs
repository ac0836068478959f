//! Hooks on the direct path: they are called with a frame that is no packet yet, and as long as
//! they only read and set fields that stand in no header, it becomes none.

use alloc::{boxed::Box, rc::Rc};

use bofuss_frame::Frame;
use bofuss_oflib::types::TableId;
use bofuss_packet::{Key, Packet};

use crate::cache::lookahead::Lookahead;
use crate::hook::HookPoint;
use crate::hook_context::{Subject, set_field};
use crate::lazy_packet::{FieldSets, LazyPacket};
use crate::pipeline::context::Context;
use crate::pipeline::hooking::{BegunActions, HookReply};
use crate::pipeline::{NO_COOKIE, Start};
use crate::{Hook, HookContext, Sink, Verdict};

/// What hooks have done with a frame so far.
#[derive(Default)]
pub(super) struct Begun {
    /// What they have set.
    pub(super) sets: FieldSets,
    /// The packet, if one needed it.
    packet: Option<Box<Packet>>,
    start: Start,
}

impl Begun {
    /// Nothing; keeps its memory.
    pub(super) fn clear(&mut self) {
        self.sets.clear();
        self.start.prepared = false;
    }
}

impl HookReply {
    /// Whether all that the hook did was to read fields of a frame, and to set some that stand in
    /// no header.
    fn is_plain(&self, begun: &Begun) -> bool {
        let outcome = &self.outcome;
        self.verdict == Verdict::Continue
            && outcome.acts.is_empty()
            && outcome.goto.is_none()
            && outcome.drop.is_none()
            && !self.replanned
            && begun.packet.is_none()
    }
}

impl<S: Sink> Context<'_, S> {
    /// Calls a hook with a frame at a point of a table, where the cookie is that of the entry hit.
    #[inline]
    fn call_lazily(
        &mut self,
        hook: usize,
        (frame, arrival, lookahead): (&mut Frame, &Key, &Lookahead),
        place: (TableId, u64),
        begun: &mut Begun,
        point: impl FnOnce(&mut dyn Hook, &mut HookContext<'_>) -> Verdict,
    ) -> HookReply {
        let sets = core::mem::take(&mut begun.sets);
        let lazy = LazyPacket::new(frame, &lookahead.layout, arrival, sets);
        let (reply, subject) = self.ask_hook(hook, Subject::Lazy(lazy), place, false, point);
        let Subject::Lazy(lazy) = subject else {
            unreachable!("it was given a frame");
        };
        (begun.sets, begun.packet) = lazy.into_parts();
        reply
    }

    /// Has hooks prepare a frame for the lookup of table 0, and gives the fields that they set to
    /// the words by which its flow is found. False if that takes a packet.
    pub(super) fn prepare(
        &mut self,
        frame: &mut Frame,
        key: &Key,
        lookahead: &mut Lookahead,
        begun: &mut Begun,
    ) -> bool {
        let place = (TableId(0), NO_COOKIE);
        let mut next = 0;
        while let Some(&(hook, _)) = self.hooks.at(TableId(0), HookPoint::BeforeLookup).get(next) {
            next += 1;
            let of = (&mut *frame, key, &*lookahead);
            let reply = self.call_lazily(hook, of, place, begun, |hook, cx| hook.before_lookup(cx));
            if !reply.is_plain(begun) {
                begun.start.reply = Some(Box::new(reply));
                return false;
            }
        }
        begun.start.prepared = true;
        let has_place = self.lane.cache.set_fields(lookahead, &begun.sets);
        if has_place && cfg!(any(test, debug_assertions)) {
            let mut key = key.clone();
            for (field, value) in &begun.sets {
                match value {
                    Some(value) => key.set(field, *value),
                    None => key.clear(field),
                }
            }
            assert!(self.lane.cache.is_exact(lookahead, frame, &key));
        }
        has_place
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
        let n_sets = begun.sets.len();
        for (done, action) in program.actions.iter().enumerate() {
            let hit = self.lane.cache.flows[lookahead.guess].hit(action.hit.into());
            let place = (action.table, self.cookie_of(hit));
            let of = (&mut *frame, key, lookahead);
            let reply = self.call_lazily(action.hook, of, place, begun, |hook, cx| {
                hook.on_action(cx, action.row, &action.value)
            });
            if !reply.is_plain(begun) || begun.sets.len() > n_sets {
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
        if let Some(mut packet) = begun.packet.take() {
            return self.run_from(&mut packet, start);
        }
        let mut packet = Packet::surveyed(frame, key, &lookahead.layout);
        for (field, value) in &begun.sets {
            set_field(&mut packet, field, *value);
        }
        self.run_from(&mut packet, start);
    }
}
