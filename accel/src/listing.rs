//! The flows that the kernel forwards, as users see them.

use std::fmt;
use std::time::Duration;

use bofuss_oflib::field::{ETH_TYPE, IN_PORT, IP_PROTO, VLAN_VID};
use bofuss_oflib::types::MeterId;
use bofuss_oflib::{FieldMatch, Match, PortNo};

use crate::key::{self, HAS_TAG, KEY_BYTES};

/// A flow that the kernel forwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBelow {
    /// What its frames have in common.
    pub matching: Match,
    /// The meter that judges its frames.
    pub meter: Option<MeterId>,
    /// What is done to each copy, with its output; if there is none, they are dropped.
    pub legs: Vec<String>,
    /// Packets and bytes since it is there.
    pub packets: u64,
    /// See `packets`.
    pub bytes: u64,
    /// The time since its last frame; `None` if none was forwarded yet.
    pub idle: Option<Duration>,
}

impl fmt::Display for FlowBelow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, bytes, .. } = self;
        write!(f, "{} packets={packets} bytes={bytes}", self.matching)?;
        if let Some(idle) = self.idle {
            write!(f, " idle={:.3}s", idle.as_secs_f64())?;
        }
        if let Some(meter) = self.meter {
            write!(f, " meter:{meter}")?;
        }
        if self.legs.is_empty() {
            return f.write_str(" drop");
        }
        self.legs.iter().try_for_each(|leg| write!(f, " [{leg}]"))
    }
}

/// The match of frames from a port with this masked key.
pub(crate) fn match_of(from: PortNo, key: &[u8; KEY_BYTES], mask: &[u8; KEY_BYTES]) -> Match {
    let (eth_type, protocol) = key::protocol(key);
    let mut fields = vec![
        FieldMatch::exact(IN_PORT, from.0.into()),
        FieldMatch::exact(ETH_TYPE, eth_type.into()),
        FieldMatch::exact(IP_PROTO, protocol.into()),
    ];
    for (field, value) in key::values(key, mask) {
        if field != VLAN_VID {
            fields.push(FieldMatch::exact(field, value));
        }
    }
    let vid = key::values(key, mask).find(|(field, _)| *field == VLAN_VID);
    let has_tag = u128::from(HAS_TAG);
    fields.push(match (key::has_tag(key), vid) {
        (false, _) => FieldMatch::exact(VLAN_VID, 0),
        (true, Some((_, vid))) => FieldMatch::exact(VLAN_VID, has_tag | vid),
        (true, None) => FieldMatch::masked(VLAN_VID, has_tag, has_tag),
    });
    Match::new(&fields).unwrap_or(Match::ANY)
}
