//! `make interop`: libraries that we did not write read everything that a switch says.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use bofuss_oflib::Version;
use bofuss_tests::{Lab, have};

mod drive;
mod entries;
mod errors;
mod events;
mod floodlight;
#[path = "../pcap.rs"]
mod pcap;
mod readers;
mod script;
mod table;

/// The port on which the switch listens.
const PORT: u16 = 16790;

#[test]
#[ignore = "it needs Java, and libraries that Maven fetches: make interop"]
fn others_read_everything_that_a_switch_says() {
    if !have(&["ip", "java", "tshark"]) {
        return;
    }
    let mut table = table::Table::default();
    for version in Version::SPOKEN.iter().copied() {
        println!("OpenFlow {version}: the switch says all that it can");
        let listen = format!("ptcp:{PORT}");
        let lab = Lab::new(
            3,
            &[
                &["--fail-mode", "secure", "--listen", &listen][..],
                &["--max-entries", "200", "--queue", "2:1:min=100,max=200"],
                &["--inactivity-probe", "1"],
            ]
            .concat(),
        );
        let session = script::everything(&lab, PORT, version);
        assert_eq!(session.missing(), Vec::<String>::new(), "{version}");
        table.read(version, &session.told);
    }
    println!("{table}");
    assert_eq!(table.faults(), BTreeSet::new());
}
