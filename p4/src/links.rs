//! Which ports have a link, as the owner of a switch says.

use alloc::collections::BTreeMap;

/// The ports with their links.
#[derive(Clone, Debug, Default)]
pub struct Links(BTreeMap<u32, bool>);

impl Links {
    /// Sets whether a port has a link.
    pub fn set(&mut self, port: u32, is_up: bool) {
        self.0.insert(port, is_up);
    }

    /// Returns true unless it was said that the port has no link.
    pub fn is_up(&self, port: u32) -> bool {
        self.0.get(&port).copied().unwrap_or(true)
    }

    /// Returns true if the port is there, or if nothing was said of any port.
    pub fn has(&self, port: u32) -> bool {
        self.0.is_empty() || self.0.contains_key(&port)
    }

    /// What was said, in the order of ports.
    pub fn iter(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        self.0.iter().map(|(port, is_up)| (*port, *is_up))
    }
}
