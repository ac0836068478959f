//! Ports by name, in traces and in other texts of fields and actions.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};

use bofuss_oflib::PortNo;
use bofuss_oflib::message::PortDesc;

use super::{LostEntry, Stage, Trace, TraceEvent};

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
/// The marks before a port in such a text.
const MARKS: &[&str] = &["in_phy_port=", "in_port=", "output:"];

/// The names of a switch's ports; ports without a name are printed by number.
#[derive(Clone, Debug, Default)]
pub struct PortNames(BTreeMap<PortNo, String>);

impl PortNames {
    /// No port has a name.
    pub const NONE: Self = Self(BTreeMap::new());

    /// The names of these ports. A name that two ports share is left out, as is one that cannot be
    /// quoted.
    pub fn of<'a>(ports: impl Iterator<Item = &'a PortDesc> + Clone) -> Self {
        let mut names = BTreeMap::new();
        for port in ports.clone() {
            let name: &str = &port.name.0;
            let sharers = ports.clone().filter(|other| *other.name.0 == *name).count();
            let can_be_quoted = !name.contains(|c: char| c == '"' || c == '\\' || c.is_control());
            if port.port_no.name().is_none() && sharers == 1 && !name.is_empty() && can_be_quoted {
                names.insert(port.port_no, quoted(name));
            }
        }
        Self(names)
    }

    /// A port's name, or its number or reserved name.
    pub fn text(&self, port: PortNo) -> String {
        match self.0.get(&port) {
            Some(name) => name.clone(),
            None => port.to_string(),
        }
    }

    /// The name of a port.
    pub fn get(&self, port: PortNo) -> Option<&str> {
        self.0.get(&port).map(String::as_str)
    }

    /// Replaces port numbers by names in the value of a JSON key, if that is a port, or a text of
    /// fields or actions. Values of other keys stay as they are.
    pub fn put(&self, key: &str, value: &mut String) {
        if PORT_KEYS.contains(&key) {
            *value = self.port(value);
        } else if TEXT_KEYS.contains(&key) {
            *value = self.in_text(value);
        }
    }

    /// The name of the port with this number; other texts stay as they are.
    fn port(&self, text: &str) -> String {
        match text.parse() {
            Ok(number) => self.text(PortNo(number)),
            Err(_) => text.into(),
        }
    }

    /// A text of fields or actions with its ports by name.
    fn in_text(&self, text: &str) -> String {
        let mut named = String::new();
        let mut rest = text;
        while let Some(start) = next_port(rest) {
            let (before, after) = rest.split_at(start);
            let end = after
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(after.len());
            named += before;
            named += &self.port(&after[..end]);
            rest = &after[end..];
        }
        named + rest
    }

    fn put_events(&self, events: &mut [TraceEvent]) {
        for event in events {
            match event {
                TraceEvent::Instruction { text }
                | TraceEvent::Action { text }
                | TraceEvent::Normal { text } => self.put("text", text),
                TraceEvent::Reported { text, facts, .. } => {
                    self.put("text", text);
                    for (key, value) in facts {
                        self.put(key, value);
                    }
                }
                TraceEvent::Queue { port, .. } | TraceEvent::Egress { port } => {
                    self.put("port", port)
                }
                TraceEvent::In(frame) | TraceEvent::Out(frame) => {
                    self.put("port", &mut frame.port);
                }
                TraceEvent::Fragment
                | TraceEvent::Bucket { .. }
                | TraceEvent::Meter { .. }
                | TraceEvent::PacketIn { .. }
                | TraceEvent::Drop { .. } => {}
            }
        }
    }

    fn put_stage(&self, stage: &mut Stage) {
        self.put("fields", &mut stage.fields);
        self.put_events(&mut stage.before);
        self.put_events(&mut stage.events);
        if let Some(won) = &mut stage.won {
            self.put("match", &mut won.fields);
        }
        for LostEntry {
            fields, differs, ..
        } in &mut stage.lost
        {
            self.put("match", fields);
            for one in differs {
                self.put("wanted", &mut one.wanted);
                if let Some(is) = &mut one.is {
                    self.put("is", is);
                }
            }
        }
    }
}

impl Trace {
    /// The trace with ports by name, quoted as `dpctl dump-flows --names` quotes them.
    #[must_use]
    pub fn with_names(mut self, names: &PortNames) -> Self {
        names.put("port", &mut self.packet.port);
        names.put("fields", &mut self.fields);
        for stage in &mut self.stages {
            names.put_stage(stage);
        }
        names.put_events(&mut self.result);
        self
    }
}

/// A name as ovs-ofctl prints it: in quotes, unless it is a letter followed by letters or digits.
fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric());
    if is_plain {
        name.into()
    } else {
        format!("\"{name}\"")
    }
}

/// Returns where the next port of a text begins. A mark is a whole word, not the end of a longer
/// one.
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
    use super::*;

    fn names() -> PortNames {
        let ports = [(1, "s1-eth1"), (12, "wan")].map(|(number, name)| PortDesc {
            port_no: PortNo(number),
            name: name.into(),
            ..PortDesc::default()
        });
        PortNames::of(ports.iter())
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
            assert_eq!(names().in_text(text), wanted);
        }
    }

    #[test]
    fn a_shared_name_names_no_port() {
        let ports = [1, 2].map(|number| PortDesc {
            port_no: PortNo(number),
            name: "same".into(),
            ..PortDesc::default()
        });
        let names = PortNames::of(ports.iter());
        assert_eq!(names.get(PortNo(1)), None);
        assert_eq!(names.text(PortNo::LOCAL), "LOCAL");
    }
}
