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

/// A file's options, which are right, and its text.
///
/// Errors: what is wrong in the file, and in which line.
pub fn read(path: &Path) -> Result<(Options, String), String> {
    let named = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    let options: Options = toml::from_str(&text).map_err(|error| named(&error))?;
    match options.clone().check() {
        Ok(_) => Ok((options, text)),
        Err(error) => Err(in_file(path, &text, &error)),
    }
}

/// The options of the command line, and those of the file that it does not have.
pub fn over(given: &Options, file: &Options) -> Options {
    let said = |(_, value): &(String, Value)| match value {
        Value::Boolean(is_set) => *is_set,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    let mut keys = table(file);
    keys.extend(table(given).into_iter().filter(said));
    let merged: Result<Options, _> = keys.try_into();
    Options {
        config: given.config.clone(),
        ..merged.expect("each value has the type of its key")
    }
}

/// Turns a sentence that begins with an option, as `--port 0=x: ...`, into one about the line of
/// `text` that sets it: the one with the wrong value, as far as it can be found.
pub fn in_file(path: &Path, text: &str, error: &str) -> String {
    let path = path.display();
    let (option, rest) = error.split_once([' ', ':']).unwrap_or((error, ""));
    let key = option.trim_start_matches('-');
    let key_of = |line: &'_ str| line.split_once('=').map(|(key, _)| key.trim().to_string());
    let sets = |line: &str| key_of(line).is_some_and(|known| known == key);
    let Some(first) = text.lines().position(sets) else {
        return format!("{path}: {}", error.trim_start_matches('-'));
    };
    // A list may have its values in lines of their own, in quotes: the longest that is told of.
    let told = |line: &str| {
        let values = line.split(['\'', '"']).skip(1).step_by(2);
        values.filter(|v| rest.contains(v)).map(str::len).max()
    };
    let is_other = |line: &str| key_of(line).is_some_and(|key| !key.contains(['\'', '"', '#']));
    let lines = text.lines().enumerate().skip(first);
    let lines = lines.take_while(|(at, line)| *at == first || !is_other(line));
    let wrong = lines.max_by_key(|(_, line)| told(line));
    let at = wrong
        .filter(|(_, line)| told(line).is_some())
        .map_or(first, |(at, _)| at);
    format!("{path}, line {}: {}", at + 1, error.trim_start_matches('-'))
}
