//! The entries that a program has itself.

use std::fs;

use bofuss_p4::{Int, Match, Named, Program, Switch};

#[test]
fn a_value_of_the_program_has_no_bits_outside_of_its_mask() {
    let root = env!("CARGO_MANIFEST_DIR");
    let file = format!("{root}/../testdata/p4/matches/matches.json");
    let json = fs::read_to_string(file).expect("the file is there");
    // As p4c writes it for 0x1123 &&& 0xff00.
    let json = json.replace("\"0x1100\"", "\"0x1123\"");
    let program = Program::load(json.as_bytes()).expect("only a number is another");
    let switch = Switch::new(program, 0);
    let table = switch.program().index(Named::Table, "MyIngress.const_t");
    let table = table.expect("the program has it");
    let [value, mask] = [0x1100, 0xff00].map(Int::Small);
    let wanted = vec![Match::Ternary(value, mask)];
    let mut entries = switch.entries(table);
    let found = entries.find(|(_, entry)| entry.key == wanted);
    let (handle, entry) = found.expect("it is as a control plane would write it");
    let named = switch.find(table, wanted, entry.priority);
    assert_eq!(named, Ok(Some(handle)));
}
