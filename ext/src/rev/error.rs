//! The experimenter of rule enforcement verification, and the errors of its messages.

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6f76;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "REV"
    1 UNKNOWN_FLOW "the flow has no sum"
}
