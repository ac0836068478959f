//! The errors of ARP-Path's messages.

use super::EXPERIMENTER;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "ARP_PATH"
    1 BAD_COMMAND "unknown command of arp_path_mod"
    2 BAD_VALUE "a number that names nothing"
    3 TOO_MANY_PINS "half of the entries are pinned already"
}
