//! The event loop, and what each event does.

mod control;
mod p4;
mod switch;

use bofuss_datapath::Time;
use bofuss_disciplines::ecn;
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;

use crate::event_queue::{Due, Turn};
use crate::host::{Host, HostOutput};
use crate::link::{LinkDrop, LinkState, NodeId, NodePort};
use crate::network::{Change, Network, NetworkError, NodeKind};
use crate::observer::{
    ASKED_EACH, ControllerId, EventKind, LinkDirection, LinkId, LogEvent, Observer,
};

impl Network {
    /// Runs all events up to and including the time `end`.
    ///
    /// Errors: [`NetworkError::TooManyEvents`], [`NetworkError::Controller`], and
    /// [`NetworkError::Ended`]; then the time stays that of the last event.
    pub fn run_until(
        &mut self,
        end: Time,
        observer: &mut dyn Observer,
    ) -> Result<(), NetworkError> {
        let network = self;
        EventLoop { network, observer }.run_until(end)
    }

    /// Schedules the next tick of a node, unless an earlier one is scheduled.
    pub(crate) fn schedule_tick(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.0 as usize];
        let next = match &node.kind {
            NodeKind::Host(host) => host.next_tick(),
            NodeKind::Switch(node) => node.switch.next_tick(),
            NodeKind::P4(_) => None,
        };
        let Some(next) = next else { return };
        let next = next.max(self.now);
        if next < node.tick_at {
            node.tick_at = next;
            self.events.schedule(next, Due::Tick { node: id.0 });
        }
    }
}

/// A network whose events happen, and who observes them.
struct EventLoop<'a> {
    network: &'a mut Network,
    observer: &'a mut dyn Observer,
}

impl EventLoop<'_> {
    fn run_until(&mut self, end: Time) -> Result<(), NetworkError> {
        let mut turns = 0;
        while let Some((turn, due)) = self.network.events.pop_until(end) {
            self.network.now = turn.at;
            match due {
                Due::Arrival { transmitter } => self.arrive(turn, transmitter),
                Due::Room { transmitter } => self.port_has_room(transmitter),
                Due::Tick { node } => self.tick(NodeId(node)),
                Due::Control { direction } => self.control_arrival(turn, direction),
                Due::ControllerTick { controller } => {
                    self.controller_tick(ControllerId(controller));
                }
                Due::Change { change } => self.change(self.network.changes[change as usize]),
            }
            if let Some(why) = self.network.failure.take() {
                return Err(NetworkError::Controller(why));
            }
            if self.network.reported > self.network.config.max_events {
                return Err(NetworkError::TooManyEvents);
            }
            turns += 1;
            if turns % ASKED_EACH == 0
                && !self
                    .observer
                    .goes_on(self.network.now, self.network.reported)
            {
                return Err(NetworkError::Ended);
            }
        }
        self.network.now = self.network.now.max(end);
        Ok(())
    }

    /// Numbers an event and reports it to the observer.
    fn report<'a>(&mut self, kind: EventKind<'a>) -> LogEvent<'a> {
        self.network.reported += 1;
        let event = LogEvent {
            number: self.network.reported,
            at: self.network.now,
            kind,
        };
        self.observer.event(&event);
        event
    }

    fn arrive(&mut self, turn: Turn, number: u32) {
        let transmitter = &mut self.network.transmitters[number as usize];
        let Some((frame, next)) = transmitter.arrive(turn) else {
            return;
        };
        let to = transmitter.to;
        if let Some(next) = next {
            self.network.events.push(
                next,
                Due::Arrival {
                    transmitter: number,
                },
            );
        }
        let event = self.report(EventKind::Arrived(direction(number), &frame));
        let wants_trace = self.observer.wants_trace(&event);
        let event_number = event.number;
        let node = &mut self.network.nodes[to.node.0 as usize];
        match &mut node.kind {
            NodeKind::Switch(node) => {
                if wants_trace {
                    let trace = node.explain(self.network.now, to.port, frame.bytes());
                    self.observer
                        .trace(event_number, trace.map(|trace| trace.to_string()));
                }
                self.network.frames.push(frame);
                let frames = &mut self.network.frames;
                node.receive(self.network.now, to.port, frames);
                self.serve_switch(to.node);
            }
            NodeKind::P4(switch) => {
                if wants_trace {
                    let text = switch.explain(self.network.now, to.port.0, frame.bytes());
                    self.observer
                        .trace(event_number, Ok(text.expect("a link has its ports")));
                }
                self.receive_p4(to, frame);
            }
            NodeKind::Host(_) => {
                self.with_host(to.node, |host, now, out| {
                    host.receive(now, frame, out);
                });
            }
        }
    }

    fn tick(&mut self, id: NodeId) {
        let now = self.network.now;
        let node = &mut self.network.nodes[id.0 as usize];
        if node.tick_at > now {
            // The tick was scheduled again for an earlier time, and that one was run.
            return;
        }
        node.tick_at = Time::NEVER;
        match &mut node.kind {
            NodeKind::Switch(node) => {
                node.tick(now);
                self.serve_switch(id);
            }
            // It does nothing by itself.
            NodeKind::P4(_) => {}
            NodeKind::Host(_) => self.with_host(id, |host, now, out| host.tick(now, out)),
        }
    }

    /// Calls a host, and carries out what it asks for.
    fn with_host(
        &mut self,
        id: NodeId,
        call: impl FnOnce(&mut dyn Host, Time, &mut HostOutput<'_>),
    ) {
        let NodeKind::Host(host) = &mut self.network.nodes[id.0 as usize].kind else {
            return;
        };
        let mut frames = std::mem::take(&mut self.network.frames);
        let mut reports = Vec::new();
        let mut out = HostOutput::new(&self.network.pool, &mut frames, &mut reports);
        call(&mut **host, self.network.now, &mut out);
        for report in &reports {
            self.report(EventKind::Host(id, report));
        }
        for frame in frames.drain(..) {
            self.transmit(id, PortNo(1), frame);
        }
        self.network.frames = frames;
        self.network.schedule_tick(id);
    }

    /// Sends a frame out of a port of a node.
    fn transmit(&mut self, node: NodeId, port: PortNo, mut frame: Frame) {
        let Some(number) = self.network.nodes[node.0 as usize].transmitter_at(port) else {
            return;
        };
        let state = self.network.links[number as usize / 2].effective();
        self.network.reported += 1;
        let transmitter = &mut self.network.transmitters[number as usize];
        let refusal = transmitter.offer(self.network.now, state, frame.len() as u32);
        if refusal.is_none() && transmitter.is_above_mark() && ecn::mark(&mut frame) {
            transmitter.stats.marked += 1;
        }
        let kind = match refusal {
            Some(reason) => EventKind::Dropped(direction(number), reason, &frame),
            None => EventKind::Sent(direction(number), &frame),
        };
        self.observer.event(&LogEvent {
            number: self.network.reported,
            at: self.network.now,
            kind,
        });
        if refusal.is_some() {
            return;
        }
        if let Some(turn) = transmitter.send(frame, &mut self.network.events) {
            self.network.events.push(
                turn,
                Due::Arrival {
                    transmitter: number,
                },
            );
        }
    }

    /// Paces a port that has queues in its switch: sets how many more frames it accepts. If that is
    /// none, this is called again when the link accepts frames.
    fn pace(&mut self, id: NodeId, port: PortNo) {
        let Some(number) = self.network.nodes[id.0 as usize].transmitter_at(port) else {
            return;
        };
        let room = self.network.transmitters[number as usize].room(self.network.now);
        let NodeKind::Switch(node) = &mut self.network.nodes[id.0 as usize].kind else {
            return;
        };
        let at = node.set_room(self.network.now, port, room);
        if let Some(at) = at {
            self.network.events.schedule(
                at,
                Due::Room {
                    transmitter: number,
                },
            );
        }
    }

    fn port_has_room(&mut self, number: u32) {
        let from = self.network.transmitters[number as usize].from;
        match &mut self.network.nodes[from.node.0 as usize].kind {
            NodeKind::Switch(node) => node.room_came(from.port),
            NodeKind::P4(_) => return self.p4_has_room(number),
            NodeKind::Host(_) => {}
        }
        self.pace(from.node, from.port);
        self.serve_switch(from.node);
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Link(link, state) => {
                let before = self.network.links[link.0 as usize].effective();
                self.network.links[link.0 as usize].state = state;
                self.follow_link(link, before);
            }
            Change::Connect(switch, controller) => self.connect(switch, controller),
            Change::Disconnect(switch, controller) => {
                self.disconnect(switch, controller);
            }
            Change::Move {
                host,
                link,
                announces,
            } => self.move_host(host, link, announces),
        }
    }

    /// Takes a host's cable from its link to another one.
    fn move_host(&mut self, host: NodeId, link: LinkId, announces: bool) {
        let old = self.network.link_of_host(host);
        let number = self.network.transmitter_of(host, link);
        let number = number.expect("it was checked when it was planned");
        if old == Some(link) {
            return;
        }
        if let Some(old) = old {
            self.set_spare(old, true);
        }
        self.network.nodes[host.0 as usize].ports[1] = Some(number);
        self.set_spare(link, false);
        if announces {
            self.with_host(host, |host, now, out| host.announce(now, out));
        }
    }

    fn set_spare(&mut self, link: LinkId, is_spare: bool) {
        let before = self.network.links[link.0 as usize].effective();
        self.network.links[link.0 as usize].is_spare = is_spare;
        self.follow_link(link, before);
    }

    /// Sets a switch's end of a link up or down.
    fn set_link(&mut self, node: NodeId, port: PortNo, up: bool) {
        let Some(number) = self.network.nodes[node.0 as usize].transmitter_at(port) else {
            return;
        };
        let link = &mut self.network.links[number as usize / 2];
        let before = link.effective();
        if number % 2 == 0 {
            link.first_down = !up;
        } else {
            link.second_down = !up;
        }
        self.follow_link(LinkId(number / 2), before);
    }

    /// Carries out a change of a link's state: drops what is on it, and informs its ends.
    fn follow_link(&mut self, link: LinkId, before: LinkState) {
        let state = self.network.links[link.0 as usize].effective();
        if state == before {
            return;
        }
        self.report(EventKind::Link(link, state));
        for number in [link.0 * 2, link.0 * 2 + 1] {
            if state != LinkState::Up {
                for frame in self.network.transmitters[number as usize].cut(self.network.now) {
                    let reason = LinkDrop::Down;
                    self.report(EventKind::Dropped(direction(number), reason, &frame));
                }
            }
            let had_carrier = before != LinkState::Down;
            let has_carrier = state != LinkState::Down;
            if had_carrier != has_carrier {
                let end = self.network.transmitters[number as usize].from;
                self.carrier_changed(end, has_carrier);
            }
        }
    }

    fn carrier_changed(&mut self, end: NodePort, up: bool) {
        match &mut self.network.nodes[end.node.0 as usize].kind {
            NodeKind::Host(_) => self.with_host(end.node, |host, now, out| {
                host.link_changed(now, up, out);
            }),
            NodeKind::Switch(node) => {
                node.set_link(self.network.now, end.port, up);
                self.serve_switch(end.node);
            }
            // Programs know no links.
            NodeKind::P4(_) => {}
        }
    }
}

/// The direction of the link on which a transmitter sends.
fn direction(transmitter: u32) -> LinkDirection {
    LinkDirection {
        link: LinkId(transmitter / 2),
        back: transmitter % 2 == 1,
    }
}
