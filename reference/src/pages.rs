//! The pages of `docs/reference`, from the catalogues, the tests that cite them, and a scenario.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::path::Path;

use bofuss_datapath::DropReason;
use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::error::{ERRORS, EXPERIMENTER_ERROR_TYPE, ErrorRow};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::instruction::INSTRUCTIONS;
use bofuss_oflib::message::multipart::MULTIPARTS;
use bofuss_oflib::message::{ErrorMsg, MESSAGES};
use bofuss_oflib::{Catalogue, Codec, ErrorCode, Field, HEADER_BYTES, Message, Version};

use crate::evidence::{CITED, Tests, section};
use crate::tree::read;

/// The scenario that shows what versions see of each other. Its lines with `#|` are rows of the
/// page.
const VERSIONS: &str = "testdata/scenarios/versions.txt";
/// The vectors with the types of 1.0's messages.
const OLD_VECTORS: &str = "testdata/vectors/openflow10.txt";

/// The name and text of each page.
///
/// Errors: an OpenFlow error that neither a test provokes nor `evidence.toml` explains; a section
/// that no test names; a file that cannot be read.
pub(crate) fn all() -> Result<[(&'static str, String); 7], String> {
    let catalogue = &bofuss_ext::catalogue();
    let tests = &Tests::read()?;
    let old = old_types(&read(Path::new(OLD_VECTORS))?);
    Ok([
        ("fields.md", fields(catalogue, tests)),
        ("actions.md", actions(catalogue, tests)),
        ("messages.md", messages(catalogue, tests, &old)),
        ("errors.md", errors(catalogue, tests)?),
        ("sections.md", sections(tests)?),
        ("counters.md", counters()),
        ("versions.md", versions(&read(Path::new(VERSIONS))?)),
    ])
}

/// The head of a page: title, subject, and the file that has its rows.
fn page(title: &str, about: &str, source: &str) -> String {
    format!("# {title}\n\n{about} Printed by `cargo xtask reference` from `{source}`.\n")
}

/// Appends a table; `columns` and each of `rows` have their cells separated by bars.
fn table(page: &mut String, columns: &str, rows: impl Iterator<Item = String>) {
    let line = "|---".repeat(columns.matches('|').count() + 1);
    writeln!(page, "\n| {columns} |\n{line}|").expect("a string takes everything");
    rows.for_each(|row| writeln!(page, "| {row} |").expect("a string takes everything"));
}

fn fields(catalogue: &Catalogue, tests: &Tests) -> String {
    let about = "The match fields. Names are read in either case, with or without OXM_OF_; of \
        several, the first is printed. A class is an experimenter; none is OpenFlow's own. \
        Spec: 7.2.3.7.";
    let mut page = page("Fields", about, "oflib/src/field.rs");
    let columns = "names | class | number | since | bits | mask | set-field | needs | test";
    let rows = catalogue.fields().iter();
    table(
        &mut page,
        columns,
        rows.map(|field| field_row(field, catalogue, tests)),
    );
    page
}

fn field_row(field: &Field, catalogue: &Catalogue, tests: &Tests) -> String {
    let names: Vec<_> = field.aliases.iter().chain([&field.name]).copied().collect();
    let test = tests.of(&names).unwrap_or_default();
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let class = match field.experimenter {
        0 => String::new(),
        class => format!("{class:#010x}"),
    };
    let need = field.need.map_or(String::new(), |need| {
        let other = catalogue.fields()[usize::from(need.id)].shown();
        let values: Vec<_> = need.any_of.iter().map(|v| format!("{v:#x}")).collect();
        match need.mask {
            0 => format!("`{other}`"),
            _ => format!("`{other}` {}", values.join(" or ")),
        }
    });
    let mask = yes_or_no(field.maskable);
    let set = yes_or_no(field.settable);
    let names = names.join(" ");
    let number = field.number;
    let bits = field.bits;
    let since = field.versions.since;
    format!("{names} | {class} | {number} | {since} | {bits} | {mask} | {set} | {need} | {test}")
}

fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// The rows of the extensions' values of one kind.
fn values(catalogue: &Catalogue, kind: ExtKind) -> impl Iterator<Item = String> {
    catalogue.values(kind).map(|value| {
        let args: Vec<_> = value.args.iter().map(|arg| arg.name).collect();
        let name = value.name;
        let experimenter = value.experimenter;
        let ty = value.ty;
        format!("`{name}({})` | {experimenter:#010x} | {ty}", args.join(","))
    })
}

fn actions(catalogue: &Catalogue, tests: &Tests) -> String {
    let about = "The actions, and behind them the instructions. In an action set, actions run in \
        the order of their rank. Of several names, the first is printed. Spec: 7.2.4, 7.2.5. The \
        README of an extension's folder in `ext/src` has the layout of what it brings.";
    let mut page = page("Actions and instructions", about, "oflib/src/action.rs");
    table(
        &mut page,
        "names | type | since | rank | example | its bytes | test",
        ACTIONS.iter().map(|row| {
            let names: Vec<_> = [row.name].iter().chain(row.aliases).copied().collect();
            let test = tests.of(&names).unwrap_or_default();
            let names = names.join("` `");
            let (text, hex) = row.example;
            format!(
                "`{names}` | {} | {} | {} | `{text}` | `{hex}` | {test}",
                row.number, row.versions.since, row.rank
            )
        }),
    );
    let columns = "extensions' actions | experimenter | type";
    table(&mut page, columns, values(catalogue, ExtKind::Action));
    table(
        &mut page,
        "instruction | type | since | test",
        INSTRUCTIONS.iter().map(|row| {
            let name = row.name;
            let number = row.number;
            let since = row.versions.since;
            let test = tests.of(&[name]).unwrap_or_default();
            format!("`{name}` | {number} | {since} | {test}")
        }),
    );
    let columns = "extensions' instructions | experimenter | type";
    table(&mut page, columns, values(catalogue, ExtKind::Instruction));
    page
}

/// The types of messages and statistics in 1.0, by name, from the first vector of each: the byte
/// after the version, and for statistics the two bytes after the header.
fn old_types(vectors: &str) -> BTreeMap<String, String> {
    let mut types = BTreeMap::new();
    let mut lines = vectors.lines().peekable();
    while let Some(line) = lines.next() {
        let digits: String = match lines.peek() {
            Some(hex) if line.starts_with("OFPT_") => hex.split_whitespace().collect(),
            Some(_) | None => continue,
        };
        let mut words = line.split([':', ' ']).filter(|word| !word.is_empty());
        let name = words.next().unwrap_or_default();
        let ty = number(&digits, 1, 1);
        types.entry(name.into()).or_insert(ty);
        if let Some(multipart) = words.next().filter(|word| word.starts_with("OFPMP_")) {
            let ty = number(&digits, HEADER_BYTES, 2);
            types.entry(multipart.into()).or_insert(ty);
        }
    }
    types
}

/// Reads hexadecimal digits: the number in the `bytes` bytes from byte `at` on, as decimal text;
/// empty if there are fewer.
fn number(digits: &str, at: usize, bytes: usize) -> String {
    let part = digits.get(2 * at..2 * (at + bytes)).unwrap_or_default();
    u16::from_str_radix(part, 16).map_or(String::new(), |number| number.to_string())
}

fn messages(catalogue: &Catalogue, tests: &Tests, old: &BTreeMap<String, String>) -> String {
    let about = "The messages of OpenFlow 1.3, the multipart types, and the extensions' messages; \
        and the types in 1.0, where role messages and flow monitors are Nicira's, a vendor's.";
    let mut page = page("Messages", about, "oflib/src/message/mod.rs");
    let mut rows = Vec::new();
    for (number, name, versions) in MESSAGES {
        let name = format!("OFPT_{name}");
        rows.push(evidence_row(&name, number, versions.since, tests, old));
    }
    table(
        &mut page,
        "message | type | since | in 1.0 | section | test",
        rows.into_iter(),
    );
    let mut multiparts = Vec::new();
    for (number, name, versions) in MULTIPARTS {
        let name = format!("OFPMP_{name}");
        multiparts.push(evidence_row(&name, number, versions.since, tests, old));
    }
    table(
        &mut page,
        "multipart | type | since | in 1.0 | section | test",
        multiparts.into_iter(),
    );
    let columns = "extensions' messages | experimenter | type";
    table(&mut page, columns, values(catalogue, ExtKind::Message));
    page
}

/// The row of a message or multipart: among others its type in 1.0, the specification's section,
/// and a test.
fn evidence_row(
    name: &str,
    number: impl Display,
    since: Version,
    tests: &Tests,
    old: &BTreeMap<String, String>,
) -> String {
    let test = tests.of(&[name]).unwrap_or_default();
    let old_type = old.get(name).map_or("", String::as_str);
    let section = section(name);
    format!("`{name}` | {number} | {since} | {old_type} | {section} | {test}")
}

fn versions(scenario: &str) -> String {
    let about = "What a connection that speaks one version sees, and may change, of what one of \
        the other made. Both are on the same switch at the same time; what a row says is shown by \
        the lines below it in the scenario.";
    let mut page = page("Versions side by side", about, VERSIONS);
    let columns = "what was made | in | the other sees | the other may change";
    let rows = scenario.lines().filter_map(|line| line.strip_prefix("#| "));
    table(&mut page, columns, rows.map(str::to_string));
    page
}

/// Type and code of an error in 1.0, as its codec writes them.
fn in_1_0(error: ErrorCode) -> String {
    let codec = Codec::new(Version::V1_0, Catalogue::default().into());
    let message = ErrorMsg::quoting(error, &[]);
    let mut bytes = Vec::new();
    let written = codec.encode(0, &Message::Error(message), &mut bytes);
    written.expect("an error is short");
    let body = &bytes[HEADER_BYTES..];
    let ty = u16::from_be_bytes([body[0], body[1]]);
    let code = u16::from_be_bytes([body[2], body[3]]);
    format!("{ty}/{code}")
}

fn errors(catalogue: &Catalogue, tests: &Tests) -> Result<String, String> {
    let about = "The errors of OpenFlow 1.0 to 1.5 (7.4.4 of 1.3.5, 7.5.4 of 1.4.1 and 1.5.1), \
        each with the version that brought it, a test that provokes it or the reason why the \
        switch never sends it, and the type and code that stand for it in 1.0.";
    let mut page = page("Errors", about, "oflib/src/error.rs");
    let mut rows = Vec::new();
    for row in ERRORS {
        let ty = row.error.ty;
        let code = row.error.code;
        let type_name = row.type_name;
        let code_name = row.code_name;
        let name = format!("{type_name}/{code_name}");
        let constant = format!("{}::{code_name}", camel(type_name));
        let never = CITED.never.iter().find(|[never, _]| *never == name);
        let shown = match (tests.provoking(&[&name, &constant]), never) {
            (Some(test), None) => test,
            (None, Some([_, why])) => format!("never: {why}"),
            (Some(test), Some(_)) => {
                return Err(format!("{name} is never sent, but {test} has it"));
            }
            (None, None) => return Err(format!("no test provokes {name}")),
        };
        let meaning = row.meaning;
        let old = in_1_0(row.error);
        let since = row.versions.since;
        rows.push(format!(
            "`{type_name}` | {ty} | `{code_name}` | {code} | {since} | {old} | {meaning} | {shown}"
        ));
    }
    table(
        &mut page,
        "type | | code | | since | in 1.0 | meaning | test",
        rows.into_iter(),
    );
    let ty = EXPERIMENTER_ERROR_TYPE;
    page += &format!(
        "\n## Of extensions\n\nTheir type is {ty}, with the experimenter's id. \
         Printed from their rows.\n"
    );
    table(
        &mut page,
        "extension | experimenter | | code | meaning",
        catalogue.error_names().map(extension_error),
    );
    Ok(page)
}

/// The row of an extension's error.
fn extension_error(row: &ErrorRow) -> String {
    let extension = row.type_name;
    let experimenter = row.error.experimenter;
    let name = row.code_name;
    let code = row.error.code;
    let meaning = row.meaning;
    format!("`{extension}` | {experimenter:#x} | `{name}` | {code} | {meaning}")
}

fn sections(tests: &Tests) -> Result<String, String> {
    let about = "The sections of OpenFlow 1.3.5 that say what a switch does, each with its tests. \
        Chapter 7 stands in the other pages.";
    let mut page = page("Sections", about, "reference/evidence.toml");
    let mut rows = Vec::new();
    for [section, title] in &CITED.chapters {
        let tests = tests
            .about(section)
            .ok_or_else(|| format!("no test names section {section}"))?;
        rows.push(format!("{section} | {title} | {tests}"));
    }
    table(&mut page, "section | title | tests", rows.into_iter());
    page += "\n## What other versions have\n\nA section without a test that names it says so.\n";
    let mut others = Vec::new();
    for [version, section, item] in &CITED.others {
        let tests = tests
            .about_in(version, section)
            .unwrap_or_else(|| "no test names it".into());
        others.push(format!("{version}, {section} | {item} | {tests}"));
    }
    table(&mut page, "section | item | tests", others.into_iter());
    Ok(page)
}

/// `BAD_REQUEST` as `BadRequest`.
fn camel(name: &str) -> String {
    name.split('_')
        .map(|word| word[..1].to_string() + &word[1..].to_lowercase())
        .collect()
}

fn counters() -> String {
    let about = "The counters of dropped packets. Each drop has one reason; a trace names it.";
    let mut page = page("Counters", about, "datapath/src/sink.rs");
    table(
        &mut page,
        "dropped by the switch | meaning",
        DropReason::ALL
            .iter()
            .map(|reason| format!("`{}` | {}", reason.name(), reason.meaning())),
    );
    let ports = bofuss_ports::Counters::default();
    let names: Vec<_> = ports.drops().map(|(name, _)| name).collect();
    table(
        &mut page,
        "dropped by a port",
        names.iter().map(|name| format!("`{name}`")),
    );
    page
}
