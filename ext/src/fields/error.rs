//! The errors of mappings, and the number of the experimenter whose they are.

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6f6d;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "FIELDS"
    0 BAD_COMMAND "the command is neither add nor delete"
    1 BAD_MAPPING "the text is no mapping, or not of a spare row"
    2 BAD_PLACE "a field may not stand there: a TTL does, or one that may be set shares bits"
    3 MAPPED "the row is mapped otherwise: delete that mapping first"
    4 NOT_MAPPED "the row is not mapped"
    5 IN_USE "an entry or a group uses the row"
    6 TOO_MANY "the switch has had as many sets of mappings as it can since its start"
}
