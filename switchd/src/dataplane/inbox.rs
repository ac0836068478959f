//! Takes in what other threads sent: commands, and events of connections, which are handled in turn
//! with frames.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, ready};

use bofuss_channel::{ConnId, Event, QueuePlace};
use bofuss_datapath::Time;
use bofuss_oflib::Message;
use tokio::sync::mpsc;

use super::connection_set::conn_id;
use super::{CollectedSwitch, DataPlane, Input};

/// The slice of time for messages, after which frames are received again.
const CONTROL_SLICE_NS: u64 = 100_000;
/// Most events that are taken from the queue at a time.
const TAKEN_EVENTS: usize = 64;
/// Events handled between two readings of the clock.
const EVENTS_AT_ONCE: usize = 8;

/// The queues to the thread, and what was taken from them.
pub(super) struct Inbox {
    inputs: mpsc::Receiver<Input>,
    /// A command that was taken from the queue and waits, as do those after it.
    waiting_input: Option<Input>,
    events: mpsc::Receiver<Event>,
    /// Events that were taken from the queue and not yet handled.
    taken: VecDeque<Event>,
    /// The queue places of handled messages, which are released together, so that the task of their
    /// connection wakes once: when more are taken from the queue, or the slice of time ends.
    held: Option<QueuePlace>,
    /// Messages that wait: for the previous reply of their connection, for room, or for another's
    /// change.
    backlog: BTreeMap<ConnId, VecDeque<Event>>,
    /// The connection of the backlog that was served last.
    last_served: ConnId,
}

impl Inbox {
    pub(super) fn new(inputs: mpsc::Receiver<Input>, events: mpsc::Receiver<Event>) -> Self {
        Self {
            inputs,
            waiting_input: None,
            events,
            taken: VecDeque::new(),
            held: None,
            backlog: BTreeMap::new(),
            last_served: ConnId(0),
        }
    }

    /// Returns true if events were taken from the queue and are not yet handled.
    pub(super) fn has_taken(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Returns true if events wait that nothing will wake the thread for.
    pub(super) fn has_waiting(&self) -> bool {
        self.has_taken() || !self.backlog.is_empty() || self.waiting_input.is_some()
    }

    /// The command that waits.
    pub(super) fn waiting_input(&self) -> Option<&Input> {
        self.waiting_input.as_ref()
    }

    /// The next command or collection; none while a command `waits`. Without one, the next wakes
    /// the thread by `context`.
    fn next_input(
        &mut self,
        waits: impl Fn(&Input) -> bool,
        context: &mut Context<'_>,
    ) -> Poll<Option<Input>> {
        let input = match self.waiting_input.take() {
            Some(input) => Some(input),
            None => ready!(self.inputs.poll_recv(context)),
        };
        match input {
            Some(input) if waits(&input) => {
                self.waiting_input = Some(input);
                Poll::Pending
            }
            input => Poll::Ready(input),
        }
    }

    /// The connections whose messages wait, and the first of these.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (ConnId, &Event)> {
        let all = self.backlog.iter();
        all.filter_map(|(id, events)| Some((*id, events.front()?)))
    }

    /// Keeps the place of a message with those of the messages that are handled before it.
    pub(super) fn hold(&mut self, place: QueuePlace) {
        place.join(&mut self.held);
    }

    /// Takes events from the queue. Returns false if there are none; the next one then wakes the
    /// thread by `context`.
    fn take_from_queue(&mut self, context: &mut Context<'_>) -> bool {
        self.held = None;
        let mut batch = Vec::new();
        let polled = self
            .events
            .poll_recv_many(context, &mut batch, TAKEN_EVENTS);
        self.taken.extend(batch);
        matches!(polled, Poll::Ready(1..))
    }

    /// The connections whose messages wait, beginning after the one that was served last.
    fn connections_in_turn(&self) -> Vec<ConnId> {
        let mut ids: Vec<ConnId> = self.backlog.keys().copied().collect();
        let next = ids.partition_point(|id| *id <= self.last_served);
        ids.rotate_left(next);
        ids
    }

    /// The next waiting message of a connection. Once there is none, its messages are handled as
    /// they come.
    fn next_waiting(&mut self, id: ConnId) -> Option<Event> {
        let next = self.backlog.get_mut(&id)?.pop_front();
        if next.is_none() {
            self.backlog.remove(&id);
        }
        next
    }
}

impl DataPlane {
    /// Carries out commands and handles messages for one slice of time, and advances `now`. Returns
    /// false when the switch is to end.
    pub(super) fn take_inputs(&mut self, now: &mut Time) -> bool {
        let until = Time(now.0 + CONTROL_SLICE_NS);
        let waker = self.poller.set().waker();
        let mut context = Context::from_waker(&waker);
        loop {
            let holds_commands = self.saver.holds_commands();
            let waits = |input: &Input| input.waits(holds_commands, &self.live);
            let Poll::Ready(input) = self.inbox.next_input(waits, &mut context) else {
                break;
            };
            self.live.workers().stop();
            match input {
                Some(Input::Command(command)) => self.command(command),
                Some(Input::Collect(add_slice)) => {
                    add_slice(CollectedSwitch {
                        live: &mut self.live,
                        exports: &self.exports,
                        controllers: &self.config.current.controllers,
                    });
                }
                Some(Input::Successor(input)) => {
                    if !self.serve_successor(input) {
                        return false;
                    }
                }
                Some(Input::End) | None => return false,
            }
            *now = self.live.now();
        }
        if !self.inbox.backlog.is_empty() {
            self.take_backlog(until);
            *now = self.live.now();
        }
        while *now < until {
            if !self.inbox.has_taken() && !self.inbox.take_from_queue(&mut context) {
                return true;
            }
            for _ in 0..EVENTS_AT_ONCE {
                let Some(event) = self.inbox.taken.pop_front() else {
                    break;
                };
                self.take_event(event);
            }
            *now = self.live.now();
        }
        self.inbox.held = None;
        // Nothing else wakes the thread for the remaining events.
        waker.wake();
        true
    }

    /// Handles messages that waited, round robin. After one that began a long change it is the next
    /// connection's turn.
    fn take_backlog(&mut self, until: Time) {
        for id in self.inbox.connections_in_turn() {
            if self.live.now() >= until {
                break;
            }
            while self.live.now() < until && self.takes_waiting(id) {
                let Some(event) = self.inbox.next_waiting(id) else {
                    break;
                };
                self.inbox.last_served = id;
                self.handle(event);
            }
        }
    }

    /// Returns true if the switch takes the first waiting message of a connection. If none is left,
    /// it would take any.
    fn takes_waiting(&self, id: ConnId) -> bool {
        let first = self.inbox.backlog.get(&id).and_then(VecDeque::front);
        first.is_none_or(|event| self.takes(id, event))
    }

    /// Returns true if the switch takes a connection's message now.
    pub(super) fn takes(&self, id: ConnId, event: &Event) -> bool {
        let message = match event {
            Event::Message { message, .. } => Some(message),
            Event::BadMessage { .. }
            | Event::Down { .. }
            | Event::Up { .. }
            | Event::Unsent { .. }
            | Event::Room { .. }
            | Event::TlsFiles(_)
            | Event::Failed { .. } => None,
        };
        // A state that is being saved is that of one moment.
        let may_change = message.is_some_and(|message| !matches!(message, Message::EchoRequest(_)));
        if may_change && self.saver.holds_changes() {
            return false;
        }
        let (switch, io) = (self.live.switch(), self.live.io());
        switch.takes(conn_id(id), message, io)
    }

    /// Handles an event, or lets a message wait until the switch takes it.
    fn take_event(&mut self, event: Event) {
        let conn = match &event {
            Event::Message { conn, .. } | Event::BadMessage { conn, .. } => *conn,
            Event::Down { conn, .. } => {
                self.inbox.backlog.remove(conn);
                return self.handle(event);
            }
            Event::Up { .. }
            | Event::Unsent { .. }
            | Event::Room { .. }
            | Event::TlsFiles(_)
            | Event::Failed { .. } => {
                return self.handle(event);
            }
        };
        if self.inbox.backlog.contains_key(&conn) || !self.takes(conn, &event) {
            let waiting = self.inbox.backlog.entry(conn).or_default();
            waiting.push_back(event);
        } else {
            self.handle(event);
        }
    }
}
