//! Options as text: the TOML file, the command line over it, and where in the file an error is.

use std::fmt;
use std::path::Path;

use toml::{Table, Value};

use super::Options;

/// The options as a file would have them.
pub fn table(options: &Options) -> Table {
    Table::try_from(options).expect("options are strings, numbers, booleans and lists of these")
}

/// Options in one line, as a program tells them to another.
pub fn to_line(options: &Options) -> String {
    Value::Table(table(options)).to_string()
}

/// Reads such a line. Errors: what is wrong in it.
pub fn from_line(line: &str) -> Result<Options, String> {
    let table: Value = toml::from_str(&format!("line = {line}")).map_err(|e| e.to_string())?;
    let options = table.get("line").cloned().unwrap_or(table);
    options.try_into().map_err(|error| error.to_string())
}

/// Keys of the whole process, which no switch of several has for itself.
pub const OF_ALL: &[&str] = &["log", "lock-down", "metrics"];

/// The switches of a file, each of which is right and has the keys of all, and the file's text.
///
/// Errors: what is wrong in the file, and in which line.
pub fn read(path: &Path) -> Result<(Vec<Options>, String), String> {
    let named = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    let all: Options = toml::from_str(&text).map_err(|error| named(&error))?;
    for (at, own) in all.switches.iter().enumerate() {
        let located = |error: String| Err(in_file(path, &text, at, &error));
        if let Some((key, _)) = said(own).find(|(key, _)| OF_ALL.contains(&&**key)) {
            let place = "it is of all switches, and stands before the first [[switch]]";
            return located(format!("{key}: {place}"));
        }
        if !own.switches.is_empty() {
            return located("switch: a switch has no switches".into());
        }
    }
    let switches = each(all);
    for (at, switch) in switches.iter().enumerate() {
        let checked = switch.clone().check();
        checked.map_err(|error| in_file(path, &text, at, &error))?;
    }
    Ok((switches, text))
}

/// The switches that a file's options describe, each with the keys of all.
pub fn each(mut all: Options) -> Vec<Options> {
    match std::mem::take(&mut all.switches) {
        none if none.is_empty() => vec![all],
        several => several.iter().map(|own| over(own, &all)).collect(),
    }
}

/// The keys that are given, and their values.
fn said(options: &Options) -> impl Iterator<Item = (String, Value)> {
    let keys = table(options).into_iter();
    keys.filter(|(_, value)| match value {
        Value::Boolean(is_set) => *is_set,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    })
}

/// The options that count first, and those of `file` that they do not have.
pub fn over(given: &Options, file: &Options) -> Options {
    let mut keys = table(file);
    keys.extend(said(given));
    let merged: Result<Options, _> = keys.try_into();
    Options {
        config: given.config.clone(),
        ..merged.expect("each value has the type of its key")
    }
}

/// Turns a sentence that begins with an option, as `--port 0=x: ...`, into one about the line of
/// `text` that sets it for the switch number `at`: the one with the wrong value, as far as it can
/// be found.
pub fn in_file(path: &Path, text: &str, at: usize, error: &str) -> String {
    let path = path.display();
    let error = error.trim_start_matches('-');
    let (key, rest) = error.split_once([' ', ':']).unwrap_or((error, ""));
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |number: &usize| lines[*number].trim_start().starts_with("[[switch]]");
    let mut heads = (0..lines.len()).filter(is_head).skip(at);
    let head = heads.next();
    // The switch's own lines, and then those of all.
    let own = head.map(|head| head..heads.next().unwrap_or(lines.len()));
    let first = (0..lines.len()).find(is_head).unwrap_or(lines.len());
    let key_of = |number: usize| lines[number].split_once('=').map(|(key, _)| key.trim());
    for part in [own, Some(0..first)].into_iter().flatten() {
        let Some(first) = part.clone().find(|number| key_of(*number) == Some(key)) else {
            continue;
        };
        // A list may have its values in lines of their own, in quotes: the longest told of.
        let told = |number: &usize| {
            let values = lines[*number].split(['\'', '"']).skip(1).step_by(2);
            let told = values.filter(|value| rest.contains(value));
            told.map(str::len).max()
        };
        let is_other = |number: usize| {
            key_of(number).is_some_and(|key| !key.contains(['\'', '"', '#'])) && number != first
        };
        let list = (first..part.end).take_while(|number| !is_other(*number));
        let wrong = list.max_by_key(told);
        let line = wrong.filter(|number| told(number).is_some());
        return format!("{path}, line {}: {error}", line.unwrap_or(first) + 1);
    }
    match head {
        Some(head) => format!("{path}, line {}: {error}", head + 1),
        None => format!("{path}: {error}"),
    }
}
