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
        let mut turns = 0;
        while let Some((turn, due)) = self.events.pop_until(end) {
            self.now = turn.at;
            match due {
                Due::Arrival { transmitter } => self.arrive(turn, transmitter, observer),
                Due::Room { transmitter } => self.port_has_room(transmitter, observer),
                Due::Tick { node } => self.tick(NodeId(node), observer),
                Due::Control { direction } => self.control_arrival(turn, direction, observer),
                Due::ControllerTick { controller } => {
                    self.controller_tick(ControllerId(controller), observer);
                }
                Due::Change { change } => self.change(self.changes[change as usize], observer),
            }
            if let Some(why) = self.failure.take() {
                return Err(NetworkError::Controller(why));
            }
            if self.reported > self.config.max_events {
                return Err(NetworkError::TooManyEvents);
            }
            turns += 1;
            if turns % ASKED_EACH == 0 && !observer.goes_on(self.now, self.reported) {
                return Err(NetworkError::Ended);
            }
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Numbers an event and reports it to the observer.
    fn report<'a>(&mut self, kind: EventKind<'a>, to: &mut dyn Observer) -> LogEvent<'a> {
        self.reported += 1;
        let event = LogEvent {
            number: self.reported,
            at: self.now,
            kind,
        };
        to.event(&event);
        event
    }

    fn arrive(&mut self, turn: Turn, number: u32, observer: &mut dyn Observer) {
        let transmitter = &mut self.transmitters[number as usize];
        let Some((frame, next)) = transmitter.arrive(turn) else {
            return;
        };
        let to = transmitter.to;
        if let Some(next) = next {
            self.events.push(
                next,
                Due::Arrival {
                    transmitter: number,
                },
            );
        }
        let event = self.report(EventKind::Arrived(direction(number), &frame), observer);
        let wants_trace = observer.wants_trace(&event);
        let event_number = event.number;
        let node = &mut self.nodes[to.node.0 as usize];
        match &mut node.kind {
            NodeKind::Switch(node) => {
                if wants_trace {
                    let trace = node.explain(self.now, to.port, frame.bytes());
                    observer.trace(event_number, trace.map(|trace| trace.to_string()));
                }
                node.receive(self.now, to.port, frame);
                self.serve_switch(to.node, observer);
            }
            NodeKind::P4(switch) => {
                if wants_trace {
                    let text = switch.explain(self.now, to.port.0, frame.bytes());
                    observer.trace(event_number, Ok(text.expect("a link has its ports")));
                }
                self.receive_p4(to, frame, observer);
            }
            NodeKind::Host(_) => {
                self.with_host(to.node, observer, |host, now, out| {
                    host.receive(now, frame, out);
                });
            }
        }
    }

    fn tick(&mut self, id: NodeId, observer: &mut dyn Observer) {
        let now = self.now;
        let node = &mut self.nodes[id.0 as usize];
        if node.tick_at > now {
            // The tick was scheduled again for an earlier time, and that one was run.
            return;
        }
        node.tick_at = Time::NEVER;
        match &mut node.kind {
            NodeKind::Switch(node) => {
                node.tick(now);
                self.serve_switch(id, observer);
            }
            // It does nothing by itself.
            NodeKind::P4(_) => {}
            NodeKind::Host(_) => self.with_host(id, observer, |host, now, out| host.tick(now, out)),
        }
    }

    /// Calls a host, and carries out what it asks for.
    fn with_host(
        &mut self,
        id: NodeId,
        observer: &mut dyn Observer,
        call: impl FnOnce(&mut dyn Host, Time, &mut HostOutput<'_>),
    ) {
        let NodeKind::Host(host) = &mut self.nodes[id.0 as usize].kind else {
            return;
        };
        let mut frames = std::mem::take(&mut self.frames);
        let mut reports = Vec::new();
        let mut out = HostOutput::new(&self.pool, &mut frames, &mut reports);
        call(&mut **host, self.now, &mut out);
        for report in &reports {
            self.report(EventKind::Host(id, report), observer);
        }
        for frame in frames.drain(..) {
            self.transmit(id, PortNo(1), frame, observer);
        }
        self.frames = frames;
        self.schedule_tick(id);
    }

    /// Sends a frame out of a port of a node.
    fn transmit(
        &mut self,
        node: NodeId,
        port: PortNo,
        mut frame: Frame,
        observer: &mut dyn Observer,
    ) {
        let Some(number) = self.nodes[node.0 as usize].transmitter_at(port) else {
            return;
        };
        let state = self.links[number as usize / 2].effective();
        self.reported += 1;
        let transmitter = &mut self.transmitters[number as usize];
        let refusal = transmitter.offer(self.now, state, frame.len() as u32);
        if refusal.is_none() && transmitter.is_above_mark() && ecn::mark(&mut frame) {
            transmitter.stats.marked += 1;
        }
        let kind = match refusal {
            Some(reason) => EventKind::Dropped(direction(number), reason, &frame),
            None => EventKind::Sent(direction(number), &frame),
        };
        observer.event(&LogEvent {
            number: self.reported,
            at: self.now,
            kind,
        });
        if refusal.is_some() {
            return;
        }
        if let Some(turn) = transmitter.send(frame, &mut self.events) {
            self.events.push(
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
        let Some(number) = self.nodes[id.0 as usize].transmitter_at(port) else {
            return;
        };
        let room = self.transmitters[number as usize].room(self.now);
        let NodeKind::Switch(node) = &mut self.nodes[id.0 as usize].kind else {
            return;
        };
        let at = node.set_room(self.now, port, room);
        if let Some(at) = at {
            self.events.schedule(
                at,
                Due::Room {
                    transmitter: number,
                },
            );
        }
    }

    fn port_has_room(&mut self, number: u32, observer: &mut dyn Observer) {
        let from = self.transmitters[number as usize].from;
        if let NodeKind::Switch(node) = &mut self.nodes[from.node.0 as usize].kind {
            node.room_came(from.port);
        }
        self.pace(from.node, from.port);
        self.serve_switch(from.node, observer);
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

    fn change(&mut self, change: Change, observer: &mut dyn Observer) {
        match change {
            Change::Link(link, state) => {
                let before = self.links[link.0 as usize].effective();
                self.links[link.0 as usize].state = state;
                self.follow_link(link, before, observer);
            }
            Change::Connect(switch, controller) => self.connect(switch, controller, observer),
            Change::Disconnect(switch, controller) => {
                self.disconnect(switch, controller, observer);
            }
            Change::Move {
                host,
                link,
                announces,
            } => self.move_host(host, link, announces, observer),
        }
    }

    /// Takes a host's cable from its link to another one.
    fn move_host(
        &mut self,
        host: NodeId,
        link: LinkId,
        announces: bool,
        observer: &mut dyn Observer,
    ) {
        let old = self.link_of_host(host);
        let number = self.transmitter_of(host, link);
        let number = number.expect("it was checked when it was planned");
        if old == Some(link) {
            return;
        }
        if let Some(old) = old {
            self.set_spare(old, true, observer);
        }
        self.nodes[host.0 as usize].ports[1] = Some(number);
        self.set_spare(link, false, observer);
        if announces {
            self.with_host(host, observer, |host, now, out| host.announce(now, out));
        }
    }

    fn set_spare(&mut self, link: LinkId, is_spare: bool, observer: &mut dyn Observer) {
        let before = self.links[link.0 as usize].effective();
        self.links[link.0 as usize].is_spare = is_spare;
        self.follow_link(link, before, observer);
    }

    /// Sets a switch's end of a link up or down.
    fn set_link(&mut self, node: NodeId, port: PortNo, up: bool, observer: &mut dyn Observer) {
        let Some(number) = self.nodes[node.0 as usize].transmitter_at(port) else {
            return;
        };
        let link = &mut self.links[number as usize / 2];
        let before = link.effective();
        if number % 2 == 0 {
            link.first_down = !up;
        } else {
            link.second_down = !up;
        }
        self.follow_link(LinkId(number / 2), before, observer);
    }

    /// Carries out a change of a link's state: drops what is on it, and informs its ends.
    fn follow_link(&mut self, link: LinkId, before: LinkState, observer: &mut dyn Observer) {
        let state = self.links[link.0 as usize].effective();
        if state == before {
            return;
        }
        self.report(EventKind::Link(link, state), observer);
        for number in [link.0 * 2, link.0 * 2 + 1] {
            if state != LinkState::Up {
                for frame in self.transmitters[number as usize].cut(self.now) {
                    let reason = LinkDrop::Down;
                    self.report(
                        EventKind::Dropped(direction(number), reason, &frame),
                        observer,
                    );
                }
            }
            let had_carrier = before != LinkState::Down;
            let has_carrier = state != LinkState::Down;
            if had_carrier != has_carrier {
                let end = self.transmitters[number as usize].from;
                self.carrier_changed(end, has_carrier, observer);
            }
        }
    }

    fn carrier_changed(&mut self, end: NodePort, up: bool, observer: &mut dyn Observer) {
        match &mut self.nodes[end.node.0 as usize].kind {
            NodeKind::Host(_) => self.with_host(end.node, observer, |host, now, out| {
                host.link_changed(now, up, out);
            }),
            NodeKind::Switch(node) => {
                node.set_link(self.now, end.port, up);
                self.serve_switch(end.node, observer);
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
