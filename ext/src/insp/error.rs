//! The errors of packet templates alone. Those that state tables share are in
//! [`crate::common::beba`].

use crate::common::beba::EXPERIMENTER;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "INSP"
    11 TEMPLATE_MOD_FAILED "the template is not there, or has no room"
    12 BAD_COMMAND "unknown command of PKTTMP_MOD"
}
