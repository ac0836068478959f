//! What ends within a P4 switch, and what it reports, as numbers.

use bofuss_p4::DropReason;

/// Why a frame is lost outside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The program sends it to a port that is not there.
    NoPort,
    /// The port that it is sent to has no link.
    LinkDown,
    /// The limit on memory for frames is reached, or it is longer than any frame.
    NoBuffer,
    /// A super-frame that cannot be cut.
    Offload,
    /// It waited for its port when another program began to run.
    OldProgram,
}

impl Loss {
    const NAMES: [&str; 5] = [
        "no_port",
        "link_down",
        "no_buffer",
        "offload",
        "old_program",
    ];
}

/// The packets that ended within a switch, by reason, and its reports.
#[derive(Clone, Debug, Default)]
pub struct P4Counts {
    /// Digests.
    pub digests: u64,
    /// Calls of `log_msg`.
    pub logs: u64,
    dropped: [u64; DropReason::ALL.len()],
    lost: [u64; Loss::NAMES.len()],
}

impl P4Counts {
    /// Counts a frame that is lost outside the program.
    pub fn lose(&mut self, why: Loss) {
        self.lose_all(1, why);
    }

    /// Counts frames that are lost outside the program.
    pub fn lose_all(&mut self, count: usize, why: Loss) {
        self.lost[why as usize] += count as u64;
    }

    /// Counts a packet that the program drops.
    pub fn drop(&mut self, reason: DropReason) {
        let mut all = DropReason::ALL.iter();
        if let Some(place) = all.position(|other| *other == reason) {
            self.dropped[place] += 1;
        }
    }

    /// How many packets ended without leaving, by reason, zeros included.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let names = DropReason::ALL.iter().map(|reason| reason.name());
        let lost = Loss::NAMES.into_iter().zip(self.lost);
        names.zip(self.dropped).chain(lost)
    }
}
