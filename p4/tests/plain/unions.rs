//! Random header unions and stacks of them, and what the plain interpreter makes of these.

use serde_json::{Value, json};

use super::expressions::{hex, operation};
use super::interpreter::{Interpreter, Packet, small, text};
use super::programs::VARIABLES;
use super::random::Random;

/// The unions, of which the last are elements of stacks.
pub const UNIONS: [&str; 6] = ["u", "w", "x[0]", "x[1]", "y[0]", "y[1]"];
/// The members of a union, by their places and the kinds of their headers.
pub const MEMBERS: [&str; 2] = ["a", "b"];
/// The stacks of unions, and their elements.
pub const UNION_STACKS: [&str; 2] = ["x", "y"];
pub const ELEMENTS: usize = 2;

/// The headers of all unions, with their kinds.
pub fn members() -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for union in UNIONS {
        let named = MEMBERS.iter().enumerate();
        all.extend(named.map(|(kind, member)| (format!("{union}.{member}"), kind)));
    }
    all
}

/// The unions and their stacks in the JSON. The first of their headers has the number `first`.
pub fn tables(first: usize) -> (Vec<Value>, Vec<Value>) {
    let row = |(id, name): (usize, &&str)| {
        let ids: Vec<usize> = (0..MEMBERS.len())
            .map(|place| first + id * MEMBERS.len() + place)
            .collect();
        json!({"name": name, "id": id, "union_type": "union_t", "header_ids": ids})
    };
    let unions = UNIONS.iter().enumerate().map(row).collect();
    let stack = |(id, name): (usize, &&str)| {
        let start = UNIONS.len() - (UNION_STACKS.len() - id) * ELEMENTS;
        let ids: Vec<usize> = (start..start + ELEMENTS).collect();
        json!({"name": name, "id": id, "union_type": "union_t", "size": ELEMENTS,
            "header_union_ids": ids})
    };
    let stacks = UNION_STACKS.iter().enumerate().map(stack).collect();
    (unions, stacks)
}

/// A union, by its name or as an element of a stack, whose index may be one too high.
pub fn union(random: &mut Random) -> Value {
    if random.one_of(2) {
        return json!({"type": "header_union", "value": random.pick(&UNIONS)});
    }
    let stack = union_stack(random);
    let index = format!("{:#x}", random.below(ELEMENTS + 1));
    let index = json!({"type": "hexstr", "value": index});
    operation("dereference_union_stack", stack, index)
}

pub fn union_stack(random: &mut Random) -> Value {
    json!({"type": "header_union_stack", "value": random.pick(&UNION_STACKS)})
}

/// A member of a union, and its kind.
pub fn member(random: &mut Random) -> (Value, usize) {
    let place = random.below(MEMBERS.len());
    let union = union(random);
    (operation("access_union_header", union, json!(place)), place)
}

/// Whether a union or a member of one is valid, or equal to another, or headers with a field of
/// variable width are equal; as a number.
pub fn truth(random: &mut Random) -> Value {
    let named = |name: &str| json!({"type": "header", "value": name});
    let equals = random.pick(&["==", "!="]);
    let truth = match random.below(5) {
        0 => operation("valid_union", Value::Null, union(random)),
        1 => operation("valid", Value::Null, member(random).0),
        2 => operation(equals, union(random), union(random)),
        3 => operation(equals, named(VARIABLES[0]), named(VARIABLES[1])),
        _ => {
            let (left, kind) = member(random);
            let right = format!("{}.{}", random.pick(&UNIONS), MEMBERS[kind]);
            operation(equals, left, named(&right))
        }
    };
    operation("b2d", Value::Null, truth)
}

impl Interpreter<'_> {
    /// The union that is meant; `None` if a stack has no such element.
    fn union(&self, value: &Value) -> Option<String> {
        if value["type"] == "header_union" {
            return Some(text(&value["value"]).into());
        }
        let inner = &value["value"];
        let index = small(&hex(&inner["right"]["value"]));
        let elements = &self.union_stacks[text(&inner["left"]["value"])];
        elements.get(index).cloned()
    }

    /// Whether an expression has a union that its stack has not.
    pub fn lacks_union(&self, value: &Value) -> bool {
        match value {
            Value::Object(inner) if value["op"] == "dereference_union_stack" => {
                self.union(&json!({"value": inner})).is_none()
            }
            Value::Object(inner) => inner.values().any(|inner| self.lacks_union(inner)),
            Value::Array(inner) => inner.iter().any(|inner| self.lacks_union(inner)),
            _ => false,
        }
    }

    /// The header that is meant; `None` if a stack has no such element.
    pub fn header(&self, value: &Value) -> Option<String> {
        if value["type"] == "header" {
            return Some(text(&value["value"]).into());
        }
        let inner = &value["value"];
        if inner["op"] == "access_union_header" {
            let place = inner["right"].as_u64().expect("a number") as usize;
            return Some(self.unions[&self.union(&inner["left"])?][place].clone());
        }
        let index = small(&hex(&inner["right"]["value"]));
        let elements = &self.stacks[text(&inner["left"]["value"])];
        elements.get(index).cloned()
    }

    /// Makes a header valid, and the other members of its union invalid.
    pub fn set_valid(&self, packet: &mut Packet, header: &str) {
        for members in self.unions.values() {
            if members.iter().any(|member| member == header) {
                for member in members {
                    packet.valid.insert(member.clone(), false);
                }
                self.in_unions.set(self.in_unions.get() + 1);
            }
        }
        packet.valid.insert(header.into(), true);
    }

    /// Makes a union what another is.
    pub fn copy_union(&self, packet: &mut Packet, to: &str, from: &str) {
        let (to, from) = (&self.unions[to], &self.unions[from]);
        let valid = from.iter().position(|header| packet.valid[header]);
        match valid {
            Some(place) => self.copy(packet, &to[place], &from[place]),
            None => {
                for header in to {
                    packet.valid.insert(header.clone(), false);
                }
            }
        }
    }

    /// The same for unions that are meant by an expression.
    pub fn assign_union(&self, packet: &mut Packet, to: &Value, from: &Value) {
        if let (Some(to), Some(from)) = (self.union(to), self.union(from)) {
            self.copy_union(packet, &to, &from);
        }
    }

    /// What an operation on headers or unions says; `None` if it is another.
    pub fn truth(&self, packet: &Packet, value: &Value) -> Option<bool> {
        let (left, right) = (&value["left"], &value["right"]);
        let is_union = |side: &Value| {
            side["type"] == "header_union" || side["value"]["op"] == "dereference_union_stack"
        };
        let equal = match text(&value["op"]) {
            "valid" => return Some(self.header(right).is_some_and(|id| packet.valid[&id])),
            "valid_union" => {
                let members = self.union(right).map(|union| &self.unions[&union]);
                return Some(members.is_some_and(|all| all.iter().any(|id| packet.valid[id])));
            }
            "==" | "!=" if is_union(left) => match (self.union(left), self.union(right)) {
                (Some(left), Some(right)) => {
                    let mut pairs = self.unions[&left].iter().zip(&self.unions[&right]);
                    pairs.all(|(a, b)| self.same(packet, Some(a), Some(b)))
                }
                (left, right) => left == right,
            },
            "==" | "!=" => {
                let (left, right) = (self.header(left), self.header(right));
                self.same(packet, left.as_ref(), right.as_ref())
            }
            _ => return None,
        };
        Some(equal == (value["op"] == "=="))
    }

    /// Whether two headers of a kind are both invalid, or both valid with the same fields.
    fn same(&self, packet: &Packet, left: Option<&String>, right: Option<&String>) -> bool {
        let fields = |header: Option<&String>| {
            let header = header.filter(|header| packet.valid[*header])?;
            let fields = self.fields[header].iter();
            let value = |field: &String| packet.values[&(header.clone(), field.clone())].clone();
            Some(fields.map(|(field, _, _)| value(field)).collect::<Vec<_>>())
        };
        fields(left) == fields(right)
    }
}
