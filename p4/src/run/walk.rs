//! A packet on its way from ingress to ports, with all copies of it.

mod action;
mod control;
mod deparse;
mod parse;

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use core::cell::Cell;

use super::eval::View;
use super::packet::{Frame, Instance, Packet};
use super::phv::Phv;
use super::sink::{Digest, DropReason, Sent, Sink};
use crate::int::Int;
use crate::program::Program;
use crate::queues::Stay;
use crate::replication::{Replica, Session};
use crate::show::shortened;
use crate::state::State;

/// The port that stands for a drop.
const DROP_PORT: u64 = 511;
/// How often one packet may be resubmitted, recirculated or cloned in egress.
const MAX_PASSES: u32 = 256;
/// How many copies one packet may become.
const MAX_COPIES: usize = 1 << 13;
/// The memory that all copies of one packet may take, by a rough count.
const MAX_COPIED_BYTES: usize = 256 << 20;
/// The copies that are made in any case.
const MIN_COPIES: usize = 16;
/// What one packet and its copies may do: states of the parser and what is done in them, tables,
/// conditions and primitives.
const MAX_STEPS: usize = 1 << 20;

/// What is to be done next, at the same time.
enum Work<'a> {
    Ingress(Packet<'a>),
    Egress(u32, Packet<'a>),
}

/// One packet of the switch and its copies, with all that they may touch.
pub struct Walk<'a, S> {
    program: &'a Program,
    state: &'a mut State,
    sink: &'a mut S,
    /// In microseconds since the switch began.
    now: u64,
    packet: Packet<'a>,
    work: VecDeque<Work<'a>>,
    copies: usize,
    /// The steps that are left.
    steps: usize,
}

/// Drops a packet of a switch that has no program yet.
fn drop_all<S: Sink>(sink: &mut S) {
    let reason = DropReason::NoProgram;
    if sink.traces() {
        sink.step(0, format!("drop: {}", reason.name()));
    }
    sink.dropped(reason);
}

impl<'a, S: Sink> Walk<'a, S> {
    /// Processes a frame that arrives at `port`, and all that comes of it.
    pub fn run(
        program: &'a Program,
        state: &'a mut State,
        sink: &'a mut S,
        (port, frame): (u32, &'a [u8]),
        now: u64,
    ) {
        if program.states.is_empty() {
            return drop_all(sink);
        }
        let mut phv = core::mem::take(&mut state.scratch.phv);
        phv.reset(program);
        let standard = &program.standard;
        phv.set_some(program, standard.ingress_port, port.into());
        phv.set_some(program, standard.packet_length, frame.len() as u64);
        phv.set_some(program, standard.ingress_timestamp, now);
        let mut walk = Self {
            program,
            state,
            sink,
            now,
            packet: Packet::new(phv, Frame::Arrived(frame), port, 0),
            work: VecDeque::new(),
            copies: 0,
            steps: MAX_STEPS,
        };
        walk.trace(0, |_| {
            format!("{} bytes arrive at port {port}", frame.len())
        });
        walk.ingress();
        walk.work_off();
        let Self { state, packet, .. } = walk;
        state.scratch.phv = packet.phv;
    }

    /// Lets the packet of the highest priority leave that waits for `port`. Returns false if none
    /// does.
    pub fn leave(
        program: &'a Program,
        state: &'a mut State,
        sink: &'a mut S,
        port: u32,
        now: u64,
    ) -> bool {
        let Some((packet, stay)) = state.queues.pop(port) else {
            return false;
        };
        let mut walk = Self {
            program,
            state,
            sink,
            now,
            packet,
            work: VecDeque::new(),
            copies: 0,
            steps: MAX_STEPS,
        };
        walk.egress(port, stay);
        walk.work_off();
        true
    }

    /// Processes all that has come of the packet.
    fn work_off(&mut self) {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Ingress(packet) => {
                    self.packet = packet;
                    self.ingress();
                }
                Work::Egress(port, packet) => {
                    self.packet = packet;
                    self.egress(port, Stay::none(self.now));
                }
            }
        }
    }

    /// A step of the trace, which is written only if it is wanted.
    fn trace(&mut self, depth: usize, text: impl FnOnce(&Self) -> String) {
        if self.sink.traces() {
            let text = shortened(text(self));
            self.sink.step(depth, text);
        }
    }

    /// What expressions read.
    #[inline]
    fn view<'b>(&'b self, parameters: &'b [Int], ahead: &'b [u8]) -> View<'b> {
        View {
            program: self.program,
            phv: &self.packet.phv,
            registers: &self.state.externs.registers,
            parameters,
            ahead,
            missing: Cell::new(None),
        }
    }

    fn drop_packet(&mut self, reason: DropReason) {
        self.trace(0, |_| format!("drop: {}", reason.name()));
        self.sink.dropped(reason);
    }

    fn enqueue(&mut self, work: Work<'a>) {
        if !self.counts_copy() {
            return;
        }
        match work {
            Work::Egress(port, packet) if self.state.queues.holds(port) => self.wait(port, packet),
            work @ (Work::Ingress(_) | Work::Egress(..)) => self.work.push_back(work),
        }
    }

    /// Lets a packet wait for a port without room.
    fn wait(&mut self, port: u32, packet: Packet<'a>) {
        let program = self.program;
        let priority = packet.phv.get_some(program, program.standard.priority);
        let queues = &mut self.state.queues;
        if !queues.push(port, priority, packet.into_owned(), self.now) {
            self.drop_packet(DropReason::QueueFull);
        }
    }

    /// Counts a packet that waits. Returns whether there is room for it; else it is dropped.
    fn counts_copy(&mut self) -> bool {
        self.copies += 1;
        if self.copies > MIN_COPIES {
            let program = self.program;
            let of_header = size_of::<bool>() + size_of::<u32>();
            let cost = (program.bytes + program.headers.len() * of_header).max(1);
            let most = (MAX_COPIED_BYTES / cost).clamp(MIN_COPIES, MAX_COPIES);
            if self.copies > most {
                self.drop_packet(DropReason::TooManyCopies);
                return false;
            }
        }
        true
    }

    /// Takes a step. Returns whether one was left; else the packet ends.
    #[inline]
    fn step(&mut self) -> bool {
        if self.steps == 0 {
            self.packet.kill(DropReason::TooManySteps);
            return false;
        }
        self.steps -= 1;
        true
    }

    fn ingress(&mut self) {
        self.parse();
        self.trace(0, |_| "ingress".into());
        self.control(self.program.ingress);
        if let Some(reason) = self.packet.dead {
            return self.drop_packet(reason);
        }
        self.packet.exit = false;
        self.ingress_clone();
        self.send_digest();
        if let Some(list) = self.packet.resubmit {
            self.trace(0, |_| "resubmit".into());
            let frame = self.packet.frame.clone();
            return self.again(list, Instance::Resubmitted, frame);
        }
        let standard = &self.program.standard;
        let group = self.packet.phv.get_some(self.program, standard.mcast_grp) as u32;
        if group != 0 {
            let instance = Instance::Replication as u64;
            self.packet
                .phv
                .set_some(self.program, standard.instance_type, instance);
            return self.multicast(group);
        }
        let port = self.packet.phv.get_some(self.program, standard.egress_spec);
        if port == DROP_PORT {
            return self.drop_packet(DropReason::Ingress);
        }
        let instance = Instance::Normal as u64;
        self.packet
            .phv
            .set_some(self.program, standard.instance_type, instance);
        if self.work.is_empty() && !self.state.queues.holds(port as u32) {
            // It would be the next anyway.
            if self.counts_copy() {
                self.egress(port as u32, Stay::none(self.now));
            }
            return;
        }
        let rest = Packet::new(Phv::default(), Frame::Arrived(&[]), 0, 0);
        let packet = core::mem::replace(&mut self.packet, rest);
        self.enqueue(Work::Egress(port as u32, packet));
    }

    /// Clones the packet as it arrived, if ingress asked for it.
    fn ingress_clone(&mut self) {
        let Some((session, list)) = self.packet.clone.take() else {
            return;
        };
        let Some(found) = self.session(session) else {
            return;
        };
        // The clone is parsed again. The ingress port is there for parsers that read it.
        let (port, passes) = (self.packet.port, self.packet.passes);
        let mut phv = Phv::new(self.program);
        let port_field = self.program.standard.ingress_port;
        phv.set_some(self.program, port_field, port.into());
        let clone = Packet::new(phv, self.packet.frame.clone(), port, passes);
        let original = core::mem::replace(&mut self.packet, clone);
        self.parse();
        let mut clone = core::mem::replace(&mut self.packet, original);
        clone.exit = false;
        self.packet
            .keep_fields(self.program, &mut clone.phv, list, Instance::IngressClone);
        self.send_clone(found, clone);
    }

    /// Where the clones of a session go now; `None` if it is not there.
    fn session(&mut self, id: u32) -> Option<Session> {
        let found = self.state.replication.session(id);
        self.trace(0, |walk| {
            if found.is_none() {
                return format!("no clone: session {id} is not there");
            }
            match walk.state.replication.session_groups.get(&id) {
                Some(group) => format!("clone to session {id}, multicast group {group}"),
                None => format!("clone to session {id}"),
            }
        });
        found
    }

    fn send_clone(&mut self, found: Session, clone: Packet<'a>) {
        for replica in found.replicas {
            let mut copy = clone.copy();
            if let Some(most) = found.truncate {
                // The program may have truncated the packet to fewer bytes.
                let before = copy.truncate.unwrap_or(usize::MAX);
                copy.truncate = Some(before.min(most as usize));
            }
            self.replicate(copy, replica);
        }
    }

    fn replicate(&mut self, mut copy: Packet<'a>, replica: Replica) {
        let rid = self.program.standard.egress_rid;
        copy.phv
            .set_some(self.program, rid, replica.instance.into());
        self.enqueue(Work::Egress(replica.port, copy));
    }

    fn send_digest(&mut self) {
        if let Some(list) = self.packet.digest.take() {
            let view = self.view(&[], &[]);
            let elements = self.program.digests[list].elements.iter();
            let values = elements.map(|element| view.data(element)).collect();
            self.trace(0, |walk| {
                format!("digest {}", walk.program.digests[list].name)
            });
            self.sink.digest(Digest { list, values });
        }
    }

    /// The packet begins again with `frame`.
    fn again(&mut self, list: usize, instance: Instance, frame: Frame<'a>) {
        let passes = self.packet.passes + 1;
        if passes > MAX_PASSES {
            return self.drop_packet(DropReason::TooManyPasses);
        }
        let mut packet = Packet::new(Phv::new(self.program), frame, self.packet.port, passes);
        self.packet
            .keep_fields(self.program, &mut packet.phv, Some(list), instance);
        let field = self.program.standard.packet_length;
        let length = packet.length as u64;
        packet.phv.set_some(self.program, field, length);
        self.enqueue(Work::Ingress(packet));
    }

    fn multicast(&mut self, group: u32) {
        let replicas = self.state.replication.copies(group);
        self.trace(0, |_| {
            format!("multicast group {group}: {} replicas", replicas.len())
        });
        if replicas.is_empty() {
            return self.drop_packet(DropReason::EmptyGroup);
        }
        for replica in replicas {
            let copy = self.packet.copy();
            self.replicate(copy, replica);
        }
    }

    fn egress(&mut self, port: u32, stay: Stay) {
        let program = self.program;
        let standard = &program.standard;
        let length = self.packet.length as u64;
        let phv = &mut self.packet.phv;
        phv.set_some(program, standard.egress_timestamp, self.now);
        phv.set_some(program, standard.enq_timestamp, stay.since);
        phv.set_some(program, standard.enq_qdepth, stay.found);
        let stayed = self.now.saturating_sub(stay.since);
        phv.set_some(program, standard.deq_timedelta, stayed);
        phv.set_some(program, standard.deq_qdepth, stay.left);
        phv.set_some(program, standard.egress_port, port.into());
        // A value that is not the drop port, of which nothing is left in 9 bits.
        phv.set_some(program, standard.egress_spec, DROP_PORT + 1);
        phv.set_some(program, standard.packet_length, length);
        self.trace(0, |_| format!("egress to port {port}"));
        self.control(program.egress);
        if let Some(reason) = self.packet.dead {
            return self.drop_packet(reason);
        }
        self.packet.exit = false;
        self.egress_clone();
        if self.packet.phv.get_some(self.program, standard.egress_spec) == DROP_PORT {
            return self.drop_packet(DropReason::Egress);
        }
        let Some(frame) = self.deparse() else {
            return self.drop_packet(DropReason::TooLong);
        };
        if let Some(reason) = self.packet.dead {
            return self.drop_packet(reason);
        }
        if let Some(list) = self.packet.recirculate {
            self.trace(0, |_| "recirculate".into());
            let frame = Frame::Made(frame.into());
            return self.again(list, Instance::Recirculated, frame);
        }
        let priority = self.packet.phv.get_some(self.program, standard.priority) as u8;
        self.trace(0, |_| format!("{} bytes leave at port {port}", frame.len()));
        self.sink.transmit(Sent {
            port,
            frame,
            priority,
        });
    }

    fn egress_clone(&mut self) {
        let Some((session, list)) = self.packet.clone.take() else {
            return;
        };
        if self.packet.passes >= MAX_PASSES {
            return self.drop_packet(DropReason::TooManyPasses);
        }
        let Some(found) = self.session(session) else {
            return;
        };
        let mut clone = self.packet.copy();
        clone.passes += 1;
        self.packet
            .keep_fields(self.program, &mut clone.phv, list, Instance::EgressClone);
        self.send_clone(found, clone);
    }
}
