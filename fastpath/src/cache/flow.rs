//! A cached flow, and the program that is executed for its packets.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;

use bofuss_datapath::engine::HookPoint;
use bofuss_datapath::{DropReason, Time};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ExtValue, Field, PortNo};
use bofuss_packet::Words;

use super::flow_key::FEW;
use crate::direct_path::DirectPath;

/// An entry that a flow's packets hit; slot `NONE` means that no entry of the table matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) slot: u32,
    pub(crate) table: TableId,
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ProgramStep {
    /// Instructions are executed.
    Execute(Body),
    /// A field is set to the value that a hook gave it, or marked as absent.
    Set(&'static Field, Option<u128>),
    /// A hook is called.
    Call(PathCall),
}

/// An action of an extension that comes before all else on a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathAction {
    pub(crate) hook: usize,
    /// The place of its row in the extension's list, and its value; `None` if the hook is called
    /// for a miss.
    pub(crate) action: Option<(usize, ExtValue)>,
    pub(crate) table: TableId,
    /// The index of its entry among the flow's hits.
    pub(crate) hit: u8,
}

/// A hook that is called on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathCall {
    pub(crate) hook: usize,
    pub(crate) table: TableId,
    /// The number of the flow's hits that precede it.
    pub(crate) hits: u8,
    pub(crate) point: HookPoint,
}

/// The instructions of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Body {
    pub(crate) instructions: Instructions,
    pub(crate) table: TableId,
    pub(crate) reason: PacketInReason,
    /// The index of its entry among the flow's hits.
    pub(crate) hit: u8,
    /// True if they may cause a packet-in, so that the cookie matters.
    pub(crate) may_packet_in: bool,
    /// The port, if they do nothing but output the packet to one.
    pub(crate) output: Option<PortNo>,
}

/// The program for a flow's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub(crate) steps: Vec<ProgramStep>,
    /// The last table looked up.
    pub(crate) last: TableId,
    /// The table in which the next path begins, with the key as it is then.
    pub(crate) next: Option<TableId>,
    /// The number of hits that were found before the key was first changed.
    pub(crate) unchanged: u8,
    /// The number of hits up to a meter, if others follow it: these do not count what it drops.
    pub(crate) judged: Option<u8>,
    /// True if no entry matched in the last table.
    pub(crate) missed: bool,
    /// True if hooks are called for that miss and may have the packet looked up again.
    pub(crate) asks: bool,
    /// True if it calls hooks.
    pub(crate) calls: bool,
    pub(crate) end: End,
    /// The actions of extensions that precede a simple end.
    pub(crate) actions: Vec<PathAction>,
    /// True if no action keeps its frames from going below; a simple end says so itself.
    pub(crate) may_go_below: bool,
    /// Its steps, if the end is [`End::Steps`].
    pub(crate) direct: Option<DirectPath>,
}

/// The effect of a program, if it is simple enough for the direct path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// It is not simple.
    #[default]
    Other,
    /// Packets are output to a port and nothing else happens, except for the program's `actions` if
    /// it `acts`.
    Port { port: PortNo, acts: bool },
    /// Packets are dropped and nothing else happens, except for the program's `actions` if it
    /// `acts`.
    Drop { reason: DropReason, acts: bool },
    /// Frames are edited, metered, copied or sent to groups before they leave, without becoming
    /// packets.
    Steps,
}

/// The packets that have the same key. The size is two cache lines (128 bytes).
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    /// Packets and bytes that are not yet in the counters of its entries.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) used: Time,
    /// The number of the last change when it was last known to be right.
    pub(crate) checked: u64,
    /// The end of its program.
    pub(crate) end: End,
    pub(crate) program: Rc<Program>,
    /// The entries that were hit, in order: the first, and the others.
    first: Hit,
    others: Box<[Hit]>,
    /// The start of its path, and the masked words of its key.
    pub(crate) key: Words<FEW>,
}

impl Program {
    /// The instructions that the program executes, in order.
    pub(crate) fn executed(&self) -> impl Iterator<Item = &Body> {
        self.steps.iter().filter_map(|step| match step {
            ProgramStep::Execute(body) => Some(body),
            ProgramStep::Set(..) | ProgramStep::Call(_) => None,
        })
    }
}

impl Flow {
    /// A flow that was right after change number `checked`, with at least one hit.
    pub(super) fn new(program: Rc<Program>, hits: &[Hit], checked: u64, key: Words<FEW>) -> Self {
        Self {
            packets: 0,
            bytes: 0,
            used: Time(0),
            checked,
            end: program.end,
            program,
            first: hits[0],
            others: hits[1..].into(),
            key,
        }
    }

    pub(crate) fn hits(&self) -> impl Iterator<Item = Hit> {
        [self.first].into_iter().chain(self.others.iter().copied())
    }

    pub(crate) fn hit(&self, number: usize) -> Hit {
        match number.checked_sub(1) {
            None => self.first,
            Some(other) => self.others[other],
        }
    }

    pub(crate) fn n_hits(&self) -> usize {
        1 + self.others.len()
    }

    /// Returns true if packets are only output to one port or dropped, and cause nothing else.
    pub(crate) fn is_simple(&self) -> bool {
        match self.end {
            End::Port { acts, .. } | End::Drop { acts, .. } => !acts,
            End::Steps | End::Other => false,
        }
    }

    /// Counts packets. Returns true if the flow had nothing unsettled before.
    #[inline]
    pub(crate) fn count(&mut self, now: Time, packets: u64, bytes: u64) -> bool {
        let first = self.packets == 0;
        self.packets += packets;
        self.bytes += bytes;
        self.used = now;
        first
    }
}
