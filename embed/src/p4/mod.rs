//! A switch with a P4 program as a library. In: frames, entries and the time. Out: frames, digests
//! and logs.
//!
//! ```
//! use bofuss_embed::p4::{P4Effect, P4Switch, Program};
//! use bofuss_embed::Time;
//!
//! # let json = include_bytes!("../../../examples/p4/router/router.json");
//! # let entries = include_bytes!("../../../examples/p4/router/entries.json");
//! let mut switch = P4Switch::new(Program::load(json)?, 1);
//! switch.load_entries(entries)?;
//! switch.add_port(1)?;
//! switch.receive(Time(1_000), 1, &[0xff; 60])?;
//! let frames = switch.drain().filter(|effect| matches!(effect, P4Effect::Transmit(_)));
//! assert_eq!(frames.count(), 0, "the router drops what is not IPv4");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod losses;
mod wire;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;

use bofuss_datapath::Time;
use bofuss_frame::Frame;
use bofuss_p4::{ControlError, Count, Digest, DropReason, LoadError, Sent, Sink, Switch};

pub use bofuss_p4::{Int, Named, Program};
pub use losses::{Loss, P4Counts};
pub use wire::on_the_wire;

/// The highest port of a P4 program: ports have nine bits, and 511 means a drop.
pub const MAX_PORT: u32 = 510;
/// The most bytes of frames, digests and logs that wait for [`P4Switch::drain`].
pub const MAX_WAITING_BYTES: usize = 64 << 20;
/// What an effect counts as besides its bytes.
const EFFECT_BYTES: usize = 64;
/// The longest trace: that of a packet which becomes many.
const MAX_TRACE_BYTES: usize = 16 << 20;
/// Bytes of a packet in a line of a trace.
const LINE_BYTES: usize = 32;

/// One effect of a P4 switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum P4Effect {
    /// A frame leaves by a port.
    Transmit(Sent),
    /// The program sends a digest.
    Digest(Digest),
    /// The program calls `log_msg`.
    Log(String),
}

/// What a port has received and sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct P4Port {
    /// Frames that arrived.
    pub received: Count,
    /// Frames that left.
    pub sent: Count,
}

/// The reason for which a call is refused. Then nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum P4Error {
    /// No port has this number.
    NoPort(u32),
    /// No port can have this number; the sentence says why.
    BadPort(String),
}

impl fmt::Display for P4Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPort(port) => write!(f, "there is no port {port}"),
            Self::BadPort(text) => f.write_str(text),
        }
    }
}

impl core::error::Error for P4Error {}

/// A switch with a P4 program for use within a program: it has no threads, sockets or clock.
///
/// When a call returns, everything that it causes is done. Times are nanoseconds of a clock that
/// begins with the switch; the program sees microseconds. A copy continues as the original does.
#[derive(Clone, Debug)]
pub struct P4Switch {
    switch: Switch,
    outlet: Outlet,
}

/// What leaves the program.
#[derive(Clone, Debug, Default)]
struct Outlet {
    ports: BTreeMap<u32, P4Port>,
    waiting: VecDeque<P4Effect>,
    waiting_bytes: usize,
    counts: P4Counts,
}

impl P4Switch {
    /// A switch without ports, with the entries of its program, which other switches may have, too.
    /// `seed` is that of the program's random numbers.
    pub fn new(program: impl Into<Arc<Program>>, seed: u64) -> Self {
        Self {
            switch: Switch::new(program, seed),
            outlet: Outlet::default(),
        }
    }

    /// Sets another program. Entries, counters and registers of the old one are gone; the ports and
    /// what they have counted stay.
    pub fn set_program(&mut self, program: impl Into<Arc<Program>>, seed: u64) {
        let waiting = self.switch.waiting();
        self.outlet.counts.lose_all(waiting, Loss::OldProgram);
        let mut switch = Switch::new(program, seed);
        switch.take_links(&self.switch);
        self.switch = switch;
    }

    /// Adds table entries, multicast groups and clone sessions: JSON in the form of the P4
    /// tutorials' runtime files, of which [`bofuss_p4::Switch::load_entries`] has the details.
    ///
    /// Errors: the first thing that is wrong, with its place; then nothing changes.
    pub fn load_entries(&mut self, json: &[u8]) -> Result<(), LoadError> {
        self.switch.load_entries(json)
    }

    /// The program with its tables, counters and registers.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// The same, to change.
    pub fn switch_mut(&mut self) -> &mut Switch {
        &mut self.switch
    }

    /// Checks that the switch can have a port of this number. Errors: [`P4Error::BadPort`].
    pub fn check_port(&self, port: u32) -> Result<(), P4Error> {
        if port > MAX_PORT {
            let text = alloc::format!("port {port}: a P4 program has ports 0 to {MAX_PORT}");
            return Err(P4Error::BadPort(text));
        }
        let checked = self.switch.replication().check_port(port);
        checked.map_err(|error: ControlError| P4Error::BadPort(error.to_string()))
    }

    /// Adds a port, which has a link; one that is there stays as it is. Errors:
    /// [`P4Error::BadPort`].
    pub fn add_port(&mut self, port: u32) -> Result<(), P4Error> {
        self.check_port(port)?;
        let is_new = !self.outlet.ports.contains_key(&port);
        self.outlet.ports.entry(port).or_default();
        if is_new {
            self.switch.set_link(port, true);
        }
        Ok(())
    }

    /// Removes a port. Errors: [`P4Error::NoPort`].
    pub fn remove_port(&mut self, port: u32) -> Result<(), P4Error> {
        self.set_link(port, false)?;
        self.outlet.ports.remove(&port);
        let waited = self.switch.discard(port);
        self.outlet.counts.lose_all(waited, Loss::NoPort);
        Ok(())
    }

    /// Says whether a port has a link: members of groups that watch it are chosen only while it has
    /// one. Frames still leave and arrive there. Errors: [`P4Error::NoPort`].
    pub fn set_link(&mut self, port: u32, is_up: bool) -> Result<(), P4Error> {
        let known = self.outlet.ports.get(&port);
        known.ok_or(P4Error::NoPort(port))?;
        self.switch.set_link(port, is_up);
        Ok(())
    }

    /// Lets packets for a port wait before egress, because it has no room, by their priority. Until
    /// [`Self::leave`] is called, none leaves. Errors: [`P4Error::NoPort`].
    pub fn hold(&mut self, port: u32) -> Result<(), P4Error> {
        let known = self.outlet.ports.get(&port);
        known.ok_or(P4Error::NoPort(port))?;
        self.switch.hold(port);
        Ok(())
    }

    /// Lets at most `most` of the packets leave that wait for a port, those of the highest priority
    /// first. When none is left, the port has room again. Errors: [`P4Error::NoPort`].
    pub fn leave(&mut self, now: Time, port: u32, most: usize) -> Result<(), P4Error> {
        let known = self.outlet.ports.get(&port);
        known.ok_or(P4Error::NoPort(port))?;
        self.switch.leave(port, most, micros(now), &mut self.outlet);
        Ok(())
    }

    /// The ports by number, with what they have counted.
    pub fn ports(&self) -> &BTreeMap<u32, P4Port> {
        &self.outlet.ports
    }

    /// What ended within the switch, and what it reported.
    pub fn counts(&self) -> &P4Counts {
        &self.outlet.counts
    }

    /// Processes a frame that arrived on a port, from the destination address on and without FCS.
    /// Errors: [`P4Error::NoPort`].
    pub fn receive(&mut self, now: Time, port: u32, frame: &[u8]) -> Result<(), P4Error> {
        let known = self.outlet.ports.get_mut(&port);
        known
            .ok_or(P4Error::NoPort(port))?
            .received
            .add(frame.len());
        self.switch
            .receive(port, frame, micros(now), &mut self.outlet);
        Ok(())
    }

    /// The same for a frame whose sender may have left something to hardware: the program sees what
    /// would be on a wire. Errors: [`P4Error::NoPort`].
    pub fn receive_frame(&mut self, now: Time, port: u32, frame: Frame) -> Result<(), P4Error> {
        let mut received = Ok(());
        let is_whole = on_the_wire(frame, |piece| {
            received = self.receive(now, port, piece.bytes());
        });
        if !is_whole {
            self.lose(Loss::Offload);
        }
        received
    }

    /// Counts a frame that is lost outside the program.
    pub fn lose(&mut self, why: Loss) {
        self.outlet.counts.lose(why);
    }

    /// Explains what would become of a frame that arrives on a port, and why, as lines; nothing
    /// changes. Errors: [`P4Error::NoPort`].
    pub fn explain(&self, now: Time, port: u32, frame: &[u8]) -> Result<String, P4Error> {
        if !self.outlet.ports.contains_key(&port) {
            return Err(P4Error::NoPort(port));
        }
        let mut explained = Explained::default();
        self.switch
            .explain(port, frame, micros(now), &mut explained);
        Ok(explained.0)
    }

    /// Takes the next effect, if there is one.
    pub fn next_effect(&mut self) -> Option<P4Effect> {
        let effect = self.outlet.waiting.pop_front()?;
        self.outlet.waiting_bytes -= weight_bytes(&effect);
        Some(effect)
    }

    /// Takes all effects, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = P4Effect> + '_ {
        core::iter::from_fn(|| self.next_effect())
    }
}

/// The time of the program.
fn micros(now: Time) -> u64 {
    now.0 / 1_000
}

/// What an effect counts as while it waits.
fn weight_bytes(effect: &P4Effect) -> usize {
    let bytes = match effect {
        P4Effect::Transmit(sent) => sent.frame.len(),
        P4Effect::Digest(digest) => digest.values.len() * size_of::<bofuss_p4::Int>(),
        P4Effect::Log(text) => text.len(),
    };
    EFFECT_BYTES + bytes
}

impl Outlet {
    /// Lets an effect wait, if there is room. Returns whether there was.
    fn push(&mut self, effect: P4Effect) -> bool {
        let bytes = weight_bytes(&effect);
        let has_room = self.waiting_bytes + bytes <= MAX_WAITING_BYTES;
        if has_room {
            self.waiting_bytes += bytes;
            self.waiting.push_back(effect);
        }
        has_room
    }
}

impl Sink for Outlet {
    fn transmit(&mut self, sent: Sent) {
        let (port, bytes) = (sent.port, sent.frame.len());
        if !self.ports.contains_key(&port) {
            return self.counts.lose(Loss::NoPort);
        }
        if !self.push(P4Effect::Transmit(sent)) {
            return self.counts.lose(Loss::NoBuffer);
        }
        if let Some(port) = self.ports.get_mut(&port) {
            port.sent.add(bytes);
        }
    }

    fn digest(&mut self, digest: Digest) {
        self.counts.digests += 1;
        self.push(P4Effect::Digest(digest));
    }

    fn log(&mut self, text: String) {
        self.counts.logs += 1;
        self.push(P4Effect::Log(text));
    }

    fn dropped(&mut self, reason: DropReason) {
        self.counts.drop(reason);
    }
}

/// Writes what becomes of a packet as lines.
#[derive(Default)]
pub struct Explained(pub String);

impl Sink for Explained {
    fn transmit(&mut self, sent: Sent) {
        for line in sent.frame.chunks(LINE_BYTES) {
            let digits = line.iter().map(|byte| alloc::format!("{byte:02x}"));
            self.step(1, digits.collect());
        }
    }

    fn traces(&self) -> bool {
        true
    }

    fn step(&mut self, depth: usize, text: String) {
        if self.0.len() < MAX_TRACE_BYTES {
            let line = alloc::format!("{:width$}{text}\n", "", width = 2 * depth);
            self.0.push_str(&line);
        }
    }
}

#[cfg(test)]
mod tests;
