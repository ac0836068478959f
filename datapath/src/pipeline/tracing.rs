//! Steps of a trace about packets and lookups.

use alloc::vec::Vec;

use bofuss_oflib::field::{ETH_TYPE, IN_PHY_PORT};
use bofuss_oflib::{Catalogue, Match};
use bofuss_packet::{Key, Packet};

use crate::{Entry, Lost, Step};

/// Describes for a trace why an entry lost the lookup of a key.
pub(super) fn lost(entry: &Entry, key: &Key, catalogue: &Catalogue) -> Lost {
    let fields = entry.rule.to_match(catalogue);
    let mut differs = Vec::new();
    for one in fields.fields() {
        if !key.has(one, &mut ()) {
            differs.push((*one, key.get(one.field, &mut ())));
        }
    }
    // All fields match, except that for an entry with ONE_TAG they are after a second VLAN tag.
    if differs.is_empty()
        && !key.matches(&entry.rule, &mut ())
        && let Some(eth_type) = fields.get(ETH_TYPE)
    {
        let second = key.second_tag(&mut ()).map(u128::from);
        differs.push((*eth_type, second));
    }
    Lost {
        priority: entry.key.priority.0,
        differs,
        fields,
    }
}

/// The step of a packet's arrival.
pub(super) fn received<'a>(packet: &'a Packet, catalogue: &Catalogue) -> Step<'a> {
    let key = describe(packet, catalogue);
    Step::Received(packet.in_port(), key, packet.wire_bytes())
}

/// A packet's key as an exact match. Metadata and extensions' fields with their initial values are
/// omitted.
pub(super) fn describe(packet: &Packet, catalogue: &Catalogue) -> Match {
    let all = packet.key().to_match(catalogue);
    let shown = all.fields().iter().filter(|one| {
        let from_packet = !one.field.at.is_empty();
        let initial = u128::from(one.field.initial.unwrap_or(0));
        (from_packet || one.number() != initial) && one.field.id != IN_PHY_PORT.id
    });
    Match::new(&shown.copied().collect::<Vec<_>>()).unwrap_or_default()
}
