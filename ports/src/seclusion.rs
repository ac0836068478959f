//! Keeps the host's own stack from answering or forwarding what arrives on a switch's interface.
//!
//! The stack sees each frame beside the switch. On an interface without addresses four settings
//! make it deaf and dumb: no IPv6 (which would also talk by itself), no ARP replies, and no IPv4
//! packet accepted or forwarded.

use std::{fs, io};

use crate::Link;

/// One row a setting: where it lies under `/proc/sys/net`, before and after the interface's name,
/// and its value. Strict reverse-path filtering refuses every source, since no route leads to such
/// an interface.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("ipv6", "disable_ipv6", "1"),
    ("ipv4", "arp_ignore", "8"),
    ("ipv4", "rp_filter", "1"),
    ("ipv4", "forwarding", "0"),
];

/// The settings of one interface, put back when this is dropped.
pub(crate) struct Seclusion {
    link: Link,
    /// What each setting was, where it was changed.
    old: [Option<String>; SETTINGS.len()],
    complete: bool,
}

impl Seclusion {
    /// Secludes an interface as far as the settings can be written.
    pub(crate) fn of(link: &Link) -> Self {
        let mut complete = true;
        let old = SETTINGS.map(|(family, key, value)| {
            let path = path(family, &link.name, key);
            match exchange(&path, value) {
                Ok(old) => old,
                // Without IPv6 in the kernel there is nothing to keep out.
                Err(error) => {
                    complete &= error.kind() == io::ErrorKind::NotFound && family == "ipv6";
                    None
                }
            }
        });
        Self {
            link: link.clone(),
            old,
            complete,
        }
    }

    /// Whether every setting holds.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }
}

impl Drop for Seclusion {
    fn drop(&mut self) {
        // Another interface may have the name by now, and a port of its own.
        if !Link::by_name(&self.link.name).is_ok_and(|link| link.index == self.link.index) {
            return;
        }
        for ((family, key, _), old) in SETTINGS.iter().zip(&self.old) {
            if let Some(old) = old {
                // The interface may go at any time; then there is nothing to put back.
                let _ = fs::write(path(family, &self.link.name, key), old);
            }
        }
    }
}

fn path(family: &str, name: &str, key: &str) -> String {
    format!("/proc/sys/net/{family}/conf/{name}/{key}")
}

/// Writes a setting and returns what it was, if that differs.
fn exchange(path: &str, value: &str) -> io::Result<Option<String>> {
    let old = fs::read_to_string(path)?.trim().to_string();
    if old == value {
        return Ok(None);
    }
    fs::write(path, value)?;
    Ok(Some(old))
}
