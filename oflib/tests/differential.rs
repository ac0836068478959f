//! Two codecs that we did not write read our messages as we do, and we theirs: os-ken's and
//! scapy's.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bofuss_oflib::action::{ACTIONS, ActionRow};
use bofuss_oflib::field::{FIELDS, TCP_FLAGS};
use bofuss_oflib::message::multipart::table_features::TableFeatureSet;
use bofuss_oflib::wire::{Reader, Wire};
use bofuss_oflib::{Action, Codec, EncodeError, Message, Version};

use crate::common::generate::messages;
use crate::common::{codec_of, digits, from_root, hex};

/// The highest action type of the specification but the experimenters': POP_PBB.
const LAST_ACTION: u16 = 27;
/// The highest message types of OpenFlow 1.2 to 1.5: ROLE_REPLY, METER_MOD, BUNDLE_ADD_MESSAGE and
/// CONTROLLER_STATUS.
const LAST_MESSAGES: [u8; 4] = [25, 29, 34, 35];
/// The highest multipart types of OpenFlow 1.2 to 1.5 but the experimenters': GROUP_FEATURES,
/// PORT_DESC, FLOW_MONITOR, which they know since 1.4 alone, and CONTROLLER_STATUS.
const LAST_MULTIPARTS: [u16; 4] = [8, 13, 16, 18];

/// A message in our debug form, as the other codecs see it: without what only other versions have,
/// and without the number that the features of a table have in its statistics, once more.
fn debug_form(message: &Message, version: Version) -> String {
    let features = format!(", features: {:?}", TableFeatureSet::default());
    let mut debug = format!("{message:?}");
    for of_other_versions in [
        &features,
        ", actions: 0, ports: []",
        ", miss: TableMiss(0)",
        ", eviction: None",
        ", vacancy: None",
        ", optical: None",
        ", experimenters: []",
        ", experimenters_slave: []",
        ", omitted: AsyncMasks(0)",
        ", role_status: 0, role_status_slave: 0, table_status: 0, table_status_slave: 0, \
         request_forward: 0, request_forward_slave: 0",
    ] {
        debug = debug.replace(of_other_versions, "");
    }
    if !version.has_stat_lists() {
        debug = without_1_5(debug);
    }
    if !version.has_bundles() {
        debug = debug.replace(", importance: 0", "");
    }
    const FEATURES: &str = "features: TableFeatureSet { ";
    const TABLE: &str = "table_id: TableId(";
    for (at, _) in debug.clone().rmatch_indices(&[FEATURES, TABLE].concat()) {
        let number = at + FEATURES.len();
        let length = debug[number..].find(", ").expect("other fields follow") + 2;
        debug.replace_range(number..number + length, "");
    }
    debug
}

/// A message in our debug form without what 1.5 brought.
fn without_1_5(mut debug: String) -> String {
    for newer in [
        ", idle_time: None",
        ", short_id: 0",
        ", features: MeterFeatureFlags(0)",
        ", command: TableFeaturesCommand(0), features: TableFeatureFlags(0)",
        ", pipeline_input: None, pipeline_output: None, recirculate: None",
        ", flow_stats: 0, flow_stats_slave: 0, controller_status: 0, controller_status_slave: 0",
        ", command_bucket_id: BucketId(4294967295)",
        "GroupDescRequest { group_id: GroupId(4294967292) }",
        "PortDescRequest { port_no: PortNo(4294967295) }",
    ] {
        debug = debug.replace(newer, "");
    }
    const BUCKET: &str = ", bucket_id: BucketId(";
    while let Some(at) = debug.find(BUCKET) {
        let length = debug[at..].find(')').expect("it is closed") + 1;
        debug.replace_range(at..at + length, "");
    }
    debug
}

/// The Python that has both, if it is there. Panics: if it is not, where nothing may be skipped.
fn python() -> Option<PathBuf> {
    let given = std::env::var_os("BOFUSS_PYTHON").map(PathBuf::from);
    let python = given.unwrap_or_else(|| from_root("target/venv/bin/python"));
    let works = Command::new(&python)
        .args(["-c", "import os_ken, scapy"])
        .stderr(Stdio::null())
        .status();
    let works = works.is_ok_and(|status| status.success());
    assert!(
        works || std::env::var_os("CI").is_none(),
        "no os-ken and scapy in {python:?}"
    );
    works.then_some(python)
}

/// Returns what a script prints for a verb and an input.
fn run(python: &PathBuf, script: &str, verb: &str, version: Version, input: String) -> String {
    let mut child = Command::new(python)
        .arg(from_root("oflib/tests").join(script))
        .args([verb, &version.to_string().replace('.', "_")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("python ends");
    assert!(
        output.status.success(),
        "{script} {verb}: {}",
        output.status
    );
    writer
        .join()
        .expect("the writer ends")
        .expect("python reads all");
    String::from_utf8(output.stdout).expect("the script prints text")
}

/// The words that the other two cannot know, as they stand in our debug form: experimenters'
/// values, and rows behind those of the specification.
fn unknown_to_them(codec: &Codec) -> Vec<String> {
    let fields = FIELDS.iter().skip(usize::from(TCP_FLAGS.id) + 1);
    let actions = ACTIONS.iter().filter(|row| row.number > LAST_ACTION);
    let actions = actions.filter(|row| row.versions.has(codec.version));
    let usual = codec_of(Version::USUAL);
    let variant = |row: &ActionRow| {
        let bytes = hex(row.example.1);
        // An example may be the form that older versions have of it.
        let action = [codec, &usual].map(|codec| Action::decode(&mut Reader::new(codec, &bytes)));
        let action = action.into_iter().find_map(Result::ok).expect(row.name);
        let debug = format!("{action:?}");
        debug.split('(').next().expect("it has a name").to_string()
    };
    let names = ["Experimenter", "Unknown(", "color=", "Timestamp"]
        .map(String::from)
        .into_iter();
    names
        .chain(fields.map(|field| format!("{}=", field.name)))
        .chain(actions.map(variant))
        .collect()
}

#[test]
fn other_codecs_read_as_we_do() {
    reads_as_we_do(Version::V1_3, &[1_500, 1_500]);
}

#[test]
fn another_codec_reads_1_2_as_we_do() {
    reads_as_we_do(Version::V1_2, &[1_000]);
}

#[test]
fn another_codec_reads_1_4_as_we_do() {
    reads_as_we_do(Version::V1_4, &[1_500]);
}

#[test]
fn another_codec_reads_1_5_as_we_do() {
    reads_as_we_do(Version::V1_5, &[1_500]);
}

/// Compares with os-ken and, in 1.3, scapy; each reads more than `least` messages.
fn reads_as_we_do(version: Version, least: &[usize]) {
    let Some(python) = python() else {
        eprintln!("skipped: no os-ken and scapy here; xtask/setup.sh venv installs them");
        return;
    };
    let codec = codec_of(version);
    let mut lines = String::new();
    let unknown_to_them = unknown_to_them(&codec);
    for (xid, message) in messages(6, &codec).take(4_000) {
        let mut bytes = Vec::new();
        match codec.encode(xid, &message, &mut bytes) {
            Ok(()) => {}
            Err(EncodeError::Unsupported(_)) if version == Version::V1_2 => continue,
            Err(error) => panic!("{message}: {error}"),
        }
        // As it is read again, without what has no place in 1.2.
        let (_, message) = codec.decode(&bytes).expect("what is written can be read");
        let debug = debug_form(&message, version);
        let multipart = match &message {
            Message::MultipartRequest(request) => request.body.number(),
            Message::MultipartReply(reply) => reply.body.number(),
            _ => 0,
        };
        let column = usize::from(version.number() - Version::V1_2.number());
        let newer =
            message.type_number() > LAST_MESSAGES[column] || multipart > LAST_MULTIPARTS[column];
        // Names that are not plain are compared by nobody: each has its own way to print them.
        let strange = !debug.is_ascii() || debug.contains('\\');
        let unknown = unknown_to_them.iter().any(|name| debug.contains(name));
        if newer || strange || unknown {
            continue;
        }
        lines += &format!("{}\t{debug}\n", digits(&bytes));
    }
    compare(&python, "differential.py", &codec, lines, least);
}

#[test]
fn other_codecs_read_1_0_as_we_do() {
    let Some(python) = python() else {
        eprintln!("skipped: no os-ken and scapy here; xtask/setup.sh venv installs them");
        return;
    };
    let codec = codec_of(Version::V1_0);
    let mut lines = String::new();
    for (xid, message) in messages(8, &codec).take(12_000) {
        let mut bytes = Vec::new();
        if codec.encode(xid, &message, &mut bytes).is_err() {
            continue;
        }
        // As it is read again, without what has no place in 1.0.
        let (_, message) = codec.decode(&bytes).expect("what is written can be read");
        let debug = debug_form(&message, Version::V1_0);
        let strange = !debug.is_ascii() || debug.contains('\\');
        let vendors = debug.replace("Experimenter(tag_vlan())", "");
        let of_vendors = ["Experimenter", "FlowMonitor"];
        let unknown =
            of_vendors.iter().any(|name| vendors.contains(name)) || debug.contains("Role");
        // Of several queues' statistics scapy reads those of the first.
        let several_queues = debug.matches("QueueStats {").count() > 1;
        if !strange && !unknown && !several_queues {
            lines += &format!("{}\t{debug}\n", digits(&bytes));
        }
    }
    compare(&python, "openflow10.py", &codec, lines, &[1_000, 1_000]);
}

/// Has a script compare its codecs with ours on these messages and its own. Panics: if they differ,
/// or if one of them read no more than `least` says of it.
fn compare(python: &PathBuf, script: &str, codec: &Codec, mut lines: String, least: &[usize]) {
    for made in run(python, script, "make", codec.version, String::new()).lines() {
        let bytes = hex(made);
        let (xid, message) = codec
            .decode(&bytes)
            .unwrap_or_else(|e| panic!("{made}: {e}"));
        let mut again = Vec::new();
        codec
            .encode(xid, &message, &mut again)
            .expect("short enough");
        assert_eq!(digits(&again), made, "{message}");
        lines += &format!("{made}\t{}\n", debug_form(&message, codec.version));
    }
    let printed = run(python, script, "check", codec.version, lines);
    let (found, counts) = printed
        .trim_end()
        .rsplit_once('\n')
        .unwrap_or(("", &printed));
    assert!(found.is_empty(), "{found}");
    let counts: Vec<usize> = counts
        .split(' ')
        .filter_map(|n| n.trim().parse().ok())
        .collect();
    assert!(
        counts.iter().zip(least).all(|(count, least)| count > least),
        "too few were read: {counts:?}"
    );
}
