//! The experimenter of all dialects, and its errors by the names of the reference switches.

/// The experimenter of OpenState, BEBA and Open Packet Processor.
pub const EXPERIMENTER: u32 = 0xbeba_beba;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "OPENSTATE"
    0 STATE_MOD_FAILED "there is no room for a further state"
    1 BAD_COMMAND "unknown command of STATE_MOD"
    2 SET_EXTRACTOR "the extractor's table is not stateful"
    3 SET_FLOW_STATE "the state's table has not both extractors"
    4 DEL_FLOW_STATE "the table has not both extractors, or the flow no state"
    5 BAD_EXP_MESSAGE "unknown message"
    6 BAD_EXP_ACTION "unknown action"
    7 BAD_EXP_LEN "wrong length, also of a key"
    8 BAD_TABLE_ID "no such table"
    9 BAD_MATCH_WILDCARD "a state has bits outside its mask"
    10 BAD_EXP_INSTRUCTION "unknown instruction"
    13 BAD_EXTRACTOR_ID "a table has 8 header field extractors"
    14 BAD_CONDITION_ID "a table has 8 conditions"
    15 BAD_CONDITION "unknown comparison, or the table has not both extractors"
    16 BAD_OPERAND_TYPE "a constant may not stand there"
    17 BAD_FLOW_DATA_VAR_ID "a flow has 6 variables"
    18 BAD_GLOBAL_DATA_VAR_ID "a table has 8 variables"
    19 BAD_HEADER_FIELD_SIZE "no field has so many bytes"
    20 BAD_OPCODE "unknown update function"
    21 BAD_HEADER_EXTRACTOR "the header field extractor's table has not both extractors"
    22 BAD_SOURCE_TYPE "unknown source of a value for a field"
}
