//! The reasons for which the kernel does not forward frames.

use bofuss_oflib::{Action, PortNo};

use crate::layout::PORTS;

/// The reason for which there is no accelerator, or none for a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The program was not compiled.
    #[error("this build has none, because clang or the kernel headers were missing")]
    NotBuilt,
    /// What the filter leaves for the program behind it may be about another frame.
    #[error("the kernel has PREEMPT_RT, so frames on one processor may interleave")]
    RealTime,
    /// The program lacks a part.
    #[error("it is incomplete")]
    Incomplete,
    /// The kernel refused it; its error with all causes, in one line.
    #[error("{0}")]
    Kernel(String),
    /// The program has a place for each of so many.
    #[error("{PORTS} ports are accelerated already")]
    Ports,
}

impl Unavailable {
    /// The kernel's error.
    pub(crate) fn kernel(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            text = format!("{text}: {cause}");
            next = cause.source();
        }
        let line = text.lines().next().unwrap_or_default();
        Self::Kernel(line.into())
    }
}

/// The reason for which the kernel does not forward the frames of a flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It forwards none for now.
    #[error("{0}")]
    Paused(&'static str),
    /// Its program does not read a field that entries read.
    #[error("entries read {0}")]
    Field(&'static str),
    /// Its program does not read such packets.
    #[error("the kernel's program does not read such packets")]
    Packet,
    /// A port is not accelerated; with a colon and the reason, if it is known.
    #[error("port {0} is not accelerated{1}")]
    Port(PortNo, String),
    /// It does not do this action.
    #[error("the kernel does not do {0} here")]
    Action(Action),
    /// What one copy changed would have to be as before in the next.
    #[error("a copy has fields again that another one changed")]
    Restores,
    /// All its places in the table have flows in use.
    #[error("flows in use have all places that it may have")]
    Slots,
    /// Ways of other flows have all legs.
    #[error("the changes of other flows' frames take all the room")]
    Legs,
    /// Other meters have all places.
    #[error("other meters have all places that there are")]
    Meters,
    /// A frame is padded when it leaves.
    #[error("it is shorter than 60 bytes")]
    Short,
    /// A frame is above the MTU of a port that it leaves by.
    #[error("it is above the MTU of a port that it leaves by")]
    Long,
    /// The TTL of a frame ends.
    #[error("its TTL ends")]
    Ttl,
    /// Frames of its flow that went up may not be overtaken.
    #[error("it waits until the frames before it have left the switch")]
    Waits,
}
