//! The errors of OpenQFlow's messages.

use bofuss_oflib::ext::BOFUSS;

bofuss_oflib::experimenter_errors! {
    BOFUSS "BOFUSS"
    32 BAD_VALUE "a number that names nothing"
    33 BAD_COMMAND "unknown command"
    34 NO_FLOW "no such flow"
    35 NO_KEY "no such aggregate key"
    36 TOO_MANY "no room for more"
    37 BAD_TABLE "the instruction is of a table of another kind"
    38 NO_SIGNATURE "no such signature"
    39 NOT_ADMITTED "the port cannot guarantee so much"
}
