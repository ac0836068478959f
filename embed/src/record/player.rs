//! Replays a record: passes its inputs to a switch, which gets the same answers as when it was
//! recorded.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::cell::Cell;

use bofuss_agent::{ConnId, Request, SwitchIo};
use bofuss_datapath::Time;
use bofuss_ext::Switch;
use bofuss_frame::Frame;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Message, PortNo};

use super::connections::not_up;
use super::{
    AskedQuestions, FrameDetail, Question, RecordError, RecordedConfig, RecordedConnections,
    RecordedFrame, RecordedInput, RecordedOutput, RecordedReconfiguration,
};

/// Makes the switch of a configuration, without ports; its time begins at 0. Errors: why the
/// configuration is wrong.
pub type SwitchFactory = Box<dyn Fn(&RecordedConfig) -> Result<Switch, RecordError>>;

/// Counts the questions of a switch within one input.
#[derive(Debug, Default)]
pub struct Answers {
    asked: Cell<u32>,
}

impl Answers {
    /// The number of the next question, from 0.
    pub fn next(&self) -> u32 {
        self.asked.replace(self.asked.get() + 1)
    }

    /// Begins the next input.
    pub fn begin(&self) {
        self.asked.set(0);
    }
}

/// A switch that is given the inputs of a record.
pub struct Player {
    switch: Switch,
    make: SwitchFactory,
    connections: RecordedConnections,
    holds_packets: bool,
    /// The questions of the next input that are answered with no, and how often each was asked
    /// before.
    refused: Vec<(Question, u32)>,
}

/// What is answered with no in one input.
#[derive(Clone, Copy, Default)]
struct Denied<'a> {
    /// Numbers of questions, which ascend.
    numbers: &'a [u32],
    /// Questions, and how often each was asked before.
    questions: &'a [(Question, u32)],
}

/// Answers as the record says, and keeps what the switch causes.
struct PlayerIo<'a> {
    denied: Denied<'a>,
    answers: Answers,
    asked: AskedQuestions,
    connections: &'a RecordedConnections,
    holds_packets: bool,
    outputs: Vec<RecordedOutput>,
}

impl Player {
    /// Makes the switch of a run. Errors: the sentence of `make`.
    pub fn new(
        config: &RecordedConfig,
        detail: FrameDetail,
        make: SwitchFactory,
    ) -> Result<Self, RecordError> {
        let switch = make(config)?;
        let catalogue = switch.datapath().catalogue().clone();
        let connections = RecordedConnections::new(catalogue, detail);
        Ok(Self {
            switch,
            make,
            connections,
            holds_packets: true,
            refused: Vec::new(),
        })
    }

    /// The same for a switch that held no packets for controllers.
    pub fn without_held_packets(self) -> Self {
        Self {
            holds_packets: false,
            ..self
        }
    }

    /// Has these questions of the next input answered with no; each with how often it was asked
    /// before in that input. Unlike numbers, they hold for a switch that asks other questions less.
    pub fn refuse(&mut self, questions: &[(Question, u32)]) {
        self.refused = questions.into();
    }

    /// The switch, to be inspected.
    pub fn switch(&mut self) -> &mut Switch {
        &mut self.switch
    }

    /// The switch as the last input left it; its connections stay up.
    pub fn into_switch(self) -> Switch {
        self.switch
    }

    /// Gives the switch an input; returns its outputs. The questions with the numbers in `denied`,
    /// which ascend, are answered with no.
    ///
    /// Errors: why the input is impossible; then nothing has changed.
    pub fn play(
        &mut self,
        at: Time,
        input: &RecordedInput,
        denied: &[u32],
    ) -> Result<Vec<RecordedOutput>, RecordError> {
        let message = if let RecordedInput::Message { conn, bytes, .. }
        | RecordedInput::Wrong(conn, bytes) = input
        {
            Some(self.connections.read(*conn, bytes)?)
        } else {
            None
        };
        self.look_for_additions();
        let refused = core::mem::take(&mut self.refused);
        let denied = Denied {
            numbers: denied,
            questions: &refused,
        };
        let mut io = PlayerIo::new(denied, &self.connections, self.holds_packets);
        match message {
            Some(message) => take_message(&mut self.switch, at, input, message, &mut io)?,
            None => take(&mut self.switch, &self.make, at, input, &mut io)?,
        }
        let outputs = io.outputs;
        self.connections.follow(input);
        Ok(outputs)
    }

    /// Gives the switch what came on a connection, which need not be encoded as an input; returns
    /// its outputs. Otherwise as [`Self::play`].
    pub fn play_request(
        &mut self,
        at: Time,
        conn: ConnId,
        request: Request<'_>,
        denied: &[u32],
    ) -> Vec<RecordedOutput> {
        self.look_for_additions();
        let refused = core::mem::take(&mut self.refused);
        let denied = Denied {
            numbers: denied,
            questions: &refused,
        };
        let mut io = PlayerIo::new(denied, &self.connections, self.holds_packets);
        self.switch.message(at, conn, request, &mut io);
        io.outputs
    }

    /// Lets frames that leave be noted by the fields that a controller has mapped, too.
    fn look_for_additions(&mut self) {
        let additions = self.switch.datapath().catalogue().additions();
        self.connections.look_for(additions);
    }
}

fn take_message(
    switch: &mut Switch,
    at: Time,
    input: &RecordedInput,
    (xid, message): (u32, Message),
    io: &mut PlayerIo<'_>,
) -> Result<(), RecordError> {
    let (conn, head, message) = match (input, message) {
        (RecordedInput::Message { conn, head, .. }, message) => (*conn, &head[..], Ok(message)),
        (RecordedInput::Wrong(conn, _), Message::Error(error)) => (*conn, &[][..], Err(error)),
        (_, other) => return Err(format!("{} is no ERROR", other.name()).into()),
    };
    let request = Request { xid, head, message };
    switch.message(at, conn, request, io);
    Ok(())
}

fn take(
    switch: &mut Switch,
    make: &SwitchFactory,
    at: Time,
    input: &RecordedInput,
    io: &mut PlayerIo<'_>,
) -> Result<(), RecordError> {
    match input {
        RecordedInput::Port(desc, offloads) => {
            switch.ports(at, io, |ports| {
                ports.changed(PortDesc::clone(desc), *offloads)
            });
        }
        RecordedInput::PortGone(port) => {
            known(switch, *port)?;
            switch.ports(at, io, |ports| ports.removed(*port));
        }
        RecordedInput::PortRoom(port) => {
            known(switch, *port)?;
            switch.ports(at, io, |ports| ports.has_room(*port));
        }
        RecordedInput::PortLost(port, lost) => {
            known(switch, *port)?;
            switch.ports(at, io, |ports| ports.set_driver_counters(*port, lost));
        }
        RecordedInput::Frames(port, frames) => {
            known(switch, *port)?;
            let mut batch = batch(switch, frames)?;
            switch.receive(at, *port, &mut batch, io);
        }
        RecordedInput::Connect(conn, version, is_controller) => {
            switch.connected(at, *conn, *version, *is_controller);
        }
        RecordedInput::Peer(conn, uri) => switch.set_peer(*conn, uri),
        RecordedInput::ConnectBeside {
            conn,
            main,
            id,
            datagrams,
        } => {
            if !switch.connected_auxiliary(*main, *conn, *id, *datagrams) {
                return Err(not_up(*main));
            }
        }
        RecordedInput::Disconnect(conn) => switch.disconnected(at, *conn),
        RecordedInput::Message { conn, .. } | RecordedInput::Wrong(conn, _) => {
            return Err(not_up(*conn));
        }
        RecordedInput::Clock(nanos) => switch.clock_mut().set(*nanos),
        RecordedInput::Work => switch.work(at, io),
        RecordedInput::Tick => switch.tick(at, io),
        RecordedInput::FailMode(mode) => switch.set_fail_mode(at, *mode),
        RecordedInput::ForgetAddresses => switch.ports(at, io, |ports| ports.forget_addresses()),
        RecordedInput::Queue(port, queue, spec) => {
            // A switch that refused it when it was recorded refuses it now.
            let _ = switch.modify_queue(at, *port, *queue, *spec);
        }
        RecordedInput::QueueGone(port, queue) => {
            let _ = switch.ports(at, io, |ports| ports.delete_queue(*port, *queue));
        }
        RecordedInput::Reconfigure(new) => reconfigure(switch, make, at, new, io)?,
        RecordedInput::P4(_) => {
            return Err(String::from("it is an input of a switch with a P4 program").into());
        }
    }
    Ok(())
}

/// Errors: the switch has no such port.
fn known(switch: &Switch, port: PortNo) -> Result<(), RecordError> {
    if switch.datapath().ports().contains_key(&port) {
        Ok(())
    } else {
        Err(format!("there is no port {port}").into())
    }
}

/// Copies frames into buffers of the switch. Errors: it has none left.
fn batch(switch: &Switch, frames: &[RecordedFrame]) -> Result<Vec<Frame>, RecordError> {
    let mut batch = Vec::with_capacity(frames.len());
    for recorded in frames {
        let taken = switch.datapath().pool().frame(&recorded.filled());
        let mut frame = taken.ok_or_else(|| String::from("there is no buffer for a frame"))?;
        frame.offload = recorded.offload;
        frame.tunnel_id = recorded.tunnel_id;
        batch.push(frame);
    }
    Ok(batch)
}

/// Errors: the configuration is invalid, or what the switch has does not fit into it.
fn reconfigure(
    switch: &mut Switch,
    make: &SwitchFactory,
    at: Time,
    new: &RecordedReconfiguration,
    io: &mut PlayerIo<'_>,
) -> Result<(), RecordError> {
    // The outputs of the new switch before it is taken over are not outputs of this input.
    let mut aside = PlayerIo::new(Denied::default(), io.connections, io.holds_packets);
    let mut other = make(&new.config)?;
    for (port, offloads) in &new.ports {
        other.ports(at, &mut aside, |ports| {
            ports.changed(port.clone(), *offloads)
        });
    }
    for (port, queue, spec) in &new.queues {
        let made = other.modify_queue(at, *port, *queue, *spec);
        made.map_err(|error| format!("queue {queue} of port {port}: {}", error.1))?;
    }
    let checked = switch.check_reconfigure(at, &mut other, &mut aside);
    checked
        .map_err(|(table, error)| format!("an entry of table {table} would not fit: {error}"))?;
    switch.reconfigure(at, other, io);
    Ok(())
}

impl<'a> PlayerIo<'a> {
    /// For one input, of which these questions are answered with no.
    fn new(denied: Denied<'a>, connections: &'a RecordedConnections, holds_packets: bool) -> Self {
        Self {
            denied,
            answers: Answers::default(),
            asked: AskedQuestions::default(),
            connections,
            holds_packets,
            outputs: Vec::new(),
        }
    }

    fn answer(&self, question: Question) -> bool {
        let number = self.answers.next();
        let Denied { numbers, questions } = self.denied;
        let is_refused =
            !questions.is_empty() && questions.contains(&(question, self.asked.next(question)));
        !is_refused && numbers.binary_search(&number).is_err()
    }
}

impl SwitchIo for PlayerIo<'_> {
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame) {
        let output = self.connections.transmitted(port, queue, &frame);
        self.outputs.push(output);
    }

    fn flush(&mut self) {}

    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        self.outputs
            .push(self.connections.sent(conn, xid, &message));
    }

    fn has_room(&self, conn: ConnId) -> bool {
        self.answer(Question::Room(conn))
    }

    fn takes_packet_in(&mut self, conn: ConnId, _: PortNo) -> bool {
        self.answer(Question::PacketIn(conn))
    }

    fn port_takes_frames(&self, port: PortNo) -> bool {
        self.answer(Question::Frames(port))
    }

    fn may_change_links(&self) -> bool {
        self.answer(Question::Links)
    }

    fn holds_packets(&self) -> bool {
        self.holds_packets
    }

    fn set_link(&mut self, port: PortNo, up: bool) {
        self.outputs.push(RecordedOutput::Link(port, up));
    }

    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        self.outputs.push(RecordedOutput::Advertise(port, features));
    }
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::Catalogue;

    use super::*;

    #[test]
    fn a_question_that_is_not_asked_shifts_no_answer_to_another() {
        let catalogue = Catalogue::default().into();
        let connections = RecordedConnections::new(catalogue, FrameDetail::default());
        let (one, two) = (ConnId(1), ConnId(2));
        let denied = Denied {
            questions: &[(Question::Room(two), 1)],
            ..Denied::default()
        };
        for asks_for_one in [true, false] {
            let mut io = PlayerIo::new(denied, &connections, false);
            assert!(!asks_for_one || io.has_room(one));
            assert!(io.has_room(two));
            assert!(io.takes_packet_in(two, PortNo(1)));
            assert!(!io.has_room(two), "the second time");
            assert!(io.has_room(two));
        }
    }
}
