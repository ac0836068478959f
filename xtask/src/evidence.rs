//! Finds the specification's section about a message, and the tests that cite a section or use a
//! name.

use std::path::{Path, PathBuf};

use crate::source::is_word;
use crate::tree;

/// The sections of OpenFlow 1.3.5 about each message and multipart type.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    ("OFPT_HELLO", "7.5.1"),
    ("OFPT_ERROR", "7.4.4"),
    ("OFPT_ECHO_REQUEST", "7.5.2"),
    ("OFPT_ECHO_REPLY", "7.5.3"),
    ("OFPT_EXPERIMENTER", "7.5.4"),
    ("OFPT_FEATURES", "7.3.1"),
    ("OFPT_GET_CONFIG", "7.3.2"),
    ("OFPT_SET_CONFIG", "7.3.2"),
    ("OFPT_PACKET_IN", "7.4.1"),
    ("OFPT_FLOW_REMOVED", "7.4.2"),
    ("OFPT_PORT_STATUS", "7.4.3"),
    ("OFPT_PACKET_OUT", "7.3.7"),
    ("OFPT_FLOW_MOD", "7.3.4.1"),
    ("OFPT_GROUP_MOD", "7.3.4.2"),
    ("OFPT_PORT_MOD", "7.3.4.3"),
    ("OFPT_TABLE_MOD", "7.3.3"),
    ("OFPT_MULTIPART", "7.3.5"),
    ("OFPT_BARRIER", "7.3.8"),
    ("OFPT_QUEUE_GET_CONFIG", "7.3.6"),
    ("OFPT_ROLE", "7.3.9"),
    ("OFPT_GET_ASYNC", "7.3.10"),
    ("OFPT_SET_ASYNC", "7.3.10"),
    ("OFPT_METER_MOD", "7.3.4.4"),
    ("OFPMP_DESC", "7.3.5.1"),
    ("OFPMP_FLOW", "7.3.5.2"),
    ("OFPMP_AGGREGATE", "7.3.5.3"),
    ("OFPMP_TABLE_FEATURES", "7.3.5.5"),
    ("OFPMP_TABLE", "7.3.5.4"),
    ("OFPMP_PORT_DESC", "7.3.5.7"),
    ("OFPMP_PORT_STATS", "7.3.5.6"),
    ("OFPMP_QUEUE", "7.3.5.8"),
    ("OFPMP_GROUP_DESC", "7.3.5.10"),
    ("OFPMP_GROUP_FEATURES", "7.3.5.11"),
    ("OFPMP_GROUP", "7.3.5.9"),
    ("OFPMP_METER_CONFIG", "7.3.5.13"),
    ("OFPMP_METER_FEATURES", "7.3.5.14"),
    ("OFPMP_METER", "7.3.5.12"),
    ("OFPMP_EXPERIMENTER", "7.3.5.15"),
];

/// The sections of chapters 5 and 6 that say what a switch does.
pub(crate) const CHAPTERS: &[(&str, &str)] = &[
    ("5.1", "Pipeline processing"),
    ("5.2", "Flow table"),
    ("5.3", "Matching"),
    ("5.4", "Table-miss"),
    ("5.5", "Flow removal"),
    ("5.6", "Group table"),
    ("5.6.1", "Group types"),
    ("5.7", "Meter table"),
    ("5.7.1", "Meter bands"),
    ("5.8", "Counters"),
    ("5.9", "Instructions"),
    ("5.10", "Action set"),
    ("5.11", "Action list"),
    ("5.12", "Actions"),
    ("5.12.1", "Default values for fields on push"),
    ("6.2", "Message handling"),
    ("6.3.1", "Connection setup"),
    ("6.3.2", "Connection maintenance"),
    ("6.3.3", "Connection interruption"),
    ("6.3.4", "Encryption"),
    ("6.3.5", "Multiple controllers"),
    ("6.3.6", "Auxiliary connections"),
    ("6.4", "Flow table modification messages"),
    ("6.5", "Group table modification messages"),
    ("6.6", "Meter modification messages"),
];

/// What versions other than 1.3 have of their own: the version, the section of its text, and the
/// item.
pub(crate) const OTHERS: &[(&str, &str, &str)] = &[
    (
        "1.1.0",
        "4.6",
        "An add begins to count at zero, a modify may add",
    ),
    ("1.1.0", "A.2.3", "Match of fields at fixed places"),
    ("1.1.0", "A.2.5", "An action for each field that is set"),
    (
        "1.1.0",
        "A.3.2",
        "Configuration asks for packets with an invalid TTL",
    ),
    ("1.1.0", "A.3.3", "A table says what becomes of a miss"),
    (
        "1.2",
        "A.3.2",
        "Configuration asks for packets with an invalid TTL",
    ),
    ("1.2", "A.3.3", "A table says what becomes of a miss"),
    ("1.2", "A.3.9", "Roles, with generations"),
    ("1.4.1", "5.5", "Eviction"),
    ("1.4.1", "6.8", "Bundles"),
    ("1.4.1", "7.3.4.1", "Eviction and vacancy of a table"),
    ("1.4.1", "7.3.5.17", "FLOW_MONITOR"),
    ("1.4.1", "7.3.9", "BUNDLE_CONTROL, BUNDLE_ADD_MESSAGE"),
    (
        "1.4.1",
        "7.3.10",
        "Asynchronous configuration as properties",
    ),
    ("1.4.1", "7.4.5", "TABLE_STATUS"),
    ("1.4.1", "7.4.6", "REQUESTFORWARD"),
    ("1.5.1", "5.1.1", "Egress tables"),
    ("1.5.1", "6.3.5", "CONTROLLER_STATUS and short ids"),
    ("1.5.1", "7.2.3.11", "Packet types"),
    ("1.5.1", "7.2.4", "Statistics as lists of fields"),
    ("1.5.1", "7.2.5", "Statistics triggers"),
    ("1.5.1", "7.3.5.22", "BUNDLE_FEATURES"),
    ("1.5.1", "7.3.6", "PACKET_OUT with a match"),
];

/// The errors that this switch has no reason to send, and why.
pub(crate) const NEVER: &[(&str, &str)] = &[
    (
        "HELLO_FAILED/EPERM",
        "the transport decides who may connect",
    ),
    ("BAD_ACTION/EPERM", "no action is forbidden to a controller"),
    ("BAD_ACTION/UNSUPPORTED_ORDER", "every order is carried out"),
    (
        "BAD_ACTION/BAD_TAG",
        "a tag of an unknown type is BAD_ARGUMENT",
    ),
    (
        "BAD_INSTRUCTION/EPERM",
        "no instruction is forbidden to a controller",
    ),
    ("BAD_MATCH/BAD_TAG", "every tag is understood"),
    ("BAD_MATCH/EPERM", "no match is forbidden to a controller"),
    (
        "FLOW_MOD_FAILED/EPERM",
        "no entry is forbidden to a controller",
    ),
    (
        "GROUP_MOD_FAILED/WEIGHT_UNSUPPORTED",
        "weights are supported",
    ),
    (
        "GROUP_MOD_FAILED/CHAINING_UNSUPPORTED",
        "groups may forward to groups",
    ),
    (
        "GROUP_MOD_FAILED/EPERM",
        "no group is forbidden to a controller",
    ),
    (
        "TABLE_MOD_FAILED/EPERM",
        "no table is forbidden to a controller",
    ),
    ("SWITCH_CONFIG_FAILED/BAD_LEN", "every length can be kept"),
    (
        "SWITCH_CONFIG_FAILED/EPERM",
        "no configuration is forbidden to a controller",
    ),
    ("ROLE_REQUEST_FAILED/UNSUP", "every role is supported"),
    (
        "METER_MOD_FAILED/UNKNOWN",
        "every failure has a more specific code",
    ),
    ("METER_MOD_FAILED/BAD_BURST", "every burst can be kept"),
    (
        "TABLE_FEATURES_FAILED/EPERM",
        "no table is forbidden to a controller",
    ),
    (
        "BAD_REQUEST/MULTIPART_REQUEST_TIMEOUT",
        "a request that is not finished waits as long as its connection lasts",
    ),
    (
        "BAD_REQUEST/MULTIPART_BAD_SCHED",
        "of a tolerance that is too long, the longest is taken",
    ),
    (
        "TABLE_FEATURES_FAILED/BAD_MAX_ENT",
        "a table takes less than it is asked to, and says so",
    ),
    (
        "BAD_REQUEST/UNKNOWN",
        "every failure has a more specific code",
    ),
    (
        "FLOW_MOD_FAILED/IS_SYNC",
        "no table is synchronised with another",
    ),
    (
        "ROLE_REQUEST_FAILED/ID_UNSUP",
        "a controller may change its short id",
    ),
    (
        "FLOW_MOD_FAILED/CANT_SYNC",
        "no table is synchronised with another",
    ),
    (
        "FLOW_MOD_FAILED/BAD_PRIORITY",
        "every priority is supported",
    ),
    ("BAD_PROPERTY/TOO_MANY", "a list may fill its message"),
    (
        "BAD_PROPERTY/BAD_EXP_TYPE",
        "no experimenter has properties",
    ),
    (
        "BAD_PROPERTY/BAD_EXP_VALUE",
        "no experimenter has properties",
    ),
    (
        "BAD_PROPERTY/EPERM",
        "no property is forbidden to a controller",
    ),
    (
        "ASYNC_CONFIG_FAILED/UNSUPPORTED",
        "every reason is supported",
    ),
    (
        "ASYNC_CONFIG_FAILED/EPERM",
        "no message is forbidden to a controller",
    ),
    (
        "FLOW_MONITOR_FAILED/UNKNOWN",
        "every failure has a more specific code",
    ),
    (
        "BUNDLE_FAILED/UNKNOWN",
        "every failure has a more specific code",
    ),
    (
        "BUNDLE_FAILED/EPERM",
        "no bundle is forbidden to a controller",
    ),
    (
        "BUNDLE_FAILED/BUNDLE_EXIST",
        "to open a bundle that exists is BAD_ID",
    ),
    (
        "BUNDLE_FAILED/MSG_CONFLICT",
        "every message goes together with others",
    ),
];

/// The section about a message.
pub(crate) fn section(name: &str) -> &'static str {
    let found = SECTIONS.iter().find(|(start, _)| name.starts_with(start));
    found.map_or("", |(_, section)| section)
}

/// The texts of all tests, by their path from the root.
pub(crate) struct Tests(Vec<(PathBuf, String)>);

impl Tests {
    /// Reads the tests under `root`. Vectors come first, because they change least.
    ///
    /// Errors: a file that cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut files = Vec::new();
        for place in tree::files(root)? {
            let data = place.starts_with("testdata") && tree::is(&place, "txt");
            if !data && !tree::is(&place, "rs") {
                continue;
            }
            let text = tree::read(&root.join(&place))?;
            let mut parts = place.components().map(|part| part.as_os_str());
            if data || parts.any(|part| part == "tests" || part == "tests.rs") {
                files.push((place, text));
            } else if let Some((_, tests)) = text.split_once("#[cfg(test)]") {
                files.push((place, tests.to_string()));
            }
        }
        files.sort_by_key(|(place, _)| {
            let rank = ["testdata/vectors", "testdata", "tests"]
                .iter()
                .position(|folder| place.starts_with(folder));
            (rank.unwrap_or(usize::MAX), place.clone())
        });
        Ok(Self(files))
    }

    /// All files that name a section, as a table cell; `None` if there is none.
    pub(crate) fn about(&self, section: &str) -> Option<String> {
        self.places(|text| names(text, section))
    }

    /// The same for a section of another version's text: one line has to name version and section.
    pub(crate) fn about_in(&self, version: &str, section: &str) -> Option<String> {
        let version = format!("OpenFlow {version} ");
        self.places(|text| {
            let mut lines = text.lines().filter(|line| line.contains(&version));
            lines.any(|line| names(line, section))
        })
    }

    /// The files whose text is meant, as a table cell; `None` if there is none.
    fn places(&self, is_meant: impl Fn(&str) -> bool) -> Option<String> {
        let found = self.0.iter().filter(|(_, text)| is_meant(text));
        let cells: Vec<_> = found
            .map(|(place, _)| format!("`{}`", place.display()))
            .collect();
        (!cells.is_empty()).then(|| cells.join(" "))
    }

    /// The first file with one of these words, as a table cell; `None` if there is none.
    pub(crate) fn of(&self, words: &[&str]) -> Option<String> {
        first_with(words, self.0.iter())
    }

    /// The same, but vectors come last: they show how a message is written, not when it is sent.
    pub(crate) fn provoking(&self, words: &[&str]) -> Option<String> {
        let all = self.0.iter();
        let others = all.filter(|(place, _)| !place.starts_with("testdata/vectors"));
        first_with(words, others).or_else(|| self.of(words))
    }
}

/// The first of some files with one of these words, as a table cell.
fn first_with<'a>(
    words: &[&str],
    mut files: impl Iterator<Item = &'a (PathBuf, String)>,
) -> Option<String> {
    let found = files.find(|(_, text)| words.iter().any(|word| holds(text, word)));
    found.map(|(place, _)| format!("`{}`", place.display()))
}

/// Whether a comment of a test names a section.
fn names(text: &str, section: &str) -> bool {
    let comments = text
        .lines()
        .filter(|line| line.contains("//") || line.starts_with('#'));
    let mut hits =
        comments.flat_map(|line| line.match_indices(section).map(move |hit| (line, hit.0)));
    hits.any(|(line, at)| {
        let before = line[..at].chars().next_back();
        let mut after = line[at + section.len()..].chars();
        let next = after.next();
        let then = after.next();
        let inside = is_digit(next) || next == Some('.') && is_digit(then);
        !inside && !is_digit(before) && before != Some('.')
    })
}

fn is_digit(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_digit())
}

/// Whether a text has a word, and not only as a part of another.
fn holds(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}
