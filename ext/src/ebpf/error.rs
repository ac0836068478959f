//! The errors of programs, and the number of the experimenter whose they are.

/// This extension's number as an experimenter: a locally administered OUI.
pub const EXPERIMENTER: u32 = 0x0062_6f65;

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "EBPF"
    0 BAD_COMMAND "unknown command"
    1 BAD_NAME "a name is 1 to 31 letters, digits, '_', '-' and '.'"
    2 BAD_MAP "a map has an unknown type, sizes that no map has, or the name of another one"
    3 BAD_LENGTH "code has 1 to 4096 slots of 8 bytes"
    4 BAD_INSTRUCTION "an instruction, its register, constant or helper is unknown"
    5 BAD_JUMP "a jump, or the end of the code, leads to no instruction"
    6 ENDLESS "no way leads from an instruction to an exit"
    7 NO_PROGRAM "there is no such program"
    8 NO_MAP "the program has no such map"
    9 FULL "there is no room for a further program, its maps, or a key"
    10 BAD_KEY "the map has keys or values of another length, or no such key"
}
