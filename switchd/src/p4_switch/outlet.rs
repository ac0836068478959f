//! What leaves a P4 program: frames go to ports, the rest is counted and logged.

use std::collections::BTreeMap;

use bofuss_datapath::Time;
use bofuss_datapath::egress::Pace;
use bofuss_embed::p4::{Loss, P4Counts, P4Effect};
use bofuss_embed::record::{P4Output, RecordedOutput};
use bofuss_frame::Pool;
use bofuss_oflib::PortNo;
use bofuss_p4::{Digest, DropReason, Sent, Sink};
use bofuss_p4runtime::Reports;
use tracing::debug;

use super::disciplines::Disciplines;
use crate::dataplane::PortSet;
use crate::port::OpenPort;
use crate::record::SwitchRecorder;

/// Where the switch reports what is for controllers.
pub struct ToControllers {
    /// The port whose frames are packet-ins.
    pub cpu_port: Option<u32>,
    /// The way to them.
    pub reports: Reports,
}

/// The ports of a P4 switch, and counters.
pub struct Outlet {
    /// The ports.
    pub ports: PortSet,
    /// What does not leave there, and what is reported.
    pub counts: P4Counts,
    /// Where packets to the CPU port and digests go, if controllers may have them.
    pub controllers: Option<ToControllers>,
    /// The recorder of all that leaves the program, if it is recorded.
    pub recorder: Option<SwitchRecorder>,
    /// When ports that have a rate and no queues may send their next frame.
    pub paces: BTreeMap<PortNo, Pace>,
    /// True while packets leave that have waited: of the time since they were due, some is made up
    /// for. That in which nothing waited is not.
    pub have_waited: bool,
    /// What waits behind the program, for ports with queues.
    pub disciplines: Disciplines,
    /// The time since the start, which is that of all that is sent.
    pub now: Time,
    pool: Pool,
}

impl Outlet {
    /// With these ports and disciplines, and frames of `pool`.
    pub fn new(ports: PortSet, disciplines: Disciplines, pool: Pool) -> Self {
        Self {
            ports,
            counts: P4Counts::default(),
            controllers: None,
            recorder: None,
            paces: BTreeMap::new(),
            have_waited: false,
            disciplines,
            now: Time(0),
            pool,
        }
    }

    /// Returns true if frames of a port may leave, by its rate and as far as the kernel takes them.
    pub fn has_room(&self, port: PortNo) -> bool {
        let pace = self.paces.get(&port);
        pace.is_none_or(|pace| pace.due <= self.now) && self.ports.takes_frames(port)
    }
}

impl Sink for Outlet {
    fn transmit(&mut self, sent: Sent) {
        let mut controllers = self.controllers.iter();
        let to_cpu = controllers.find(|to| to.cpu_port == Some(sent.port));
        let port = PortNo(sent.port);
        let has_link = self.ports.get(port).map(OpenPort::has_link);
        if to_cpu.is_none() && has_link.is_none() {
            return self.counts.lose(Loss::NoPort);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.output(P4Effect::Transmit(sent.clone()).into());
        }
        if let Some(to) = to_cpu {
            return to.reports.packet(sent.frame);
        }
        if has_link == Some(false) {
            self.ports.drop_unlinked(port);
            return self.counts.lose(Loss::LinkDown);
        }
        match self.pool.frame(&sent.frame) {
            Some(frame) if self.disciplines.has(port) => {
                let queue = sent.priority;
                if !self.disciplines.enqueue(self.now, port, queue, frame) {
                    self.counts.drop(DropReason::QueueFull);
                }
            }
            Some(frame) => {
                if let Some(pace) = self.paces.get_mut(&port) {
                    if !self.have_waited {
                        pace.begin(self.now);
                    }
                    pace.charge(self.now, frame.len() as u64);
                }
                self.ports.transmit(port, frame);
            }
            None => self.counts.lose(Loss::NoBuffer),
        }
    }

    fn digest(&mut self, digest: Digest) {
        self.counts.digests += 1;
        debug!("digest {}: {:?}", digest.list, digest.values);
        if let Some(recorder) = &mut self.recorder {
            recorder.output(RecordedOutput::P4(P4Output::Digest(digest.clone())));
        }
        if let Some(to) = &self.controllers {
            to.reports.digest(digest);
        }
    }

    fn log(&mut self, text: String) {
        self.counts.logs += 1;
        debug!("log_msg: {text}");
        if let Some(recorder) = &mut self.recorder {
            recorder.output(RecordedOutput::P4(P4Output::Log(text)));
        }
    }

    fn dropped(&mut self, reason: DropReason) {
        self.counts.drop(reason);
    }
}
