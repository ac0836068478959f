//! The wording of ovs-ofctl's output: a version's terms, and ports by number or by name.

use std::collections::BTreeMap;

use bofuss_oflib::message::PortDesc;
use bofuss_oflib::{PortNo, Version};

/// The names of ports in the output; ports without a name are printed by number.
#[derive(Default)]
pub(crate) struct PortNames(BTreeMap<PortNo, String>);

/// No port has a name.
static NO_NAMES: PortNames = PortNames(BTreeMap::new());

impl PortNames {
    /// The names of these ports. A name that two ports share is left out, as is one that cannot be
    /// quoted.
    pub(crate) fn of(ports: &[PortDesc]) -> Self {
        let mut names = BTreeMap::new();
        for port in ports {
            let name: &str = &port.name.0;
            let sharers = ports.iter().filter(|other| *other.name.0 == *name).count();
            let can_be_quoted = !name.contains(|c: char| c == '"' || c == '\\' || c.is_control());
            if port.port_no.name().is_none() && sharers == 1 && !name.is_empty() && can_be_quoted {
                names.insert(port.port_no, quoted(name));
            }
        }
        Self(names)
    }

    /// A port's name, or its number or reserved name.
    pub(crate) fn text(&self, port: PortNo) -> String {
        match self.0.get(&port) {
            Some(name) => name.clone(),
            None => port.to_string(),
        }
    }

    /// The name of a port.
    pub(crate) fn get(&self, port: PortNo) -> Option<&str> {
        self.0.get(&port).map(String::as_str)
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

/// The version whose wording is used, and the names of ports.
#[derive(Clone, Copy)]
pub(crate) struct Wording<'a> {
    /// OpenFlow's version.
    pub(crate) version: Version,
    /// The names of ports.
    pub(crate) ports: &'a PortNames,
}

impl Wording<'_> {
    /// The wording of a version, with ports by number.
    pub(crate) fn with_numbers(version: Version) -> Self {
        Self {
            version,
            ports: &NO_NAMES,
        }
    }
}
