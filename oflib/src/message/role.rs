//! ROLE_REQUEST and ROLE_REPLY. Spec: OpenFlow 1.3.5 section 7.3.9.

use crate::error::RoleRequestFailed;
use crate::model::{model, named};

named! {
    /// What a controller is to the switch (`OFPCR_ROLE_*`).
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
    }
}
