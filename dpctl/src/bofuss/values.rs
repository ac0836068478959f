//! Numbers and lists as the original dpctl prints them.

use std::fmt::{Display, Write};

use bofuss_oflib::PortNo;
use bofuss_oflib::types::{GroupId, QueueId, TableId};

use crate::words::PORTS;

/// A group's number, `all` or `any`.
pub(crate) fn group(group: GroupId) -> String {
    match group {
        GroupId::ALL => "all".into(),
        GroupId::ANY => "any".into(),
        group => group.0.to_string(),
    }
}

/// The items, separated by a comma and a blank.
pub(crate) fn list<T: Display>(items: impl Iterator<Item = T>) -> String {
    let mut text = String::new();
    for (i, item) in items.enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(text, "{comma}{item}").expect("a string takes everything");
    }
    text
}

/// A port's number, or the original's name of a reserved one.
pub(crate) fn port(port: PortNo) -> String {
    let row = PORTS.iter().find(|row| row.1 == port);
    row.map_or_else(|| port.0.to_string(), |row| row.0.into())
}

/// A queue's number or `all`.
pub(crate) fn queue_id(queue: QueueId) -> String {
    if queue == QueueId::ALL {
        "all".into()
    } else {
        queue.0.to_string()
    }
}

/// A table's number or `all`.
pub(crate) fn table(table: TableId) -> String {
    if table == TableId::ALL {
        "all".into()
    } else {
        table.0.to_string()
    }
}
