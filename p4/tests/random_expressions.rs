//! Random expressions give what a plain interpreter of their JSON gives, with numbers of any size.

use bofuss_p4::{Program, Sent, Switch};
use num_bigint::{BigInt, Sign};
use serde_json::{Value, json};

use crate::plain::expressions::{Grammar, plain};
use crate::plain::random::Random;

/// The fields of the header, with their widths. The last gets the result.
const FIELDS: [(&str, u32); 6] = [
    ("a", 8),
    ("b", 13),
    ("c", 64),
    ("d", 128),
    ("e", 203),
    ("r", 200),
];
const PROGRAMS: usize = 400;
const PACKETS: usize = 4;
const DEPTH: usize = 4;

/// A constant, or a field that is read.
fn leaf(random: &mut Random) -> Value {
    let (field, _) = random.pick(&FIELDS[..FIELDS.len() - 1]);
    match random.below(3) {
        0 => random.number(),
        _ => json!({"type": "field", "value": ["h", field]}),
    }
}

/// A program that puts an expression into the last field.
fn program(expression: &Value) -> Program {
    let fields: Vec<Value> = FIELDS
        .iter()
        .map(|(name, width)| json!([name, width, false]))
        .collect();
    let target = |field: [&str; 2]| json!({"type": "field", "value": field});
    let document = json!({
        "__meta__": {"version": [2, 23]},
        "header_types": [
            {"name": "h_t", "id": 0, "fields": fields},
            {"name": "std_t", "id": 1, "fields": [["egress_spec", 9, false]]}],
        "headers": [
            {"name": "h", "id": 0, "header_type": "h_t", "metadata": false},
            {"name": "standard_metadata", "id": 1, "header_type": "std_t", "metadata": true}],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [{
            "name": "start", "id": 0, "transition_key": [],
            "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
            "transitions": [{"type": "default"}]}]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"]}],
        "actions": [{"name": "set", "id": 0, "runtime_data": [], "primitives": [
            {"op": "assign", "parameters": [target(["h", "r"]), expression]},
            {"op": "assign", "parameters": [
                target(["standard_metadata", "egress_spec"]),
                {"type": "hexstr", "value": "0x1"}]}]}],
        "pipelines": [{"name": "ingress", "id": 0, "init_table": "t", "tables": [{
            "name": "t", "id": 0, "key": [], "type": "simple", "max_size": 1,
            "action_ids": [0], "actions": ["set"], "base_default_next": null,
            "next_tables": {"set": null}, "default_entry": {"action_id": 0, "action_data": []}}]}],
    });
    Program::load(document.to_string().as_bytes()).expect("the program is right")
}

/// The value of a field that an expression names.
fn field(value: &Value, fields: &[BigInt]) -> BigInt {
    let name = value["value"][1].as_str();
    let index = FIELDS.iter().position(|(field, _)| Some(*field) == name);
    fields[index.expect("a field")].clone()
}

/// The fields in the bytes of a header.
fn split(bytes: &[u8]) -> Vec<BigInt> {
    let mut all = BigInt::from_bytes_be(Sign::Plus, bytes);
    let mut fields = Vec::new();
    for (_, width) in FIELDS.iter().rev() {
        fields.push(&all & ((BigInt::from(1) << *width) - 1));
        all >>= *width;
    }
    fields.reverse();
    fields
}

#[test]
fn random_expressions_are_what_a_plain_interpreter_says() {
    let mut random = Random(39);
    let bits: u32 = FIELDS.iter().map(|(_, width)| width).sum();
    for _ in 0..PROGRAMS {
        let expression = Grammar(&leaf).data(&mut random, DEPTH);
        let mut switch = Switch::new(program(&expression), 0);
        for _ in 0..PACKETS {
            let bytes = (0..bits / 8).map(|_| [0, 0xff, random.below(256)][random.below(3)] as u8);
            let frame: Vec<u8> = bytes.collect();
            let mut sent: Vec<Sent> = Vec::new();
            switch.receive(0, &frame, 0, &mut sent);
            let mut wanted = split(&frame);
            let (_, width) = FIELDS[FIELDS.len() - 1];
            let result = plain(&expression, &|value| field(value, &wanted))
                & ((BigInt::from(1) << width) - 1);
            *wanted.last_mut().expect("there are fields") = result;
            assert_eq!(split(&sent[0].frame), wanted, "{expression:#}");
        }
    }
}
