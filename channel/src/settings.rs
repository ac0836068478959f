//! The settings of a hub.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bofuss_oflib::{Catalogue, Version};

use crate::stream::AddressPair;
use crate::{Auxiliary, Origin, RateLimit, Tls};

/// The settings that all connections of a hub have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The versions offered, at least one.
    pub versions: Vec<Version>,
    /// The known fields and experimenters.
    pub catalogue: Arc<Catalogue>,
    /// The time that a peer may be silent before it is asked, and then before it is given up; zero:
    /// for ever.
    pub probe_interval: Duration,
    /// The longest wait between two tries to connect.
    pub max_backoff: Duration,
    /// The auxiliary connections of each main connection to a host, numbered from 1; at most
    /// [`MAX_AUXILIARIES`](crate::MAX_AUXILIARIES).
    pub auxiliaries: Vec<Auxiliary>,
    /// The keys and certificates that `ssl:` and `pssl:` need.
    pub tls: Option<Tls>,
    /// The number of messages of each connection that are served a second; `None`: as many as come.
    /// More are not read.
    pub message_rate: Option<RateLimit>,
    /// The number of packet-ins that each connection gets a second, as [`Sender::takes_packet_in`]
    /// says; `None`: as many as it takes.
    ///
    /// [`Sender::takes_packet_in`]: crate::Sender::takes_packet_in
    pub packet_in_rate: Option<RateLimit>,
    /// True if this side is a switch: what only switches send is refused then, whatever it holds.
    pub is_switch: bool,
    /// The observer of all messages.
    pub watch: Option<Watch>,
}

/// Sees the bytes of messages: how their connection came about, between which addresses it is, and
/// whether they were received or will be sent; one or several whole messages at a time.
#[derive(Clone)]
pub struct Watch(pub Arc<WatchFn>);

/// The function of a [`Watch`].
pub type WatchFn = dyn Fn(&Origin, Option<AddressPair>, bool, &[u8]) + Send + Sync;

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Settings {
    /// All versions spoken, a probe after 5 s, a back-off of at most 8 s.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self {
            versions: Version::SPOKEN.into(),
            catalogue,
            probe_interval: Duration::from_secs(5),
            max_backoff: Duration::from_secs(8),
            auxiliaries: Vec::new(),
            tls: None,
            message_rate: None,
            packet_in_rate: None,
            is_switch: false,
            watch: None,
        }
    }
}
