//! The corpus of the fuzz targets for P4Runtime is replayed, as it is and spoilt.

#[path = "../../fuzz/checks/p4_messages.rs"]
mod p4_messages;
#[path = "../../fuzz/checks/p4_service.rs"]
mod p4_service;

use std::fs;
use std::path::PathBuf;

use crate::spoil::Random;

/// How often each input is spoilt.
const SPOILT: usize = 20;

/// Runs a check on each file of its corpus, and on what is almost such a file.
fn replay(name: &str, check: impl Fn(&[u8])) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let files = fs::read_dir(folder.join(name)).expect("there is a corpus");
    let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut random = Random(3);
    for path in paths {
        let bytes = fs::read(&path).expect("the file can be read");
        check(&bytes);
        for _ in 0..SPOILT {
            check(&random.spoil(&bytes));
        }
    }
}

#[test]
fn messages_survive_the_wire() {
    replay("p4_messages", p4_messages::run);
}

#[test]
fn requests_are_answered_and_the_switch_stays() {
    replay("p4_service", p4_service::run);
}
