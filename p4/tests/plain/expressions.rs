//! Random expressions, and what they are in numbers of any size.

use num_bigint::BigInt;
use serde_json::{Value, json};

use super::random::Random;

/// Makes what an expression begins with: a field, a constant.
pub type Leaf<'a> = &'a dyn Fn(&mut Random) -> Value;

/// Expressions of a depth, with such leaves.
pub struct Grammar<'a>(pub Leaf<'a>);

pub fn operation(op: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

impl Grammar<'_> {
    /// An expression that is a number.
    pub fn data(&self, random: &mut Random, depth: usize) -> Value {
        if depth == 0 || random.one_of(6) {
            return (self.0)(random);
        }
        let left = self.data(random, depth - 1);
        let right = self.data(random, depth - 1);
        let small = 1 + random.below(180);
        let small = json!({"type": "hexstr", "value": format!("{small:#x}")});
        match random.below(9) {
            0 => operation("~", Value::Null, right),
            1 => operation(random.pick(&["<<", ">>"]), left, small),
            2 => {
                let cast = random.pick(&["two_comp_mod", "sat_cast", "usat_cast"]);
                operation(cast, left, small)
            }
            3 => operation("b2d", Value::Null, self.cond(random, depth - 1)),
            4 => {
                let mut value = operation("?", left, right);
                value["value"]["cond"] = self.cond(random, depth - 1);
                value
            }
            5 => {
                // Only numbers that are not negative are divided in P4.
                let masks = [random.number(), random.number()];
                let [left_mask, right_mask] = masks;
                let (left, right) = (
                    operation("&", left, left_mask),
                    operation("&", right, right_mask),
                );
                operation(random.pick(&["/", "%"]), left, right)
            }
            _ => {
                let sign = random.pick(&["+", "-", "*", "&", "|", "^"]);
                operation(sign, left, right)
            }
        }
    }

    /// An expression that is true or false.
    pub fn cond(&self, random: &mut Random, depth: usize) -> Value {
        if depth == 0 || random.below(3) > 0 {
            let sign = random.pick(&["==", "!=", "<", "<=", ">", ">="]);
            let left = self.data(random, depth);
            return operation(sign, left, self.data(random, depth));
        }
        match random.below(3) {
            0 => operation("not", Value::Null, self.cond(random, depth - 1)),
            1 => operation("d2b", Value::Null, self.data(random, depth - 1)),
            _ => {
                let sign = random.pick(&["and", "or"]);
                let left = self.cond(random, depth - 1);
                operation(sign, left, self.cond(random, depth - 1))
            }
        }
    }
}

/// 2 to this power.
pub fn power(bits: u32) -> BigInt {
    BigInt::from(1) << bits
}

/// The lowest bits of a number.
pub fn wrapped(value: &BigInt, bits: u32) -> BigInt {
    value & (power(bits) - 1)
}

/// The same as a number in two's complement.
pub fn signed(value: &BigInt, bits: u32) -> BigInt {
    let low = wrapped(value, bits);
    if bits == 0 || low < power(bits - 1) {
        low
    } else {
        low - power(bits)
    }
}

/// The number after 0x.
pub fn hex(value: &Value) -> BigInt {
    let digits = value.as_str().expect("a text").trim_start_matches("0x");
    BigInt::parse_bytes(digits.as_bytes(), 16).expect("a number")
}

/// Operations that give a header or a union.
const OF_HEADERS: [&str; 2] = ["access_union_header", "dereference_union_stack"];

/// The plain interpreter: slow and obvious. `leaf` gives what is no operation and no constant.
pub fn plain(value: &Value, leaf: &dyn Fn(&Value) -> BigInt) -> BigInt {
    match value["type"].as_str().expect("an expression has a type") {
        "hexstr" => return hex(&value["value"]),
        "expression" if value["value"]["op"].is_string() => {}
        "expression" => return plain(&value["value"], leaf),
        _ => return leaf(value),
    }
    let inner = &value["value"];
    // What is of headers and not of numbers.
    if ["header_union", "header"]
        .iter()
        .any(|kind| inner["left"]["type"] == *kind)
        || OF_HEADERS
            .iter()
            .any(|op| inner["left"]["value"]["op"] == *op)
    {
        return leaf(value);
    }
    let side = |name: &str| plain(&inner[name], leaf);
    let truth = |holds: bool| BigInt::from(u8::from(holds));
    let bits = || u32::try_from(side("right")).expect("a small number");
    let zero = BigInt::from(0);
    match inner["op"].as_str().expect("an operation") {
        "+" => side("left") + side("right"),
        "-" => side("left") - side("right"),
        "*" => side("left") * side("right"),
        "/" => side("left").checked_div(&side("right")).unwrap_or(zero),
        "%" if side("right") == zero => zero,
        "%" => side("left") % side("right"),
        "&" => side("left") & side("right"),
        "|" => side("left") | side("right"),
        "^" => side("left") ^ side("right"),
        "~" => -side("right") - 1,
        "<<" => side("left") << bits(),
        ">>" => side("left") >> bits(),
        "two_comp_mod" => signed(&side("left"), bits()),
        "usat_cast" => side("left").max(zero).min(power(bits()) - 1),
        "sat_cast" => side("left")
            .max(-power(bits() - 1))
            .min(power(bits() - 1) - 1),
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
        // What is of headers and stacks.
        _ => leaf(value),
    }
}
