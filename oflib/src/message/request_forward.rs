//! REQUESTFORWARD: what another controller asked for, and got. Spec: OpenFlow 1.4.1 section 7.4.6.

use alloc::boxed::Box;

use super::Message;
use crate::model::named;

named! {
    /// The kind of request that is forwarded (`OFPRFR_*`).
    pub struct RequestForwardReason(u8) {
        /// A GROUP_MOD.
        GROUP_MOD = 0 "group_mod",
        /// A METER_MOD.
        METER_MOD = 1 "meter_mod",
    }
}

/// A request of another controller that changed the switch.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestForward {
    /// The request's transaction id.
    pub xid: u32,
    /// The request.
    pub request: Box<Message>,
}
