//! What leaves a P4 program: frames go to ports, the rest is counted and logged.

use bofuss_frame::Pool;
use bofuss_oflib::PortNo;
use bofuss_p4::{Digest, DropReason, Sent, Sink};
use bofuss_p4runtime::Reports;
use tracing::debug;

use crate::dataplane::PortSet;

/// Why a frame is lost outside the program.
#[derive(Clone, Copy)]
pub enum Loss {
    /// The program sends it to a port that is not there.
    NoPort,
    /// The limit on memory for frames is reached, or it is longer than any frame.
    NoBuffer,
    /// A super-frame that cannot be cut.
    Offload,
}

impl Loss {
    const NAMES: [&str; 3] = ["no_port", "no_buffer", "offload"];
}

/// Where the switch reports what is for controllers.
pub struct ToControllers {
    /// The port whose frames are packet-ins.
    pub cpu_port: Option<u32>,
    /// The way to them.
    pub reports: Reports,
}

/// The ports of a P4 switch, and counters of what does not leave there.
pub struct Outlet {
    /// The ports.
    pub ports: PortSet,
    /// Digests, which are logged.
    pub digests: u64,
    /// Where packets to the CPU port and digests go, if controllers may have them.
    pub controllers: Option<ToControllers>,
    /// Calls of `log_msg`.
    pub logs: u64,
    pool: Pool,
    dropped: [u64; DropReason::ALL.len()],
    lost: [u64; Loss::NAMES.len()],
}

impl Outlet {
    /// With these ports, and frames of `pool`.
    pub fn new(ports: PortSet, pool: Pool) -> Self {
        Self {
            ports,
            digests: 0,
            controllers: None,
            logs: 0,
            pool,
            dropped: [0; DropReason::ALL.len()],
            lost: [0; Loss::NAMES.len()],
        }
    }

    /// Counts a frame that is lost.
    pub fn lose(&mut self, why: Loss) {
        self.lost[why as usize] += 1;
    }

    /// How many packets ended without leaving, by reason, zeros included.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let names = DropReason::ALL.iter().map(|reason| reason.name());
        let lost = Loss::NAMES.into_iter().zip(self.lost);
        names.zip(self.dropped).chain(lost)
    }
}

impl Sink for Outlet {
    fn transmit(&mut self, sent: Sent) {
        if let Some(to) = &self.controllers
            && to.cpu_port == Some(sent.port)
        {
            return to.reports.packet(sent.frame);
        }
        let port = PortNo(sent.port);
        if !self.ports.contains(port) {
            return self.lose(Loss::NoPort);
        }
        match self.pool.frame(&sent.frame) {
            Some(frame) => self.ports.transmit(port, frame),
            None => self.lose(Loss::NoBuffer),
        }
    }

    fn digest(&mut self, digest: Digest) {
        self.digests += 1;
        debug!("digest {}: {:?}", digest.list, digest.values);
        if let Some(to) = &self.controllers {
            to.reports.digest(digest);
        }
    }

    fn log(&mut self, text: String) {
        self.logs += 1;
        debug!("log_msg: {text}");
    }

    fn dropped(&mut self, reason: DropReason) {
        let mut all = DropReason::ALL.iter();
        if let Some(place) = all.position(|other| *other == reason) {
            self.dropped[place] += 1;
        }
    }
}
