//! ARP-Path: packets without an entry of their own take the path that the network has explored.
//!
//! The first copy of a broadcast tells each switch the port that leads to its sender; later copies
//! are dropped, so that loops do no harm and all links are used. See README.md.

mod duplicates;
pub mod error;
pub mod frame;
mod hook;
mod machine;
mod neighbours;
mod options;
mod protocol;
mod report;
mod rules;
pub mod table;
mod waiting;
mod wire;

pub use neighbours::NeighbourKind;
pub use wire::{EntryState, PathMod, PathPortRecord, PathRecord, PathTableRecord, TableUse};

use alloc::boxed::Box;

use bofuss_datapath::Hook;
use bofuss_oflib::ext::{ExtKind, ExtRow, Listed, ValueList};
use bofuss_oflib::{Catalogue, Field};

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6170;

/// It brings no fields.
pub static FIELDS: [Field; 0] = [];

/// The row of a list that `dpctl` prints.
const fn list<T: Listed>(ty: u32, name: &'static str, help: &'static str) -> ExtRow {
    ExtRow::typed::<ValueList<T>>(ExtKind::Multipart, EXPERIMENTER, ty, name).with_usage("", help)
}

/// The action; what changes entries; and the lists of entries, ports and tables.
pub static VALUES: [ExtRow; 5] = [
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 1, "arp_path"),
    ExtRow::typed::<PathMod>(ExtKind::Message, EXPERIMENTER, 1, "arp_path_mod")
        .that_changes()
        .with_error_names(error::ERRORS)
        .with_usage(
            "pin,mac=M,port=N[,vlan=V]|delete[,mac=M][,port=N][,vlan=V]",
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
/// The places of the lists.
const ENTRIES: usize = 2;
const PORTS: usize = 3;
const TABLES: usize = 4;

/// This extension's behaviour, no host known.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(hook::ArpPath::new())
}
