//! The experimenter of ARP-Path, and the errors of its messages.

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6170;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "ARP_PATH"
    1 BAD_COMMAND "unknown command of arp_path_mod"
    2 BAD_VALUE "a number that names nothing"
    3 TOO_MANY_PINS "half of the entries are pinned already"
}
