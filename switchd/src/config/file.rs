//! Options as TOML: the file, which the command line overrides, and the line of an error in it.

use std::path::Path;

use bofuss_channel::{read_text, shortened};
use bofuss_oflib::text::nearest;
use toml::{Table, Value};

use super::Options;
use crate::error::{Error, Result, context};

/// The options as a file would have them.
pub fn table(options: &Options) -> Table {
    Table::try_from(options).expect("options are strings, numbers, booleans and lists of these")
}

/// The bytes of the longest line that an error quotes.
const MAX_QUOTED_BYTES: usize = 200;

/// Options in one line: what `ofprotocol` sends to a switch, and what a record has.
pub fn to_line(options: &Options) -> String {
    Value::Table(table(options)).to_string()
}

/// Reads such a line. Errors: what is wrong in it.
pub fn from_line(line: &str) -> Result<Options> {
    let wrong = |error: toml::de::Error| {
        let example = "{ controller = [\"tcp:192.0.2.1\"] }";
        Error::from(format!(
            "options are as {example}: {}",
            short_error(error.message())
        ))
    };
    let table: Value = toml::from_str(&format!("line = {line}")).map_err(wrong)?;
    let options = table.get("line").cloned().unwrap_or(table);
    options.try_into().map_err(wrong)
}

/// Options of a table as a file has it. Errors: what is wrong in it.
pub fn from_table(table: Table) -> Result<Options> {
    let options = table.try_into();
    options.map_err(|error: toml::de::Error| short_error(error.message()).into())
}

/// The parser's error; if it is about an unknown key, only with the nearest of the many that it
/// lists.
fn short_error(error: &str) -> String {
    let Some((unknown, expected)) = error.split_once(", expected one of ") else {
        return error.into();
    };
    let Some(name) = unknown.split('`').nth(1) else {
        return error.into();
    };
    unknown_key(name, expected.split('`').skip(1).step_by(2))
}

/// The error of an unknown key, with the nearest of those that there are.
pub fn unknown_key<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(&name.replace('_', "-"), known) {
        None => format!("unknown key '{name}'; bofuss.toml(5) lists the keys"),
        Some(near) => format!("unknown key '{name}'; did you mean '{near}'?"),
    }
}

/// Keys of the whole process, which a `[[switch]]` may not have.
pub const OF_ALL: &[&str] = &["log", "lock-down", "metrics"];

/// Reads a file. Returns the checked options of each switch, to which the keys for all are added,
/// and the file's text.
///
/// Errors: what is wrong in the file, and in which line.
pub fn read(path: &Path) -> Result<(Vec<Options>, String)> {
    let text = read_text(path).map_err(context(path.display()))?;
    let switches = checked(path, &text).map_err(|error| error.map(shortened))?;
    Ok((switches, text))
}

/// The options in a file's text, unchecked. Errors: what is wrong, with the line and, unless it is
/// long, its text.
pub fn parsed(text: &str) -> Result<Options> {
    let wrong = |error: toml::de::Error| {
        let short = shortened(short_error(error.message()));
        let whole = error.to_string();
        let mut lines = whole.lines();
        if lines.clone().any(|line| line.len() > MAX_QUOTED_BYTES) {
            return format!("{}: {short}", lines.next().unwrap_or_default());
        }
        whole.replace(error.message(), &short).trim_end().into()
    };
    Ok(toml::from_str(text).map_err(wrong)?)
}

/// The checked options of each switch in a file's text. Errors: as [`read`], of any length.
fn checked(path: &Path, text: &str) -> Result<Vec<Options>> {
    let all = parsed(text).map_err(context(path.display()))?;
    let located = |at| move |error: Error| error.map(|wrong| in_file(path, text, at, &wrong));
    for (at, own) in all.switches.iter().enumerate() {
        only_own_keys(own).map_err(located(at))?;
    }
    let switches = each(all);
    for (at, switch) in switches.iter().enumerate() {
        let checked = switch.clone().check();
        checked.map_err(located(at))?;
    }
    Ok(switches)
}

/// Checks that one of several switches has no key of the whole process. Errors: the key, and why
/// not.
fn only_own_keys(own: &Options) -> Result<()> {
    if let Some((key, _)) = given_keys(own).find(|(key, _)| OF_ALL.contains(&&**key)) {
        return Err(format!(
            "{key}: it is for all switches, so it belongs before the first [[switch]]"
        )
        .into());
    }
    if !own.switches.is_empty() {
        return Err("switch: a [[switch]] has no switches of its own".into());
    }
    Ok(())
}

/// The switches that a file's options describe, each with the keys for all.
pub fn each(mut all: Options) -> Vec<Options> {
    match std::mem::take(&mut all.switches) {
        none if none.is_empty() => vec![all],
        several => several.iter().map(|own| over(own, &all)).collect(),
    }
}

/// The keys that are given, and their values.
fn given_keys(options: &Options) -> impl Iterator<Item = (String, Value)> {
    let keys = table(options).into_iter();
    keys.filter(|(_, value)| match value {
        Value::Boolean(is_set) => *is_set,
        Value::Array(list) => !list.is_empty(),
        Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Datetime(_)
        | Value::Table(_) => true,
    })
}

/// Merges options: what is given in `given` overrides `file`.
pub fn over(given: &Options, file: &Options) -> Options {
    let mut keys = table(file);
    keys.extend(given_keys(given));
    let merged: Result<Options, _> = keys.try_into();
    Options {
        config: given.config.clone(),
        replace: given.replace,
        ..merged.expect("each value has the type of its key")
    }
}

/// Adds the file and the line to an error that begins with an option, as `--port 0=x: ...`. `text`
/// is the file's, and `at` the number of the switch. The line is that of the wrong value if it is
/// found, or else that of the key.
pub fn in_file(path: &Path, text: &str, at: usize, error: &str) -> String {
    let path = path.display();
    let error = error.trim_start_matches('-');
    match line_of(text, at, error) {
        Some(line) => format!("{path}, line {}: {error}", line + 1),
        None => format!("{path}: {error}"),
    }
}

/// The line that an error of the switch number `at` is about; the switch's heading if none sets the
/// key that the error begins with.
fn line_of(text: &str, at: usize, error: &str) -> Option<usize> {
    let (key, rest) = error.split_once([' ', ':']).unwrap_or((error, ""));
    let lines: Vec<&str> = text.lines().collect();
    let headings: Vec<usize> = (0..lines.len())
        .filter(|number| lines[*number].trim_start().starts_with("[[switch]]"))
        .collect();
    let heading = headings.get(at).copied();
    // The switch's own lines, and then those of all.
    let own = heading.map(|heading| heading..headings.get(at + 1).copied().unwrap_or(lines.len()));
    let common = 0..headings.first().copied().unwrap_or(lines.len());
    for part in own.into_iter().chain([common]) {
        let mut numbers = part.clone();
        if let Some(first) = numbers.find(|number| key_of(lines[*number]) == Some(key)) {
            return Some(first + wrong_line(&lines[first..part.end], rest));
        }
    }
    heading
}

/// The key that a line sets.
fn key_of(line: &str) -> Option<&str> {
    line.split_once('=').map(|(key, _)| key.trim())
}

/// Finds the line with the wrong value among `lines`, the first of which sets the key. A list may
/// have its values in the lines after it, in quotes; the longest that `error` names is the wrong
/// one. If it names none, it is the first line.
fn wrong_line(lines: &[&str], error: &str) -> usize {
    let mut wrong = 0;
    let mut longest = 0;
    for (number, line) in lines.iter().enumerate() {
        let next_key = key_of(line).filter(|key| !key.contains(['\'', '"', '#']));
        if number > 0 && next_key.is_some() {
            break;
        }
        let values = line.split(['\'', '"']).skip(1).step_by(2);
        let named = values.filter(|value| error.contains(value));
        if let Some(length) = named.map(str::len).max()
            && length >= longest
        {
            wrong = number;
            longest = length;
        }
    }
    wrong
}
