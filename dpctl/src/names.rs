//! Names of ports: asks a switch for them, and puts them into JSON and the texts of traces.

use std::io::IsTerminal;

use bofuss_channel::ActiveAddress;
use bofuss_ext::trace::Trace;
use bofuss_oflib::PortNo;
use serde_json::{Value, json};

use crate::ofctl::wording::PortNames;
use crate::verbs::{Command, Requests, TextStyle, Verb};
use crate::{Cli, ofctl, talk};

/// The keys whose value is a port.
const PORT_KEYS: &[&str] = &["in_phy_port", "in_port", "port", "port_no", "watch_port"];
/// The keys whose value is a text of fields, actions or instructions, or a list of these.
const TEXT_KEYS: &[&str] = &[
    "actions",
    "fields",
    "instructions",
    "is",
    "match",
    "text",
    "wanted",
];
/// What precedes a port in such a text.
const MARKS: &[&str] = &["in_phy_port=", "in_port=", "output:"];
/// A description of a port has this key. It keeps the number, as it has the name already.
const DESCRIPTION_KEY: &str = "hw_addr";

/// Whether ports are printed by name: on a terminal, as for ovs-ofctl, unless the options say
/// otherwise. JSON has names only if `--names` is given.
pub(crate) fn are_wanted(cli: &Cli) -> bool {
    cli.names || (!cli.no_names && !cli.json && std::io::stdout().is_terminal())
}

/// Whether the replies to these requests are printed with the names of ports. The text of the
/// original's verbs has numbers.
pub(crate) fn are_printed(cli: &Cli, verb: &Verb, requests: &Requests) -> bool {
    let has_ports = match requests {
        Requests::Ask(_) | Requests::First(..) | Requests::Answered(..) => {
            cli.json || verb.style == TextStyle::Ofctl || verb.name == "trace"
        }
        Requests::Monitor(_) | Requests::Watch { .. } => true,
        Requests::Change(_)
        | Requests::Ping { .. }
        | Requests::Exchange(_)
        | Requests::Snoop
        | Requests::Status(_)
        | Requests::Replace(_)
        | Requests::Compare(_)
        | Requests::Text(_) => false,
    };
    has_ports && are_wanted(cli)
}

/// The names of a switch's ports; `None` if there is no switch, or if it does not report them.
pub(crate) async fn of_switch(
    cli: &Cli,
    command: &Command,
    verb: &'static Verb,
    address: Option<ActiveAddress>,
) -> Option<Vec<(String, PortNo)>> {
    let mut talk = talk(cli, &address?, command, verb).await.ok()?;
    let reply = talk.request(&ofctl::port_question()).await.ok()?;
    let ports = ofctl::ports_in(reply).into_iter();
    Some(
        ports
            .map(|port| (port.name.0.to_string(), port.port_no))
            .collect(),
    )
}

/// A trace with its ports by name.
pub(crate) fn in_trace(trace: &Trace, names: &PortNames) -> Trace {
    let mut value = json!(trace);
    put(&mut value, names);
    serde_json::from_value(value).expect("names change no more than the texts of a trace")
}

/// Replaces the numbers of ports in JSON by names, quoted as `dump-flows --names` quotes them.
pub(crate) fn put(value: &mut Value, names: &PortNames) {
    put_at("", value, names);
}

/// The same in the value of a key, or in each of a list's.
fn put_at(key: &str, value: &mut Value, names: &PortNames) {
    match value {
        Value::Array(list) => {
            for one in list {
                put_at(key, one, names);
            }
        }
        Value::Object(map) if map.contains_key(DESCRIPTION_KEY) => {}
        Value::Object(map) => {
            for (key, one) in map {
                put_at(key, one, names);
            }
        }
        Value::String(text) if PORT_KEYS.contains(&key) => *text = port(text, names),
        Value::String(text) if TEXT_KEYS.contains(&key) => *text = in_text(text, names),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The name of the port with this number; other texts stay as they are.
fn port(text: &str, names: &PortNames) -> String {
    match text.parse() {
        Ok(number) => names.text(PortNo(number)),
        Err(_) => text.into(),
    }
}

/// A text of fields or actions with its ports by name.
fn in_text(text: &str, names: &PortNames) -> String {
    let mut named = String::new();
    let mut rest = text;
    while let Some(start) = next_port(rest) {
        let (before, after) = rest.split_at(start);
        let end = after
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.len());
        named += before;
        named += &port(&after[..end], names);
        rest = &after[end..];
    }
    named + rest
}

/// Where the next port of a text begins. A mark is a whole word, not the end of a longer one.
fn next_port(text: &str) -> Option<usize> {
    let marks = MARKS.iter().flat_map(|mark| text.match_indices(mark));
    let ends = marks.filter_map(|(start, mark)| {
        let before = text[..start].chars().next_back();
        let is_word = before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_');
        is_word.then_some(start + mark.len())
    });
    ends.min()
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::message::PortDesc;

    use super::*;

    fn names() -> PortNames {
        let row = |number, name: &str| PortDesc {
            port_no: PortNo(number),
            name: name.into(),
            ..PortDesc::default()
        };
        PortNames::of(&[row(1, "s1-eth1"), row(12, "wan")])
    }

    #[test]
    fn only_ports_of_a_text_get_names() {
        for (text, wanted) in [
            ("in_port=1,tcp", "in_port=\"s1-eth1\",tcp"),
            (
                "apply_actions(output:12,output:1)",
                "apply_actions(output:wan,output:\"s1-eth1\")",
            ),
            (
                "key=(in_port=12,vlan_vid=0x1)",
                "key=(in_port=wan,vlan_vid=0x1)",
            ),
            ("in_port=2,output:LOCAL", "in_port=2,output:LOCAL"),
            (
                "the_in_port=1,outputs:1,group:1",
                "the_in_port=1,outputs:1,group:1",
            ),
            ("output:", "output:"),
            ("output:99999999999", "output:99999999999"),
        ] {
            assert_eq!(in_text(text, &names()), wanted);
        }
    }

    #[test]
    fn only_keys_that_hold_ports_get_names() {
        let mut value = json!({
            "port": "1", "queue": "1", "data": "in_port=1", "match": {"in_port": "12"},
            "ports": [{"port_no": "1", "hw_addr": "02:00:00:00:00:01", "name": "s1-eth1"}],
            "actions": ["output:12", "group:1"], "watch_port": "ANY", "table_id": 1,
        });
        put(&mut value, &names());
        let wanted = json!({
            "port": "\"s1-eth1\"", "queue": "1", "data": "in_port=1", "match": {"in_port": "wan"},
            "ports": [{"port_no": "1", "hw_addr": "02:00:00:00:00:01", "name": "s1-eth1"}],
            "actions": ["output:wan", "group:1"], "watch_port": "ANY", "table_id": 1,
        });
        assert_eq!(value, wanted);
    }
}
