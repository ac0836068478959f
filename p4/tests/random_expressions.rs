//! Random expressions give what a plain interpreter of their JSON gives, with numbers of any size.

use bofuss_p4::{Program, Sent, Switch};
use num_bigint::{BigInt, Sign};
use serde_json::{Value, json};

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

struct Random(u64);

impl Random {
    /// From 0 to `most` less one: SplitMix64.
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ value >> 31) as usize % most
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn number(&mut self) -> Value {
        let digits = [1, 2, 4, 16, 32, 50][self.below(6)];
        let digits: String = (0..digits)
            .map(|_| char::from(b"0123456789abcdef"[self.below(16)]))
            .collect();
        json!({"type": "hexstr", "value": format!("0x{digits}")})
    }

    fn data(&mut self, depth: usize) -> Value {
        if depth == 0 || self.below(6) == 0 {
            let field = FIELDS[self.below(FIELDS.len() - 1)].0;
            return match self.below(3) {
                0 => self.number(),
                _ => json!({"type": "field", "value": ["h", field]}),
            };
        }
        let left = self.data(depth - 1);
        let right = self.data(depth - 1);
        let small = json!({"type": "hexstr", "value": format!("{:#x}", 1 + self.below(180))});
        match self.below(8) {
            0 => operation("~", Value::Null, right),
            1 => operation(self.pick(&["<<", ">>"]), left, small),
            2 => operation(
                self.pick(&["two_comp_mod", "sat_cast", "usat_cast"]),
                left,
                small,
            ),
            3 => operation("b2d", Value::Null, self.cond(depth - 1)),
            4 => {
                let mut value = operation("?", left, right);
                value["value"]["cond"] = self.cond(depth - 1);
                value
            }
            _ => operation(self.pick(&["+", "-", "*", "&", "|", "^"]), left, right),
        }
    }

    fn cond(&mut self, depth: usize) -> Value {
        if depth == 0 || self.below(3) > 0 {
            let sign = self.pick(&["==", "!=", "<", "<=", ">", ">="]);
            let (left, right) = (self.data(depth), self.data(depth));
            return operation(sign, left, right);
        }
        match self.below(3) {
            0 => operation("not", Value::Null, self.cond(depth - 1)),
            1 => operation("d2b", Value::Null, self.data(depth - 1)),
            _ => {
                let sign = self.pick(&["and", "or"]);
                let (left, right) = (self.cond(depth - 1), self.cond(depth - 1));
                operation(sign, left, right)
            }
        }
    }
}

fn operation(op: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
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

/// The plain interpreter: slow and obvious.
fn plain(value: &Value, fields: &[BigInt]) -> BigInt {
    match value["type"].as_str() {
        Some("hexstr") => {
            let digits = value["value"]
                .as_str()
                .expect("a text")
                .trim_start_matches("0x");
            return BigInt::parse_bytes(digits.as_bytes(), 16).expect("a number");
        }
        Some("field") => {
            let name = value["value"][1].as_str();
            let index = FIELDS.iter().position(|(field, _)| Some(*field) == name);
            return fields[index.expect("a field")].clone();
        }
        _ => {}
    }
    let value = &value["value"];
    let side = |name: &str| plain(&value[name], fields);
    let truth = |holds: bool| BigInt::from(u8::from(holds));
    let shift = || u32::try_from(side("right")).expect("a small number");
    let power = |bits: u32| BigInt::from(1) << bits;
    let zero = BigInt::from(0);
    match value["op"].as_str().expect("an operation") {
        "+" => side("left") + side("right"),
        "-" => side("left") - side("right"),
        "*" => side("left") * side("right"),
        "&" => side("left") & side("right"),
        "|" => side("left") | side("right"),
        "^" => side("left") ^ side("right"),
        "~" => -side("right") - 1,
        "<<" => side("left") << shift(),
        ">>" => side("left") >> shift(),
        "two_comp_mod" => {
            let low = side("left") & (power(shift()) - 1);
            if low < power(shift() - 1) {
                low
            } else {
                low - power(shift())
            }
        }
        "usat_cast" => side("left").max(zero).min(power(shift()) - 1),
        "sat_cast" => side("left")
            .max(-power(shift() - 1))
            .min(power(shift() - 1) - 1),
        "==" => truth(side("left") == side("right")),
        "!=" => truth(side("left") != side("right")),
        "<" => truth(side("left") < side("right")),
        "<=" => truth(side("left") <= side("right")),
        ">" => truth(side("left") > side("right")),
        ">=" => truth(side("left") >= side("right")),
        "and" => truth(side("left") != zero && side("right") != zero),
        "or" => truth(side("left") != zero || side("right") != zero),
        "not" => truth(side("right") == zero),
        "b2d" | "d2b" => truth(side("right") != zero),
        "?" if side("cond") == zero => side("right"),
        "?" => side("left"),
        other => panic!("{other} is no operation of the grammar"),
    }
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
        let expression = random.data(DEPTH);
        let mut switch = Switch::new(program(&expression), 0);
        for _ in 0..PACKETS {
            let bytes = (0..bits / 8).map(|_| [0, 0xff, random.below(256)][random.below(3)] as u8);
            let frame: Vec<u8> = bytes.collect();
            let mut sent: Vec<Sent> = Vec::new();
            switch.receive(0, &frame, 0, &mut sent);
            let mut wanted = split(&frame);
            let (_, width) = FIELDS[FIELDS.len() - 1];
            let result = plain(&expression, &wanted) & ((BigInt::from(1) << width) - 1);
            *wanted.last_mut().expect("there are fields") = result;
            assert_eq!(split(&sent[0].frame), wanted, "{expression:#}");
        }
    }
}
