//! FLOW_MONITOR: a controller follows how entries change. Spec: OpenFlow 1.4.1 section 7.3.5.17.

use crate::error::FlowMonitorFailed;
use crate::instruction::Instructions;
use crate::matching::Match;
use crate::model::{flags, model, named};
use crate::types::{GroupId, PortNo, TableId};

named! {
    /// The commands for a monitor (`OFPFMC_*`).
    pub struct FlowMonitorCommand(u8) else FlowMonitorFailed::BAD_COMMAND {
        /// Begins one.
        ADD = 0 "add",
        /// Changes one.
        MODIFY = 1 "modify",
        /// Ends one.
        DELETE = 2 "delete",
    }
}

flags! {
    /// The changes that a monitor reports (`OFPFMF_*`).
    pub struct FlowMonitorFlags(u16) {
        /// The entries that are there when it begins.
        INITIAL = 0x1 "initial",
        /// Entries that are added.
        ADD = 0x2 "add",
        /// Entries that are removed.
        REMOVED = 0x4 "removed",
        /// Entries that are changed.
        MODIFY = 0x8 "modify",
        /// Their instructions, too.
        INSTRUCTIONS = 0x10 "instructions",
        /// Changes of the same controller in full.
        NO_ABBREV = 0x20 "no_abbrev",
        /// Only changes of the same controller.
        ONLY_OWN = 0x40 "only_own",
    }
}

model! {
    /// Begins, changes or ends a monitor.
    pub struct FlowMonitorRequest {
        /// The monitor, one of its controller.
        pub monitor_id: u32,
        /// Only entries that output to this port.
        pub out_port: PortNo,
        /// Only entries that use this group.
        pub out_group: GroupId,
        /// The changes to report.
        pub flags: FlowMonitorFlags,
        /// The table, or ALL.
        pub table_id: TableId,
        /// The command.
        pub command: FlowMonitorCommand,
        /// Only entries that this match covers.
        pub fields: Match,
    }
}

named! {
    /// The events of a monitor (`OFPFME_*`).
    pub struct FlowUpdateEvent(u16) {
        /// An entry that was there when the monitor began.
        INITIAL = 0 "initial",
        /// An entry was added.
        ADDED = 1 "added",
        /// An entry was removed.
        REMOVED = 2 "removed",
        /// An entry's instructions were changed.
        MODIFIED = 3 "modified",
        /// The controller's own flow-mod changed entries.
        ABBREV = 4 "abbrev",
        /// Reports are left out from here on, for want of room.
        PAUSED = 5 "paused",
        /// Reports go on.
        RESUMED = 6 "resumed",
    }
}

/// An entry as a monitor reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MonitoredFlow {
    /// Its table.
    pub table_id: TableId,
    /// The reason for which it was removed (`OFPRR_*`), of those that were.
    pub reason: u8,
    /// Its idle timeout, seconds.
    pub idle_timeout: u16,
    /// Its hard timeout, seconds.
    pub hard_timeout: u16,
    /// Its priority.
    pub priority: u16,
    /// Its cookie.
    pub cookie: u64,
    /// Its match.
    pub fields: Match,
    /// Its instructions, if the monitor asked for them.
    pub instructions: Instructions,
}

/// One report of a monitor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FlowUpdate {
    /// An entry: INITIAL, ADDED, REMOVED or MODIFIED.
    Full(FlowUpdateEvent, MonitoredFlow),
    /// The flow-mod of this transaction id, the controller's own, changed entries.
    Abbrev(u32),
    /// PAUSED or RESUMED.
    Stream(FlowUpdateEvent),
}
