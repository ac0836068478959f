//! The state of a switch as bytes, from which another one goes on: what is the same for both is the
//! time of the switch.
//!
//! The state is mostly OpenFlow messages that give it again, with counters and times:
//!
//! ```text
//! bofuss-state 2\n
//! KIND LENGTH PAYLOAD         any number of records: one byte, 4 bytes, LENGTH bytes
//! CHECKSUM                    4 bytes: CRC-32C of all before it
//! ```
//!
//! - `h`, the first record: nanoseconds since 1970 and the time of the switch then, whether there
//!   is a generation id, the id, the CRC-32C of the features of tables as configured;
//! - `t`: a reply to TABLE_FEATURES, of each table if controllers have changed any;
//! - `m`: a METER_MOD, GROUP_MOD or TABLE_MOD;
//! - `f`: when the entry was added and used, packets, bytes, flags; its FLOW_MOD;
//! - `g` and `b`, of a group and a meter: its number, when it was added, packets and bytes of it
//!   and of each bucket or band;
//! - `q`: port, queue, and its text form;
//! - `s`, an address that NORMAL learned: VLAN_VID, address, port, when it was seen;
//! - `x`: a message to an extension, one of [`bofuss_ext::SAVED`]; not in version 1, which is read
//!   as well.
//!
//! Numbers have the highest byte first. A message is in the version that its first byte names.

mod read;
mod restore;
mod save;
mod since;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use bofuss_agent::ConnId;
use bofuss_packet::checksum::crc32c;

pub use read::SavedState;
pub use restore::Restored;
pub use save::Saving;
pub use since::Since;

/// The connection by which the switch is asked for its state, and given it again.
pub const SAVER: ConnId = ConnId(u64::MAX);
/// The first line.
const FIRST_LINE: &[u8] = b"bofuss-state 2\n";
/// The first line of the version before, which has no states of extensions.
const EARLIER_FIRST_LINE: &[u8; FIRST_LINE.len()] = b"bofuss-state 1\n";
/// What every version of the format begins with.
const MAGIC: &[u8] = b"bofuss-state ";
/// Bytes of the checksum.
const SUM_BYTES: usize = 4;
/// Bytes of a record before its payload.
const RECORD_HEAD_BYTES: usize = 5;
/// The most bytes of a state.
pub const MAX_STATE_BYTES: usize = 256 << 20;

/// The kinds of records.
mod kind {
    pub(super) const HEAD: u8 = b'h';
    pub(super) const TABLES: u8 = b't';
    pub(super) const MESSAGE: u8 = b'm';
    pub(super) const FLOW: u8 = b'f';
    pub(super) const GROUP: u8 = b'g';
    pub(super) const METER: u8 = b'b';
    pub(super) const QUEUE: u8 = b'q';
    pub(super) const STATION: u8 = b's';
    pub(super) const EXTENSION: u8 = b'x';
    /// An entry as `f`, with what packets did there since an earlier state; no state has it.
    pub(super) const HITS: u8 = b'u';
    /// All that a state has after its first record.
    pub(super) const ALL: [u8; 8] = [
        TABLES, MESSAGE, FLOW, GROUP, METER, QUEUE, STATION, EXTENSION,
    ];
}

/// Why bytes are no state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateError(pub String);

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for StateError {}

/// Ends a state with its checksum. It takes some milliseconds for each 10 MB.
pub fn seal(state: &mut Vec<u8>) {
    let sum = crc32c(state);
    state.extend_from_slice(&sum);
}
