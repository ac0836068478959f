//! The errors of ports with drivers, and the number of the experimenter whose they are.

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6f64;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "DRIVERS"
    0 NO_DRIVER "the port has no driver"
    1 BAD_VALUE "a name or a value is none, or there are too many"
    2 NOT_SETTABLE "the driver does not let controllers set the value, or it is of another type"
}
