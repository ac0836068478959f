//! The properties of the experimenter of all dialects: fields, sizes, and errors by the names of
//! the reference switches.

use bofuss_oflib::Field;

/// The experimenter of OpenState, BEBA and Open Packet Processor.
pub const EXPERIMENTER: u32 = 0xbeba_beba;
/// The number of conditions of Open Packet Processor in a table.
pub const N_CONDITIONS: usize = 8;
/// The number of variables of each flow of a table.
pub const N_FLOW_VARIABLES: usize = 6;
/// The number of variables of a table.
pub const N_GLOBAL_VARIABLES: usize = 8;

/// The variables of a flow.
pub type FlowVariables = [u32; N_FLOW_VARIABLES];

/// The global state of the switch.
pub const GLOBAL_STATE: Field = Field {
    bad_wildcards: Some(BAD_MATCH_WILDCARD),
    ..Field::register(EXPERIMENTER, 0, "global_state", 32, 0)
};
/// The state of the packet's flow in a stateful table.
pub const STATE: Field = Field {
    bad_wildcards: Some(BAD_MATCH_WILDCARD),
    ..Field::extension(EXPERIMENTER, 1, "state", 32, true)
};
/// The number of the first field that only Open Packet Processor has.
pub const FIRST_OPP_FIELD: u8 = 2;

/// A field for the outcome of a condition of Open Packet Processor.
const fn condition(number: u8, name: &'static str) -> Field {
    Field::extension(EXPERIMENTER, FIRST_OPP_FIELD + number, name, 8, false)
}

/// A field for something about a packet that is in no header: its time, length, a random number.
const fn fact(number: u8, name: &'static str, bits: u16) -> Field {
    Field {
        volatile: true,
        ..Field::extension(EXPERIMENTER, number, name, bits, false)
    }
}

/// The fields, each at the place of its number. Texts of keys have the names of all, whichever
/// dialect is spoken.
pub static FIELDS: [Field; 13] = [
    GLOBAL_STATE,
    STATE,
    condition(0, "condition0"),
    condition(1, "condition1"),
    condition(2, "condition2"),
    condition(3, "condition3"),
    condition(4, "condition4"),
    condition(5, "condition5"),
    condition(6, "condition6"),
    condition(7, "condition7"),
    fact(10, "timestamp", 32),
    fact(11, "random", 16),
    fact(12, "pkt_len", 16),
];

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
