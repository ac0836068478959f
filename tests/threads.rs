//! What tests ask a switch whose packets are forwarded by several threads.

use std::process::Command;

use bofuss_tests::{Lab, printed, program, run};
use serde_json::Value;

/// Sends a command to a switch. Returns whether it succeeded, and what it prints.
pub fn ctl(lab: &Lab, words: &[&str]) -> (bool, String) {
    let mut bofuss = Command::new(program("bofuss"));
    let output = run(bofuss.args(["ctl", &lab.name]).args(words));
    (output.status.success(), printed(&output))
}

/// What the switch says of its workers.
pub fn standing(lab: &Lab) -> Value {
    let (done, said) = ctl(lab, &["workers", "--json"]);
    assert!(done, "{said}");
    serde_json::from_str(&said).unwrap()
}

/// The frames that each worker has received.
pub fn packets(lab: &Lab) -> Vec<u64> {
    let standing = standing(lab);
    let packets = standing["packets"].as_array().unwrap();
    packets
        .iter()
        .map(|count| count.as_u64().unwrap())
        .collect()
}

/// The `n_packets` of the first entry that `dump-flows` shows for a match.
pub fn counted(lab: &Lab, matching: &str) -> u64 {
    let text = lab.asks(&["dump-flows", matching]);
    let word = text
        .split([' ', ','])
        .find_map(|word| word.strip_prefix("n_packets="));
    word.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}
