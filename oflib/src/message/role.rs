//! ROLE_REQUEST, ROLE_REPLY and ROLE_STATUS. Spec: OpenFlow 1.3.5 section 7.3.9, OpenFlow 1.4.1
//! section 7.4.4.

use alloc::vec::Vec;

use super::property::ExperimenterProperty;
use crate::error::RoleRequestFailed;
use crate::model::{model, named};

named! {
    /// The role of a controller (`OFPCR_ROLE_*`).
    pub struct ControllerRole(u32) else RoleRequestFailed::BAD_ROLE {
        /// Asks for the role without a change.
        NOCHANGE = 0 "nochange",
        /// Full access, beside others.
        EQUAL = 1 "equal",
        /// Full access, alone.
        MASTER = 2 "master",
        /// Reads only.
        SLAVE = 3 "slave",
    }
}

model! {
    /// A role asked for or in force.
    pub struct Role {
        /// The role.
        pub role: ControllerRole,
        /// The master election's number.
        pub generation_id: u64,
    } in_some_versions {
        /// The number that the controller gives itself; 0 is none (since OpenFlow 1.5).
        pub short_id: u16,
    }
}

named! {
    /// The reason for which a role changed that its controller did not change (`OFPCRR_*`).
    pub struct RoleStatusReason(u8) {
        /// Another controller asked to be master.
        MASTER_REQUEST = 0 "master_request",
        /// The switch's configuration changed.
        CONFIG = 1 "config",
        /// An experimenter's reason.
        EXPERIMENTER = 2 "experimenter",
    }
}

model! {
    /// A controller's role changed, and not at its own request (since OpenFlow 1.4).
    pub struct RoleStatus {
        /// The role now.
        pub role: ControllerRole,
        /// The reason for which it changed.
        pub reason: RoleStatusReason,
        /// The master election's number.
        pub generation_id: u64,
    } in_some_versions {
        /// Properties of experimenters.
        pub experimenters: Vec<ExperimenterProperty>,
    }
}
