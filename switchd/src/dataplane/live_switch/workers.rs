//! A switch of several workers: the first stops the others for each input, and lets them go on.

use std::io;
use std::sync::Arc;
use std::task::Waker;

use bofuss_agent::{ConnId, SwitchIo};
use bofuss_datapath::Time;
use bofuss_embed::record::{RecordedConnections, RecordedInput};
use bofuss_ext::Switch;
use bofuss_frame::Pool;
use bofuss_oflib::{Message, PortNo};
use bofuss_ports::{BATCH_FRAMES, Link};
use serde_json::{Value, json};

use super::traces::PendingTraces;
use crate::config::{Config, PortSpec};
use crate::dataplane::follower::{Progress, Remake, Step};
use crate::dataplane::followers::{Followers, MAX_PACKET_INS};
use crate::dataplane::io::DataPlaneIo;
use crate::dataplane::loop_counters::LoopCounters;
use crate::dataplane::noted_input::NotedInput;
use crate::dataplane::thread_clock::ThreadClock;
use crate::error::Result;
use crate::export::Export;
use crate::record;

/// More batches than the kernel holds for one socket.
pub(super) const MOST_BATCHES: usize = (16 << 20) / 256 / BATCH_FRAMES;

/// The first worker's switch, with what it needs to work in step with the others, if there are
/// some. A switch of one worker has it as well, and then most of this does nothing.
pub(in crate::dataplane) struct Workers<'a> {
    pub(super) switch: &'a mut Switch,
    pub(super) io: &'a mut DataPlaneIo,
    pub(super) clock: &'a ThreadClock,
    pub(super) pool: &'a Pool,
    pub(super) counters: &'a mut LoopCounters,
    pub(super) traces: &'a mut PendingTraces,
}

impl Workers<'_> {
    /// Makes the switch, which is new, the first of several workers if there are to be some.
    pub(in crate::dataplane) fn make(&mut self, config: &Config) {
        if config.workers > 1 {
            let followers = Followers::new(config.workers - 1, self.switch, config.dispatch);
            self.io.followers = Some(followers);
            self.lead();
        }
    }

    /// Lets the switch note what the others have to know, after its tables were made.
    pub(in crate::dataplane) fn lead(&mut self) {
        if self.io.followers.is_some() {
            self.switch.replica().begin(false);
        }
    }

    /// Starts the threads of the others. Errors: the system's.
    pub(in crate::dataplane) fn begin(
        &mut self,
        config: &Config,
        remake: Remake,
        leader: &Waker,
    ) -> io::Result<()> {
        let Some(followers) = &mut self.io.followers else {
            return Ok(());
        };
        let recorded = record::recorded(config, self.switch);
        followers.begin((&recorded, remake), *self.clock, leader)?;
        self.resume()
    }

    /// Stops the others until the end of the turn, so that all counters are those of the whole.
    pub(in crate::dataplane) fn stop(&mut self) {
        let followers = self.io.followers.as_ref();
        if followers.is_none_or(Followers::are_stopped) {
            return;
        }
        // As in the others, what has arrived is processed before the input.
        self.finish_backlog();
        if let Some(followers) = &mut self.io.followers {
            followers.stop(self.switch);
        }
        // Controllers learn of what came before the input before they learn of the input.
        self.pass_on_packet_ins();
    }

    /// Processes the frames that wait here for a turn.
    pub(super) fn finish_backlog(&mut self) {
        for _ in 0..MOST_BATCHES {
            if self.switch.datapath().lane().backlog.is_empty() {
                break;
            }
            self.switch.catch_up(self.clock.now(), self.io);
        }
    }

    /// Begins an input of the switch, for the record and the others.
    pub(super) fn begin_input(
        &mut self,
        now: Time,
        input: impl FnOnce(&RecordedConnections) -> Option<RecordedInput>,
    ) {
        self.stop();
        if let Some(recorder) = &mut self.io.recorder {
            recorder.look_for(self.switch.datapath().catalogue().additions());
            recorder.begin(now, input);
        } else if let Some(followers) = &mut self.io.followers {
            let noted = |known: &RecordedConnections| input(known).map(NotedInput::Recorded);
            followers.begin_input((*self.clock, now), self.switch, noted);
        }
    }

    /// Begins a message of a connection, likewise.
    pub(super) fn begin_message(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        head: &[u8],
        message: &Message,
    ) {
        if self.io.followers.is_none() {
            return self.begin_input(now, |known| known.message(conn, xid, head, message));
        }
        self.stop();
        if let Some(followers) = &mut self.io.followers {
            // The first worker alone carries out packet-outs.
            let is_for_all = !matches!(message, Message::PacketOut(_));
            let noted = is_for_all.then(|| NotedInput::message(conn, xid, head, message));
            followers.begin_input((*self.clock, now), self.switch, |_| noted);
        }
    }

    /// Ends it.
    pub(super) fn end_input(&mut self) {
        if let Some(recorder) = &mut self.io.recorder {
            recorder.end();
        } else if let Some(followers) = &mut self.io.followers {
            followers.end_input();
        }
    }

    /// Tells the others something that is no input of the switch.
    fn tell(&mut self, step: impl FnOnce() -> Step) {
        self.stop();
        if let Some(followers) = &mut self.io.followers {
            followers.note(step());
        }
    }

    /// Tells them that an interface has changed.
    pub(in crate::dataplane) fn tell_of_link(&mut self, link: &Link) {
        self.tell(|| Step::Link(Box::new(link.clone())));
    }

    /// Tells them that the options of a port have changed.
    pub(in crate::dataplane) fn tell_of_options(&mut self, spec: &PortSpec) {
        self.tell(|| Step::Adjust(Box::new(spec.clone())));
    }

    /// Tells them which exports see what ports receive.
    pub(in crate::dataplane) fn tell_of_exports(&mut self, exports: &[Arc<Export>]) {
        self.tell(|| Step::Exports(exports.to_vec()));
    }

    /// Tells them that a port is closed.
    pub(super) fn tell_of_end(&mut self, number: PortNo) {
        self.stop();
        if let Some(followers) = &mut self.io.followers {
            followers.close(number);
        }
    }

    /// Sends packet-ins of the others, as many as may wait at once; more of them in the next turn.
    fn pass_on_packet_ins(&mut self) {
        let Self { io, switch, .. } = self;
        for _ in 0..MAX_PACKET_INS {
            let followers = io.followers.as_ref();
            let Some(packet_in) = followers.and_then(Followers::next_packet_in) else {
                return;
            };
            if io.takes_packet_in(packet_in.conn, packet_in.in_port) {
                io.send(packet_in.conn, packet_in.xid, packet_in.message);
            } else {
                switch.note_lost_packet_in(packet_in.conn);
            }
        }
        if let Some(followers) = &io.followers {
            followers.wake_leader();
        }
    }

    /// Sends the packet-ins of the others. If they were stopped, lets them do what was done since
    /// then, divides frames as is right now, and lets them go on.
    ///
    /// Errors: one differs, has ended or does not answer, or the system's.
    pub(in crate::dataplane) fn resume(&mut self) -> io::Result<()> {
        self.pass_on_packet_ins();
        let is_watched = !self.io.ports.copiers.is_empty() || !self.traces.is_empty();
        match &mut self.io.followers {
            None => return Ok(()),
            Some(followers) if followers.dispatch.is_watched != is_watched => {
                followers.dispatch.is_watched = is_watched;
                self.stop();
            }
            Some(followers) if followers.have_run_long(self.clock.now()) => self.stop(),
            Some(_) => {}
        }
        if let Some(followers) = &mut self.io.followers
            && followers.are_stopped()
        {
            followers.play(Progress::of(self.switch))?;
            self.dispatch()?;
        }
        let now = self.clock.now();
        let states = self.states_to_give();
        match &mut self.io.followers {
            Some(followers) if followers.are_stopped() => {
                let mut replica = self.switch.replica();
                let check = replica.next_check(now);
                followers.go_on((now, check), replica.share_meters(now), states)
            }
            _ => Ok(()),
        }
    }

    /// The frames that each worker has received.
    pub(in crate::dataplane) fn packets(&self) -> Vec<u64> {
        let others = self.io.followers.iter().flat_map(Followers::frames);
        std::iter::once(self.counters.frames)
            .chain(others)
            .collect()
    }

    /// Describes the workers, as text or with `--json`. Errors: there is another option.
    pub(in crate::dataplane) fn describe(&self, options: &str) -> Result<String> {
        let json = match options.trim() {
            "" => false,
            "--json" => true,
            other => return Err(format!("workers has no option '{other}'").into()),
        };
        let packets = self.packets();
        let followers = self.io.followers.as_ref();
        let dispatch = followers.map(|followers| &followers.dispatch);
        let alone = "there is no other";
        let lost = followers.map_or(0, Followers::lost_packet_ins);
        let lost_frames = followers.map_or(0, Followers::lost_frames);
        if json {
            let (by, why) = match dispatch {
                Some(dispatch) => dispatch.values(),
                None => (Value::from("one"), Some(alone)),
            };
            let value = json!({
                "workers": packets.len(),
                "dispatch": by,
                "why": why,
                "packets": packets,
                "lost_packet_ins": lost,
                "lost_frames": lost_frames,
            });
            return Ok(format!("{value}\n"));
        }
        let said = match dispatch {
            Some(dispatch) => dispatch.sentence(),
            None => format!("all flows in worker 0, because {alone}"),
        };
        let mut text = format!("workers {}\ndispatch {said}\n", packets.len());
        for (worker, count) in packets.iter().enumerate() {
            text += &format!("worker {worker} packets {count}\n");
        }
        Ok(text + &format!("lost_packet_ins {lost}\nlost_frames {lost_frames}\n"))
    }
}
