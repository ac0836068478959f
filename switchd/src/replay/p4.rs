//! Plays the inputs of a switch with a P4 program.

use bofuss_datapath::Time;
use bofuss_embed::p4::{P4Switch, Program, on_the_wire};
use bofuss_embed::record::{
    P4Input, P4Output, P4RecordedConfig, RecordedFrame, RecordedInput, RecordedOutput,
};
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::message::port::PortState;
use bofuss_p4::Commands;
use bofuss_p4runtime::{ChangePlayer, RefusedUpdate};
use bofuss_ports::BATCH_FRAMES;

use crate::error::{Error, Result};
use crate::runtime::POOL_BYTES;

/// A switch with a P4 program that is given the inputs of a record.
pub struct P4Player {
    switch: P4Switch,
    controllers: ChangePlayer,
    commands: Commands,
    pool: Pool,
}

impl P4Player {
    /// Makes the switch of a run: without a program, its time begins at 0. Errors: no port can have
    /// the CPU port's number.
    pub fn new(config: P4RecordedConfig) -> Result<Self> {
        let mut switch = P4Switch::new(Program::default(), 0);
        if let Some(port) = config.cpu_port {
            switch.add_port(port).map_err(said)?;
        }
        Ok(Self {
            switch,
            controllers: ChangePlayer::default(),
            commands: Commands::default(),
            pool: Pool::new(POOL_BYTES),
        })
    }

    /// Gives the switch an input; returns its outputs. Errors: why the input is impossible; then
    /// nothing has changed.
    pub fn play(&mut self, at: Time, input: &RecordedInput) -> Result<Vec<RecordedOutput>> {
        let mut refused = Vec::new();
        match input {
            RecordedInput::Port(desc, _) => {
                let port = desc.port_no.0;
                self.switch.add_port(port).map_err(said)?;
                let is_up = !desc.state.has(PortState::LINK_DOWN);
                self.switch.set_link(port, is_up).map_err(said)?;
            }
            RecordedInput::PortGone(port) => self.switch.remove_port(port.0).map_err(said)?,
            RecordedInput::Frames(port, frames) => self.receive(at, *port, frames)?,
            RecordedInput::P4(input) => refused = self.change(at, input)?,
            RecordedInput::PortRoom(_)
            | RecordedInput::PortLost(..)
            | RecordedInput::Connect(..)
            | RecordedInput::Peer(..)
            | RecordedInput::ConnectBeside { .. }
            | RecordedInput::Disconnect(_)
            | RecordedInput::Message { .. }
            | RecordedInput::Wrong(..)
            | RecordedInput::Clock(_)
            | RecordedInput::Work
            | RecordedInput::Tick
            | RecordedInput::FailMode(_)
            | RecordedInput::ForgetAddresses
            | RecordedInput::Queue(..)
            | RecordedInput::QueueGone(..)
            | RecordedInput::Reconfigure(_) => {
                return Err("it is an input of OpenFlow, and the switch has a P4 program".into());
            }
        }
        let mut outputs: Vec<_> = self.switch.drain().map(RecordedOutput::from).collect();
        for (number, code) in refused {
            outputs.push(RecordedOutput::P4(P4Output::Refused(number, code)));
        }
        Ok(outputs)
    }

    /// Explains what becomes of the frames of an input; nothing without one. Errors: its port is
    /// not there.
    pub fn explain(&self, at: Time, input: &RecordedInput) -> Result<String> {
        if let RecordedInput::P4(P4Input::PacketOut(port, frame)) = input {
            return self.switch.explain(at, *port, frame).map_err(said);
        }
        let RecordedInput::Frames(port, frames) = input else {
            return Ok(String::new());
        };
        let mut text = String::new();
        for frame in self.batch(frames)? {
            let mut explained = Ok(());
            let is_whole = on_the_wire(frame, |piece| {
                match self.switch.explain(at, port.0, piece.bytes()) {
                    Ok(lines) => text += &lines,
                    Err(error) => explained = Err(said(error)),
                }
            });
            explained?;
            if !is_whole {
                text += "it is a super-frame that cannot be cut\n";
            }
        }
        Ok(text)
    }

    fn receive(&mut self, at: Time, port: PortNo, frames: &[RecordedFrame]) -> Result<()> {
        for frame in self.batch(frames)? {
            let received = self.switch.receive_frame(at, port.0, frame);
            // It would fail for the first already.
            received.map_err(said)?;
        }
        Ok(())
    }

    /// Copies frames into buffers. Errors: there are more than a port receives at once, which
    /// bounds what one input can cause.
    fn batch(&self, frames: &[RecordedFrame]) -> Result<Vec<Frame>> {
        if frames.len() > BATCH_FRAMES {
            return Err(format!("a batch has at most {BATCH_FRAMES} frames").into());
        }
        let mut batch = Vec::with_capacity(frames.len());
        for recorded in frames {
            let taken = self.pool.frame(&recorded.filled());
            let mut frame = taken.ok_or("there is no buffer for a frame")?;
            frame.offload = recorded.offload;
            batch.push(frame);
        }
        Ok(batch)
    }

    /// Changes the program or its entries. Returns the updates that are refused.
    fn change(&mut self, at: Time, input: &P4Input) -> Result<Vec<RefusedUpdate>> {
        let now = at.0 / 1_000;
        let switch = self.switch.switch_mut();
        match input {
            P4Input::Program {
                seed,
                keeps,
                p4info,
                json,
            } => {
                let pipeline = (&p4info[..], &json[..]);
                let times = (*seed, now);
                let set = self
                    .controllers
                    .set_pipeline(switch, pipeline, times, *keeps);
                self.commands = Commands::default();
                set.map_err(said)
            }
            P4Input::Entries(json) => {
                switch.load_entries(json).map_err(said)?;
                Ok(Vec::new())
            }
            P4Input::Command(line) => {
                let line = String::from_utf8_lossy(line);
                self.commands.run(switch, &line, now).map_err(said)?;
                Ok(Vec::new())
            }
            P4Input::Write(request) => {
                let written = self.controllers.write(switch, request, now);
                written.map_err(said)
            }
            P4Input::PacketOut(port, frame) => {
                self.switch.receive(at, *port, frame).map_err(said)?;
                Ok(Vec::new())
            }
            P4Input::Hold(port) => {
                self.switch.hold(*port).map_err(said)?;
                Ok(Vec::new())
            }
            P4Input::Leave(port, count) => {
                self.switch.leave(at, *port, *count).map_err(said)?;
                Ok(Vec::new())
            }
        }
    }
}

fn said(error: impl ToString) -> Error {
    Error::from(error.to_string())
}

#[cfg(test)]
mod tests {
    use bofuss_embed::record::FIRST_LINE;

    use super::super::tests::{RECORDS, played};

    /// The record of each input of a P4 switch.
    fn record() -> String {
        std::fs::read_to_string(format!("{RECORDS}/p4.record")).unwrap()
    }

    #[test]
    fn what_a_switch_of_the_record_cannot_be_given_is_told_with_its_line() {
        let head = format!("{FIRST_LINE}\np4 510\n");
        let port_1 = record().lines().nth(2).unwrap().to_owned();
        let frames = format!("1 frames 1{}", " 00".repeat(33));
        for (text, told) in [
            (
                format!("{FIRST_LINE}\np4 x\n"),
                "line 2: 'x' is no port's number",
            ),
            (format!("{FIRST_LINE}\np4 1 2\n"), "line 2: unexpected '2'"),
            (
                format!("{FIRST_LINE}\np4 511\n"),
                "line 2: port 511: a P4 program has ports",
            ),
            (
                format!("{FIRST_LINE} headers\np4 -\n"),
                "line 2: a switch with a P4 program has",
            ),
            (
                format!("{head}1 frames 1 00\n"),
                "line 3: there is no port 1",
            ),
            (
                format!("{head}{port_1}\n{frames}\n"),
                "line 4: a batch has at most 32 frames",
            ),
            (
                format!("{head}1 port-gone 1\n"),
                "line 3: there is no port 1",
            ),
            (
                format!("{head}1 packet-out 9 00\n"),
                "line 3: there is no port 9",
            ),
            (
                format!("{head}1 tick\n"),
                "line 3: it is an input of OpenFlow",
            ),
            (
                format!("{head}1 program 1 fresh - 7b7d\n"),
                "line 3: the program cannot be loaded",
            ),
            (
                format!("{head}1 program 1 old - 7b7d\n"),
                "line 3: 'old' is not kept or fresh",
            ),
            (format!("{head}1 entries 7b\n"), "line 3: "),
            (format!("{head}1 write ff\n"), "line 3: "),
            (format!("{head}1 command 61\n"), "line 3: a is no command"),
            (
                format!("{FIRST_LINE}\nswitch 0x01 7 5 - {{}}\n1 entries -\n"),
                "line 3: it is an input of a switch with a P4 program",
            ),
        ] {
            let error = played(text.as_bytes()).err().unwrap();
            assert!(error.text.starts_with(told), "{error}");
        }
    }

    #[test]
    fn a_record_that_is_torn_or_spoilt_is_played_or_refused() {
        let whole = record();
        let mut refused = 0;
        for round in 0..300_usize {
            let mut bytes = whole.clone().into_bytes();
            // Numbers without a pattern are enough here, and the same in each run.
            let at = round.wrapping_mul(0x9e37_79b9) % bytes.len();
            if round % 3 == 0 {
                bytes.truncate(at);
            } else {
                bytes[at] = b"0f -\n1"[round % 6];
            }
            match played(&bytes) {
                Ok(_) => {}
                Err(error) => {
                    assert!(error.text.starts_with("line "), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 100, "most of it is the program");
    }

    #[test]
    fn other_outputs_are_differences() {
        let spoilt = record().replacen("> refused 1 5", "> refused 2 5", 1);
        let replay = played(spoilt.as_bytes()).unwrap();
        assert_eq!(replay.others, 1);
        let told = &replay.differences[0];
        assert!(
            told.contains("recorded: refused 2 5\n  now:      refused 1 5"),
            "{told}"
        );
    }
}
