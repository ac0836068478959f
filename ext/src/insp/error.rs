//! The errors of packet templates alone. Those that state tables share are in
//! [`crate::openstate::error`].

use crate::openstate::EXPERIMENTER;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "INSP"
    11 TEMPLATE_MOD_FAILED "the template is not there, or has no room"
    12 BAD_COMMAND "unknown command of PKTTMP_MOD"
}
