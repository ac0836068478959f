//! `cargo xtask reference`: prints the pages of `docs/reference` from the catalogues.

use std::fmt::Write;
use std::path::Path;

use bofuss_datapath::DropReason;
use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::error::ERRORS;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::instruction::INSTRUCTIONS;
use bofuss_oflib::message::MESSAGES;
use bofuss_oflib::message::multipart::MULTIPARTS;
use bofuss_oflib::{Catalogue, Field};

use crate::tree;

const FOLDER: &str = "docs/reference";
/// The scenario that shows what versions see of each other: each line with `#|` is a row.
const VERSIONS: &str = "testdata/scenarios/versions.txt";

/// Writes the pages; with `check`, compares them only.
///
/// Errors: a page that differs, or a file that cannot be read or written.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let versions = ("versions.md", versions(&tree::read(&root.join(VERSIONS))?));
    for (name, text) in pages(&bofuss_ext::catalogue())
        .into_iter()
        .chain([versions])
    {
        let path = root.join(FOLDER).join(name);
        if !check {
            std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
        } else if tree::read(&path)? != text {
            return Err(format!(
                "{FOLDER}/{name} is not what the code says: run `cargo xtask reference`"
            ));
        }
    }
    Ok(())
}

/// Name and text of every page.
fn pages(catalogue: &Catalogue) -> [(&'static str, String); 5] {
    [
        ("fields.md", fields(catalogue)),
        ("actions.md", actions(catalogue)),
        ("messages.md", messages(catalogue)),
        ("errors.md", errors()),
        ("counters.md", counters()),
    ]
}

/// A page: its title, what it is about, and where its rows stand in the code.
fn page(title: &str, about: &str, source: &str) -> String {
    format!("# {title}\n\n{about} Printed by `cargo xtask reference` from `{source}`.\n")
}

/// Appends a table; `columns` and the lines of `rows` have their cells between bars.
fn table(page: &mut String, columns: &str, rows: impl Iterator<Item = String>) {
    let line = "|---".repeat(columns.matches('|').count() + 1);
    writeln!(page, "\n| {columns} |\n{line}|").expect("a string takes everything");
    rows.for_each(|row| writeln!(page, "| {row} |").expect("a string takes everything"));
}

fn fields(catalogue: &Catalogue) -> String {
    let about = "The match fields. Names are read in either case, with or without OXM_OF_; of \
        several, the first is printed. A class is an experimenter; none is OpenFlow's own.";
    let mut page = page("Fields", about, "oflib/src/field.rs");
    let columns = "names | class | number | bits | mask | set-field | needs";
    let yes = |yes| if yes { "yes" } else { "no" };
    let row = |field: &&Field| {
        let names: Vec<_> = field.aliases.iter().chain([&field.name]).collect();
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
        let (mask, set) = (yes(field.maskable), yes(field.settable));
        let (names, number, bits) = (names.join(" "), field.number, field.bits);
        format!("{names} | {class} | {number} | {bits} | {mask} | {set} | {need}")
    };
    table(&mut page, columns, catalogue.fields().iter().map(row));
    page
}

/// Rows of the extensions' values of one kind.
fn values(catalogue: &Catalogue, kind: ExtKind) -> impl Iterator<Item = String> {
    catalogue.values(kind).map(|value| {
        let args: Vec<_> = value.args.iter().map(|arg| arg.name).collect();
        let (name, experimenter, ty) = (value.name, value.experimenter, value.ty);
        format!("`{name}({})` | {experimenter:#010x} | {ty}", args.join(","))
    })
}

fn actions(catalogue: &Catalogue) -> String {
    let about = "The actions, and behind them the instructions. In an action set, actions run in \
        the order of their rank. Of several names, the first is printed.";
    let mut page = page("Actions and instructions", about, "oflib/src/action.rs");
    let row = |row: &bofuss_oflib::action::ActionRow| {
        let names: Vec<_> = [row.name].iter().chain(row.aliases).copied().collect();
        let names = names.join("` `");
        let (text, hex) = row.example;
        format!(
            "`{names}` | {} | {} | `{text}` | `{hex}`",
            row.number, row.rank
        )
    };
    table(
        &mut page,
        "names | type | rank | example | its bytes",
        ACTIONS.iter().map(row),
    );
    let columns = "extensions' actions | experimenter | type";
    table(&mut page, columns, values(catalogue, ExtKind::Action));
    let row = |(number, name, _): &(u16, &str, u8)| format!("`{name}` | {number}");
    table(
        &mut page,
        "instruction | type",
        INSTRUCTIONS.iter().map(row),
    );
    page
}

fn messages(catalogue: &Catalogue) -> String {
    let about = "The messages of OpenFlow 1.3, the multipart types, and the extensions' messages.";
    let mut page = page("Messages", about, "oflib/src/message/mod.rs");
    let row = |(number, name): &(u8, &str)| format!("`OFPT_{name}` | {number}");
    table(&mut page, "message | type", MESSAGES.iter().map(row));
    let row = |(number, name): &(u16, &str)| format!("`OFPMP_{name}` | {number}");
    table(&mut page, "multipart | type", MULTIPARTS.iter().map(row));
    let columns = "extensions' messages | experimenter | type";
    table(&mut page, columns, values(catalogue, ExtKind::Message));
    page
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

fn errors() -> String {
    let about = "The errors of OpenFlow 1.3.";
    let mut page = page("Errors", about, "oflib/src/error.rs");
    let row = |row: &bofuss_oflib::error::ErrorRow| {
        let (ty, code) = (row.error.ty, row.error.code);
        let (type_name, code_name) = (row.type_name, row.code_name);
        format!(
            "`{type_name}` | {ty} | `{code_name}` | {code} | {}",
            row.meaning
        )
    };
    table(
        &mut page,
        "type | | code | | meaning",
        ERRORS.iter().map(row),
    );
    page
}

fn counters() -> String {
    let about = "The counters of dropped packets. Each drop has one reason; a trace names it.";
    let mut page = page("Counters", about, "datapath/src/sink.rs");
    let row = |reason: &DropReason| format!("`{}` | {}", reason.name(), reason.meaning());
    table(
        &mut page,
        "dropped by the switch | meaning",
        DropReason::ALL.iter().map(row),
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
