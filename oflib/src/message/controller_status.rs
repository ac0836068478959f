//! CONTROLLER_STATUS: which controllers are connected, and as what. Spec: OpenFlow 1.5.1 sections
//! 7.3.5.20, 7.4.8.

use alloc::{string::String, vec::Vec};

use super::property::ExperimenterProperty;
use super::role::ControllerRole;
use crate::model::{model, named};

named! {
    /// The reason for which the status of a controller is sent (`OFPCSR_*`).
    pub struct ControllerStatusReason(u8) {
        /// It was asked for.
        REQUEST = 0 "request",
        /// Its connection came or went.
        CHANNEL_STATUS = 1 "channel_status",
        /// Its role changed.
        ROLE = 2 "role",
        /// It was added.
        CONTROLLER_ADDED = 3 "controller_added",
        /// It was removed.
        CONTROLLER_REMOVED = 4 "controller_removed",
        /// Its short id changed.
        SHORT_ID = 5 "short_id",
        /// An experimenter's data changed.
        EXPERIMENTER = 6 "experimenter",
    }
}

named! {
    /// The state of the channel to a controller (`OFPCT_*`).
    pub struct ChannelStatus(u8) {
        /// It is.
        UP = 0 "up",
        /// It is not.
        DOWN = 1 "down",
    }
}

/// The address of a connection, such as `tcp:192.0.2.1:6653`. Where the bytes are not UTF-8, those
/// above 127 become `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Uri(pub String);

model! {
    /// A controller of the switch, and how it is connected (since OpenFlow 1.5).
    pub struct ControllerStatus {
        /// The number that it gave itself; 0 if it gave none.
        pub short_id: u16,
        /// Its role.
        pub role: ControllerRole,
        /// The reason for which this is sent.
        pub reason: ControllerStatusReason,
        /// True if it is connected.
        pub channel_status: ChannelStatus,
    } in_some_versions {
        /// The controller's address.
        pub uri: Option<Uri>,
        /// Properties of experimenters.
        pub experimenters: Vec<ExperimenterProperty>,
    }
}
