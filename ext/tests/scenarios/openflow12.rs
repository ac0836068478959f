//! The scenarios of 1.3 over OpenFlow 1.2, and what differs.

use super::*;

/// The scenarios that differ in 1.2 by more than [`in_1_2`] says: in how many lines, and what they
/// use that 1.2 does not have.
const DIFFERENT_IN_1_2: &[(&str, usize, &str)] = &[
    ("actions.txt", 2, "push_pbb"),
    ("arp_path.txt", 3, "meters"),
    ("async.txt", 15, "SET_ASYNC"),
    ("auxiliary.txt", 3, "auxiliary connections, PORT_DESC"),
    ("copy_field.txt", 30, "copy_field"),
    ("d6_one_meter_is_asked_for_of_three.txt", 5, "meters"),
    ("d11_no_packet_leaves_with_ttl_0.txt", 2, "SET_ASYNC"),
    ("d13_port_status_has_a_mask_of_its_own.txt", 1, "SET_ASYNC"),
    (
        "d14_a_slave_gets_the_packet_ins_that_it_asked_for.txt",
        2,
        "SET_ASYNC",
    ),
    ("d15_no_packet_in_is_honoured.txt", 1, "table-miss entries"),
    ("flow_mods.txt", 1, "meters"),
    ("flow_mod_text.txt", 5, "flags of entries"),
    ("fragments.txt", 5, "meters"),
    ("groups.txt", 1, "types of actions"),
    ("masked_set_field.txt", 21, "set_field with masks"),
    ("meters.txt", 94, "meters"),
    ("packet_in.txt", 3, "table-miss entries, SET_ASYNC"),
    ("packet_registers.txt", 20, "packet registers"),
    ("profile.txt", 8, "TABLE_FEATURES"),
    ("reconfigure.txt", 5, "TABLE_FEATURES"),
    ("requests.txt", 4, "SET_ASYNC, TABLE_FEATURES, PORT_DESC"),
    (
        "roles.txt",
        8,
        "SET_ASYNC, TABLE_FEATURES, PORT_DESC, TABLE_MOD, meters",
    ),
    ("table_features.txt", 57, "TABLE_FEATURES"),
];

#[test]
fn scenarios_of_1_3_play_in_1_2() {
    play_in(Version::V1_2, DIFFERENT_IN_1_2);
}

/// Plays the scenarios of 1.3 in another version. Panics: if other lines differ than `rows` say.
pub(super) fn play_in(version: Version, rows: &[(&str, usize, &str)]) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/scenarios");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let names_a_version = |line: &str| {
            line.starts_with("connect ")
                && Version::ALL
                    .iter()
                    .any(|v| *v != Version::V1_3 && line.ends_with(&format!(" {v}")))
        };
        // The match of 1.1 has no room for configured fields.
        let has_fields = text.lines().any(|line| line.starts_with("set field "));
        if text.lines().any(names_a_version) || version == Version::V1_1 && has_fields {
            continue;
        }
        let mut failures = Vec::new();
        play(Engine::Cache, version, &name, &text, &mut failures);
        let row = rows.iter().find(|row| row.0 == name);
        if failures.len() != row.map_or(0, |row| row.1) {
            let all = failures.join("\n\n");
            wrong.push(format!("{name}: {} lines differ\n{all}", failures.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What an effect is for a connection that speaks 1.2: it is told no cookies of packets, no flags
/// of entries and no durations of ports, queues and groups; it has no table-miss entry; and
/// FEATURES_REPLY lists the ports.
pub(super) fn in_1_2(effect: &str) -> String {
    let replaced = |text: &str, key: &str, value: &str| {
        let Some((before, rest)) = text.split_once(key) else {
            return text.to_string();
        };
        let after = rest.find(' ').map_or("", |at| &rest[at..]);
        format!("{before}{key}{value}{after}")
    };
    let mut words = effect.split(' ').skip(1);
    match words.next() {
        Some("packet-in") => {
            let effect = replaced(effect, " cookie=", "0xffffffffffffffff");
            effect.replace("reason=NO_MATCH", "reason=ACTION")
        }
        Some("flow") => replaced(effect, " flags=", "0x0"),
        Some("queue-stats") => replaced(effect, " after=", "0.000s"),
        Some("group") => replaced(effect, " after=", "0s"),
        Some("FEATURES_REPLY") => format!("{effect} tables=4 ports=1,2,3,4"),
        _ => effect.into(),
    }
}
