//! The experimenter of blind packet forwarding, and the errors of its messages.

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6f62;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "BLIND"
    1 BAD_FIELD "a nonce or a tag is a known field of 128 bits, without a mask"
    2 NOT_SHARED "segments of a super-frame may differ in the field: it is not declared as shared"
    3 NO_PREDICATE "the table has no predicate"
    4 UNKNOWN_KEYWORD "the table has no trapdoor for the keyword"
    5 FULL "there is no room for a further trapdoor"
}
