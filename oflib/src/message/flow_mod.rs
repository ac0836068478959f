//! FLOW_MOD: a change of flow entries. Spec: OpenFlow 1.3.5 section 7.3.4.1.

use crate::error::FlowModFailed;
use crate::instruction::Instructions;
use crate::matching::Match;
use crate::message::multipart::flow::FlowEntry;
use crate::model::{flags, model, named};
use crate::types::{BufferId, GroupId, PortNo, TableId};

named! {
    /// The commands of a flow-mod (`OFPFC_*`).
    pub struct FlowModCommand(u8) else FlowModFailed::BAD_COMMAND {
        /// Adds an entry, or replaces the entry of the same match and priority.
        ADD = 0 "add",
        /// Changes the instructions of all entries that the match covers.
        MODIFY = 1 "modify",
        /// Changes the instructions of the entry of this match and priority.
        MODIFY_STRICT = 2 "modify_strict",
        /// Removes all entries that the match covers.
        DELETE = 3 "delete",
        /// Removes the entry of this match and priority.
        DELETE_STRICT = 4 "delete_strict",
    }
}

flags! {
    /// Options of an entry (`OFPFF_*`).
    pub struct FlowModFlags(u32) {
        /// Send FLOW_REMOVED when the entry goes.
        SEND_FLOW_REM = 0x1 "send_flow_rem",
        /// Refuse an entry that overlaps one of the same priority.
        CHECK_OVERLAP = 0x2 "check_overlap",
        /// Set the counters of what is changed to zero.
        RESET_COUNTS = 0x4 "reset_counts",
        /// Do not count packets.
        NO_PKT_COUNTS = 0x8 "no_packet_counts",
        /// Do not count bytes.
        NO_BYT_COUNTS = 0x10 "no_byte_counts",
        /// Have a modify that finds no entry add one (OpenFlow 1.0).
        OR_ADD = 0x1_0000 "or_add",
        /// Allow actions on headers that the match does not promise (OpenFlow 1.0).
        ANY_HEADER = 0x2_0000 "any_header",
        /// Look at the entry before all others of its priority (OpenFlow 1.0: it is exact).
        FIRST = 0x4_0000 "first",
        /// Skip one VLAN tag in front of the Ethernet type, and not all: after a second tag, whose
        /// number is the type, nothing is matched (OpenFlow 1.0).
        ONE_TAG = 0x8_0000 "one_tag",
    }
}

/// The priority of an entry whose text names none. Spec: OpenFlow 1.3.5 section 7.3.4.1.
pub const DEFAULT_PRIORITY: u16 = 0x8000;

model! {
    /// A change of flow entries.
    pub struct FlowMod text write_flow_mod {
        /// The entry's cookie.
        pub cookie: u64,
        /// For modify and delete: the bits of the cookie that must be equal.
        pub cookie_mask: u64,
        /// The table.
        pub table_id: TableId,
        /// The command.
        pub command: FlowModCommand,
        /// Seconds without a packet until the entry goes; 0 is never.
        pub idle_timeout: u16,
        /// Seconds until the entry goes; 0 is never.
        pub hard_timeout: u16,
        /// The entry's priority.
        pub priority: u16,
        /// A held packet to process with the entry.
        pub buffer_id: BufferId,
        /// For delete: only entries that output to this port.
        pub out_port: PortNo,
        /// For delete: only entries that use this group.
        pub out_group: GroupId,
        /// Options.
        pub flags: FlowModFlags,
        /// The packets of the entry.
        pub fields: Match,
        /// The instructions for these packets.
        pub instructions: Instructions,
        /// The importance: where a full table makes room, entries of more importance stay (since
        /// OpenFlow 1.4).
        pub importance: u16,
    }
}

impl FlowMod {
    /// An add to table 0 of `fields` at [`DEFAULT_PRIORITY`] with no instructions and no limits.
    pub fn add(fields: Match) -> Self {
        Self {
            priority: DEFAULT_PRIORITY,
            buffer_id: BufferId::NO_BUFFER,
            out_port: PortNo::ANY,
            out_group: GroupId::ANY,
            fields,
            ..Self::default()
        }
    }

    /// The add of an entry as a switch lists it: without its counters and age.
    pub fn adding(entry: FlowEntry) -> Self {
        Self {
            table_id: entry.table_id,
            priority: entry.priority,
            cookie: entry.cookie,
            idle_timeout: entry.idle_timeout,
            hard_timeout: entry.hard_timeout,
            importance: entry.importance,
            flags: entry.flags,
            instructions: entry.instructions,
            ..Self::add(entry.fields)
        }
    }

    /// Returns true if it deletes entries.
    pub fn deletes(&self) -> bool {
        self.command == FlowModCommand::DELETE || self.command == FlowModCommand::DELETE_STRICT
    }
}
