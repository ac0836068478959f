//! ARP-Path: packets that miss take paths that the network explores by itself.
//!
//! The first copy of a broadcast shows each switch the port towards its sender. Later copies are
//! dropped, so loops do no harm and all links are used. See README.md.

mod duplicates;
pub mod error;
pub mod frame;
mod hello_timer;
mod hook;
mod machine;
mod neighbours;
mod offer;
mod options;
mod protocol;
mod report;
mod rules;
mod sender;
mod sessions;
mod stray;
pub mod table;
mod waiting;
mod wire;

pub use error::EXPERIMENTER;
pub use hook::hook;
pub use neighbours::NeighbourKind;
pub use table::place;
pub use wire::{EntryState, PathMod, PathPortRecord, PathRecord, PathTableRecord, TableUse};

use alloc::vec::Vec;

use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::{ExtValue, Field};

use crate::common::list::{Listed, ValueList};
use crate::common::saved::SavedExtension;

/// This extension adds no fields.
pub static FIELDS: [Field; 0] = [];

/// The row of a list that `dpctl` prints.
const fn list<T: Listed>(ty: u32, name: &'static str, help: &'static str) -> ExtRow {
    ExtRow::typed::<ValueList<T>>(ExtKind::Multipart, EXPERIMENTER, ty, name).with_usage("", help)
}

/// The action; the message that changes entries; and the lists of entries, ports and tables.
pub static VALUES: [ExtRow; 5] = [
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 1, "arp_path"),
    ExtRow::typed::<PathMod>(ExtKind::Message, EXPERIMENTER, 1, "arp_path_mod")
        .that_changes()
        .with_error_names(error::ERRORS)
        .with_usage(
            "pin,mac=M,port=N[,vlan=V]|delete[,mac=M][,port=N][,vlan=V]|flush",
            "sets and deletes what ARP-Path knows",
        ),
    list::<PathRecord>(
        1,
        "arp_path_entries",
        "prints which port leads to which host",
    ),
    list::<PathPortRecord>(
        2,
        "arp_path_ports",
        "prints what is at the other end of each port",
    ),
    list::<PathTableRecord>(3, "arp_path_tables", "prints in which tables ARP-Path acts"),
];
/// The place of the message that changes entries.
const CHANGE: usize = 1;
/// The places of the lists.
const ENTRIES: usize = 2;
const PORTS: usize = 3;
const TABLES: usize = 4;

/// The request for the list of entries.
pub fn entries_request() -> ExtValue {
    ExtValue::typed(&VALUES[ENTRIES], ValueList::<PathRecord>(Vec::new()))
}

/// Of what it knows, what the operator has set outlives a restart; paths are explored again.
pub const SAVED: SavedExtension = SavedExtension {
    request: entries_request,
    messages: pins,
    rows: &[&VALUES[CHANGE]],
    thing: Some(&VALUES[CHANGE]),
};

/// The messages that set the pinned entries of a list again.
fn pins(reply: &ExtValue) -> Vec<ExtValue> {
    let list: Option<&ValueList<PathRecord>> = reply.body();
    let entries = list.into_iter().flat_map(|list| &list.0);
    let pinned = entries.filter(|entry| entry.state == EntryState::Pinned);
    let pins = pinned.map(|entry| PathMod::Pin {
        vlan: entry.vlan,
        mac: entry.mac,
        port: entry.port,
    });
    pins.map(change).collect()
}

/// The message of a change of entries.
pub fn change(change: PathMod) -> ExtValue {
    ExtValue::typed(&VALUES[CHANGE], change)
}
