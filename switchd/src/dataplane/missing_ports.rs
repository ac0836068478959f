//! Notices entries and groups that output to ports that do not exist, and says so once.

use std::collections::BTreeSet;

use bofuss_oflib::{Action, Message, PortNo};

use crate::config::PortSpec;

/// Of so many missing ports is said that they are missing.
const MAX_NOTED: usize = 64;
/// Ports that a note lists.
const MAX_LISTED: usize = 16;

/// The missing ports of which it was said.
#[derive(Default)]
pub struct MissingPorts(BTreeSet<PortNo>);

impl MissingPorts {
    /// The ports of the entry or group in a message that do not exist, and were not noted before.
    pub fn new_in(&mut self, message: &Message, exists: impl Fn(PortNo) -> bool) -> Vec<PortNo> {
        let mut new = Vec::new();
        for action in actions(message) {
            if let Action::Output(output) = action
                && output.port.is_port()
                && !exists(output.port)
                && self.0.len() < MAX_NOTED
                && self.0.insert(output.port)
            {
                new.push(output.port);
            }
        }
        new
    }
}

/// The actions of the entry or group that a message, also one for a bundle, adds or changes.
fn actions(mut message: &Message) -> Vec<&Action> {
    if let Message::BundleAdd(add) = message {
        message = &add.message;
    }
    if let Message::FlowMod(flow) = message {
        return flow.instructions.actions().collect();
    }
    if let Message::GroupMod(group) = message {
        let buckets = group.buckets.iter();
        return buckets.flat_map(|bucket| &bucket.actions).collect();
    }
    Vec::new()
}

/// The warning about a missing port of a switch with these ports.
pub fn sentence(missing: PortNo, ports: &[PortSpec]) -> String {
    let listed = ports.iter().take(MAX_LISTED);
    let listed = listed.map(|port| format!("{} ({})", port.number, port.kind.name()));
    let mut listed = listed.collect::<Vec<_>>().join(", ");
    match ports.len() {
        0 => listed.push_str("none"),
        count if count > MAX_LISTED => {
            listed.push_str(&format!(" and {} more", count - MAX_LISTED));
        }
        _ => {}
    }
    format!(
        "an entry or group outputs to port {missing}, which does not exist; the ports are: {listed}"
    )
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::Match;
    use bofuss_oflib::instruction::Instructions;
    use bofuss_oflib::message::group_mod::{Bucket, GroupMod};
    use bofuss_oflib::message::{BundleAdd, FlowMod};

    use super::*;

    fn entry(port: PortNo) -> Message {
        let mut flow = FlowMod::add(Match::ANY);
        flow.instructions = Instructions::apply(vec![Action::output(port)]);
        Message::FlowMod(flow)
    }

    fn in_bundle(message: Message) -> Message {
        Message::BundleAdd(BundleAdd {
            bundle_id: 1,
            flags: Default::default(),
            xid: 1,
            message: Box::new(message),
            experimenters: Vec::new(),
        })
    }

    #[test]
    fn a_missing_port_is_new_once_whatever_names_it() {
        let mut missing = MissingPorts::default();
        let mut new = |message: &Message| missing.new_in(message, |port| port.0 <= 2);
        for fine in [PortNo(2), PortNo::CONTROLLER, PortNo::NORMAL] {
            assert_eq!(new(&entry(fine)), []);
        }
        assert_eq!(new(&entry(PortNo(9))), [PortNo(9)]);
        assert_eq!(new(&entry(PortNo(9))), []);
        assert_eq!(new(&in_bundle(entry(PortNo(8)))), [PortNo(8)]);
        let outputs = [7, 8].map(|port| Action::output(PortNo(port)));
        let bucket = Bucket::at(0, outputs.to_vec());
        let group = Message::GroupMod(GroupMod {
            buckets: vec![bucket],
            ..GroupMod::default()
        });
        assert_eq!(new(&group), [PortNo(7)]);
        let noted = (100..1000).flat_map(|port| new(&entry(PortNo(port))));
        assert_eq!(noted.count(), MAX_NOTED - 3);
    }
}
