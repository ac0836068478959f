//! Programs of eBPF as stages of the pipeline: an action runs one on a packet. See README.md.

mod arithmetic;
mod atomic;
pub mod code;
pub mod error;
pub mod helper;
pub mod instruction;
pub mod map;
pub mod name;
mod programs;
pub mod run;
mod stage;
mod wire;

pub use error::EXPERIMENTER;
pub use programs::{MAX_MAP_BYTES, MAX_PROGRAMS};
pub use stage::{hook, verdict};
pub use wire::{MAX_MAPS, MapEntries, MapMod, MapRequest, Notification, ProgramMod, RunProgram};

use bofuss_oflib::Field;
use bofuss_oflib::ext::{ExtKind, ExtRow};

use crate::common::list::ValueList;

/// The extension has no fields.
pub static FIELDS: [Field; 0] = [];

/// The action that runs a program; the messages that change programs and maps; the multiparts that
/// list them; and what a program tells controllers.
pub static VALUES: [ExtRow; 6] = [
    ExtRow::typed::<RunProgram>(ExtKind::Action, EXPERIMENTER, 1, "ebpf")
        .with_error_names(error::ERRORS),
    ExtRow::typed::<ProgramMod>(ExtKind::Message, EXPERIMENTER, 1, "program_mod")
        .that_changes()
        .with_usage(
            "add|delete,name=NAME[,map0=(name=NAME,type=hash|array,key=N,value=N,entries=N)...],\
             code=HEX|object=PATH[,section=NAME]",
            "adds, replaces or deletes an eBPF program; an object of clang's has its code and maps",
        ),
    ExtRow::typed::<MapMod>(ExtKind::Message, EXPERIMENTER, 2, "map_mod")
        .that_changes()
        .with_usage(
            "set|delete,program=NAME,map=NAME,key=HEX[,data=HEX]",
            "changes a map of an eBPF program",
        ),
    ExtRow::typed::<Notification>(ExtKind::Message, EXPERIMENTER, 3, "program_notification"),
    ExtRow::typed::<ValueList<ProgramMod>>(ExtKind::Multipart, EXPERIMENTER, 1, "programs")
        .with_usage("", "prints eBPF programs as program_mod takes them"),
    ExtRow::typed::<MapEntries>(ExtKind::Multipart, EXPERIMENTER, 2, "map_entries").with_usage(
        "program=NAME,map=NAME",
        "prints a map of an eBPF program as map_mod takes it",
    ),
];

/// The index in [`VALUES`] of what a program tells controllers.
const NOTIFICATION: usize = 3;

#[cfg(test)]
mod tests;
