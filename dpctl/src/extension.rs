//! Verbs of extensions: a verb for each row of the catalogue that has a usage, and the replies.

use std::sync::LazyLock;

use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::message::multipart::{ExtBody, RequestBody};
use bofuss_oflib::{Catalogue, ExtValue, Message};
use serde_json::{Map, Value, json};

use crate::Failure;
use crate::ofctl::file::each_line;
use crate::verb::{Command, Made, Make, Requests, TextStyle, Verb, ask};

/// Arguments whose value is bytes in hexadecimal: a string in JSON, even if all digits are decimal.
const BYTES: &[&str] = &["code", "data", "key", "packet"];

/// The rows of the extensions that are compiled in.
pub(crate) static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(bofuss_ext::catalogue);

/// The verbs of these rows.
pub(crate) static VERBS: LazyLock<Vec<Verb>> = LazyLock::new(|| {
    let messages = CATALOGUE.values(ExtKind::Message);
    let rows = messages.chain(CATALOGUE.values(ExtKind::Multipart));
    rows.filter_map(verb).collect()
});

/// The verb of a row, if it has a usage.
fn verb(row: &'static ExtRow) -> Option<Verb> {
    let usage = row.usage?;
    Some(Verb {
        name: row.name,
        arguments: usage.arguments,
        style: TextStyle::Extension,
        help: usage.help,
        make: Make::Row(row),
    })
}

/// The requests of a row's verb. If the verb sends a message and its only argument is a file (`-`,
/// or a path that begins with `/` or `.`), each line of the file becomes a message. Errors: what is
/// wrong in the arguments.
pub(crate) fn make(row: &'static ExtRow, command: &Command, arguments: &[&str]) -> Made {
    if row.kind == ExtKind::Multipart {
        let body = RequestBody::Experimenter(ExtBody(read(row, command, &arguments.join(" "))?));
        return ask([Message::MultipartRequest(body.into())]);
    }
    if let [file] = arguments
        && command.reads_files
        && (*file == "-" || file.starts_with(['/', '.']))
    {
        let lines = each_line(file, &[], (), |line, ()| {
            read(row, command, line).map(Message::Experimenter)
        })?;
        return Ok(Requests::Change(lines));
    }
    let value = read(row, command, &arguments.join(" "))?;
    Ok(Requests::Exchange(Message::Experimenter(value)))
}

fn read(row: &'static ExtRow, command: &Command, text: &str) -> Result<ExtValue, Failure> {
    #[cfg(feature = "elf")]
    if command.reads_files {
        let text = crate::elf::with_code(row, text)?;
        return Ok(ExtValue::parse(row, &text, &command.catalogue)?);
    }
    Ok(ExtValue::parse(row, text, &command.catalogue)?)
}

/// An extension's message as text: `notify_states(wanted=1)`. Errors: what is wrong in it.
pub(crate) fn message(command: &Command, text: &str) -> Result<ExtValue, Failure> {
    let name = text.split('(').next().unwrap_or(text);
    let mut rows = command.catalogue.values(ExtKind::Message);
    let Some(row) = rows.find(|row| row.name == name) else {
        let error = format!("'{name}' is no message of an extension");
        return Err(Failure::Usage(error));
    };
    read(row, command, inner(text))
}

/// The text between the parentheses of a value's text form.
fn inner(text: &str) -> &str {
    let inner = text.split_once('(').map_or("", |parts| parts.1);
    inner.strip_suffix(')').unwrap_or(inner)
}

/// The reply to a multipart request as text, with each item of a list on its own line.
pub(crate) fn lines(value: &ExtValue) -> String {
    let text = value.to_string();
    let inner = inner(&text);
    match inside(inner, '[', ']') {
        Some(list) => list_items(list).map(|item| format!("{item}\n")).collect(),
        None => format!("{inner}\n"),
    }
}

/// A value as JSON, derived from its text form: `a=1,b` becomes the object `{"a": 1, "b": true}`,
/// and `[a; b]` a list.
pub(crate) fn json(value: &ExtValue) -> Value {
    let text = value.to_string();
    json!({"name": value.row.name, "value": of_text(inner(&text))})
}

/// The items of a list, without its brackets.
fn list_items(list: &str) -> impl Iterator<Item = &str> {
    let items = pieces(list, ';').into_iter().map(str::trim);
    items.filter(|item| !item.is_empty())
}

fn of_text(text: &str) -> Value {
    if let Some(list) = inside(text, '[', ']') {
        return list_items(list).map(of_text).collect();
    }
    if let Some(inner) = inside(text, '{', '}').or_else(|| inside(text, '(', ')')) {
        return of_text(inner);
    }
    let pairs: Option<Map<String, Value>> = pieces(text, ',').into_iter().map(pair).collect();
    if let Some(pairs) = pairs
        && text.contains('=')
    {
        return Value::Object(pairs);
    }
    match text.parse::<u64>() {
        Ok(number) => number.into(),
        Err(_) => text.into(),
    }
}

fn pair(text: &str) -> Option<(String, Value)> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) if BYTES.contains(&name) && !value.starts_with('(') => {
            (name, value.into())
        }
        Some((name, value)) => (name, of_text(value)),
        None => (text, true.into()),
    };
    let is_pair = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_pair.then(|| (name.into(), value))
}

/// The text between an opening bracket at the start and a closing one at the end, if these two are
/// a pair.
fn inside(text: &str, open: char, close: char) -> Option<&str> {
    let inner = text.strip_prefix(open)?.strip_suffix(close)?;
    let mut depth = 0;
    for c in inner.chars() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
        if depth < 0 {
            return None;
        }
    }
    (depth == 0).then_some(inner)
}

/// Splits a text at each `mark` that is outside of brackets.
fn pieces(text: &str, mark: char) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if c == mark && depth == 0 {
            found.push(&text[start..at]);
            start = at + c.len_utf8();
        }
    }
    found.push(&text[start..]);
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bofuss_oflib::ext::Arg;
    use bofuss_oflib::wire::Bytes;

    use super::*;
    use crate::verbs::requests;

    static ROWS: [ExtRow; 3] = [
        ExtRow::new(ExtKind::Message, 77, 1, "paint")
            .with_args(&[Arg::new("table", 1), Arg::new("colour", 4)])
            .with_usage("table=N,colour=N", "colours a table"),
        ExtRow::new(ExtKind::Multipart, 77, 1, "colours")
            .with_args(&[Arg::new("table", 1)])
            .with_usage("[table=N]", "the colours"),
        ExtRow::new(ExtKind::Message, 77, 2, "painted"),
    ];

    #[test]
    fn a_message_without_a_usage_is_read_by_its_name() {
        let mut catalogue = Catalogue::default();
        catalogue.add("paint", &[], &ROWS).expect("it is the first");
        let command = Command {
            strict: false,
            html: None,
            reads_files: true,
            catalogue: Arc::new(catalogue),
        };
        let painted = message(&command, "painted()").expect("it is a row");
        assert_eq!(
            painted,
            ExtValue::new(&ROWS[2], Vec::new(), Bytes::default())
        );
        for (wrong, wanted) in [
            ("colours()", "'colours' is no message of an extension"),
            ("painted(table=1)", "painted has no argument 'table'"),
        ] {
            let Err(Failure::Usage(error)) = message(&command, wrong) else {
                panic!("{wrong} is wrong")
            };
            assert_eq!(error, wanted);
        }
    }

    #[test]
    fn a_row_with_a_usage_is_a_verb_and_its_arguments_are_the_rows() {
        let mut catalogue = Catalogue::default();
        catalogue.add("paint", &[], &ROWS).expect("it is the first");
        let command = Command {
            strict: false,
            html: None,
            reads_files: true,
            catalogue: Arc::new(catalogue),
        };
        assert!(verb(&ROWS[2]).is_none());
        let paint = verb(&ROWS[0]).expect("it has a usage");
        assert_eq!((paint.name, paint.arguments), ("paint", "table=N,colour=N"));
        let made = requests(&paint, &command, &["table=3,colour=7"]);
        let Ok(Requests::Exchange(Message::Experimenter(value))) = made else {
            panic!("it is a message")
        };
        assert_eq!(value.args, [3, 7]);
        assert_eq!(
            json(&value),
            json!({"name": "paint", "value": {"table": 3, "colour": 7}})
        );
        let colours = verb(&ROWS[1]).expect("it has a usage");
        let made = requests(&colours, &command, &[]);
        assert!(matches!(made, Ok(Requests::Ask(list)) if list.len() == 1));
        let Err(Failure::Usage(error)) = requests(&paint, &command, &["size=3"]) else {
            panic!("it has no size")
        };
        assert_eq!(error, "paint: paint has no argument 'size'");
    }

    #[test]
    fn a_text_form_is_an_object_a_list_or_a_word() {
        let cases = [
            ("", json!("")),
            ("7", json!(7)),
            ("a=1,b=x", json!({"a": 1, "b": "x"})),
            ("a={b=1,c=2}", json!({"a": {"b": 1, "c": 2}})),
            (
                "states=[key=0a,state=1; key=0b,state=2]",
                json!({"states": [{"key": "0a", "state": 1}, {"key": "0b", "state": 2}]}),
            ),
            ("[]", json!([])),
            ("key=0100,id=10", json!({"key": "0100", "id": 10})),
            (
                "add,key=(a=1,b=x)",
                json!({"add": true, "key": {"a": 1, "b": "x"}}),
            ),
            ("set_state(a=1),b", json!("set_state(a=1),b")),
            ("a=out(1,2),b=3", json!({"a": "out(1,2)", "b": 3})),
        ];
        for (text, wanted) in cases {
            assert_eq!(of_text(text), wanted, "{text}");
        }
    }
}
