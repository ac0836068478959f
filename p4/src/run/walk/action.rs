//! Executes the primitives of actions.

use alloc::format;
use alloc::string::String;

use super::{DROP_PORT, Walk};
use crate::int::Int;
use crate::program::{AnyStack, Data, ExternOp, HeaderOp, PacketOp, Primitive, Target};
use crate::run::sink::{DropReason, Sink};

impl<S: Sink> Walk<'_, S> {
    /// Executes primitives with the parameters of an action.
    pub(super) fn primitives(&mut self, body: &[Primitive], parameters: &[Int]) {
        let mut at = 0;
        while let Some(primitive) = body.get(at) {
            if self.packet.exit || !self.step() {
                return;
            }
            at += 1;
            match primitive {
                Primitive::NoOp => {}
                Primitive::Jump(to) => at = *to,
                Primitive::JumpIfZero(data, to) => {
                    if self.number(data, parameters).is_zero() {
                        at = *to;
                    }
                }
                Primitive::Assign(target, data) => {
                    self.assign(target, data, parameters);
                }
                Primitive::Header(op) => self.header_op(op, parameters),
                Primitive::Extern(op) => self.extern_op(op, parameters),
                Primitive::Packet(op) => self.packet_op(op, parameters),
            }
        }
    }

    fn assign(&mut self, target: &Target, data: &Data, parameters: &[Int]) {
        let word = self.view(parameters, &[]).word(data);
        if let (Target::Field(field), Some(value)) = (target, word) {
            self.packet.phv.set_word(self.program, *field, value);
            return self.trace_written(*field);
        }
        let value = self.number(data, parameters);
        self.write(target, &value, parameters);
    }

    /// The value of a number.
    pub(super) fn number(&self, data: &Data, parameters: &[Int]) -> Int {
        self.view(parameters, self.packet.ahead()).data(data)
    }

    fn write(&mut self, target: &Target, value: &Int, parameters: &[Int]) {
        let field = self.view(parameters, &[]).target(target);
        if let Some(field) = field {
            self.packet.phv.set(self.program, field, value);
            self.trace_written(field);
        }
    }

    fn trace_written(&mut self, field: usize) {
        let program = self.program;
        self.trace(2, |walk| {
            let value = walk.packet.phv.get(program, field);
            format!("{} = {value}", program.fields[field].name)
        });
    }

    /// Changes headers and stacks. Elements that a stack has not are left alone.
    fn header_op(&mut self, op: &HeaderOp, parameters: &[Int]) {
        let program = self.program;
        match op {
            HeaderOp::AssignVariable(to, from) => {
                let (to_row, from_row) = (&program.fields[*to], &program.fields[*from]);
                let length = self.packet.phv.lengths[from_row.header].min(to_row.width);
                let value = self.packet.phv.get(program, *from).wrapped(length);
                self.packet.phv.set(program, *to, &value);
                self.packet.phv.lengths[to_row.header] = length;
            }
            HeaderOp::Assign(to, from) => {
                let from = self.view(parameters, &[]).header(from);
                if let Some(to) = self.view(parameters, &[]).header(to) {
                    match from {
                        Some(from) => self.packet.phv.copy(program, to, from),
                        None => self.packet.phv.valid[to] = false,
                    }
                }
            }
            HeaderOp::AssignUnion(to, from) => {
                let from = self.view(parameters, &[]).union(from);
                if let (Some(to), Some(from)) = (self.view(parameters, &[]).union(to), from) {
                    let (to, from) = (&program.unions[to], &program.unions[from]);
                    self.packet
                        .phv
                        .copy_members(program, &to.members, &from.members);
                }
            }
            HeaderOp::AssignStack(to, from) => self.packet.phv.copy_stack(program, *to, *from),
            HeaderOp::Push(stack, count) => {
                let count = self.number(count, parameters).index();
                self.packet.phv.push(program, *stack, count);
                self.trace(2, |_| format!("push {}", walk_stack(program, *stack)));
            }
            HeaderOp::Pop(stack, count) => {
                let count = self.number(count, parameters).index();
                self.packet.phv.pop(program, *stack, count);
                self.trace(2, |_| format!("pop {}", walk_stack(program, *stack)));
            }
            HeaderOp::SetValid(header) => {
                if let Some(id) = self.view(parameters, &[]).header(header) {
                    self.set_valid(id);
                }
            }
            HeaderOp::SetInvalid(header) => {
                let id = self.view(parameters, &[]).header(header);
                if let Some(id) = id.filter(|id| self.packet.phv.valid[*id]) {
                    let bytes = self.packet.phv.header_bytes(program, id);
                    self.packet.length = self.packet.length.saturating_sub(bytes);
                    self.packet.phv.valid[id] = false;
                    let name = &program.headers[id].name;
                    self.trace(2, |_| format!("{name} is invalid now"));
                }
            }
        }
    }

    fn set_valid(&mut self, id: usize) {
        let program = self.program;
        let phv = &mut self.packet.phv;
        if phv.valid[id] {
            return;
        }
        phv.clear(program, id);
        phv.set_valid(program, id);
        self.packet.length += phv.header_bytes(program, id);
        let name = &program.headers[id].name;
        self.trace(2, |_| format!("{name} is valid now"));
    }

    /// Uses what has a state of its own.
    fn extern_op(&mut self, op: &ExternOp, parameters: &[Int]) {
        match op {
            ExternOp::Hash {
                to,
                base,
                calculation,
                size,
            } => {
                let hash = self.calculate(*calculation);
                let base = self.number(base, parameters).low();
                // Choice: nothing is taken of a hash by a range of nothing.
                let size = self.number(size, parameters).low();
                let value = hash.checked_rem(size).unwrap_or(0).wrapping_add(base);
                self.write(to, &Int::from(value), parameters);
            }
            ExternOp::Random { to, low, high } => {
                let low = self.number(low, parameters).low();
                let high = self.number(high, parameters).low();
                let value = self.state.random(low, high);
                self.write(to, &Int::from(value), parameters);
            }
            ExternOp::RegisterRead(to, register, index) => {
                let index = self.number(index, parameters).index();
                // Where there is no such register, the target keeps its value.
                if let Some(value) = self.state.externs.registers[*register].get(index) {
                    self.write(to, &value, parameters);
                }
            }
            ExternOp::RegisterWrite(register, index, value) => {
                let index = self.number(index, parameters).index();
                let row = &self.program.registers[*register];
                let value = self.number(value, parameters).wrapped(row.width);
                if let Some(cell) = self.state.externs.registers[*register].cell(index) {
                    *cell = value.clone();
                    self.trace(2, |_| format!("{}[{index}] = {value}", row.name));
                }
            }
            ExternOp::Count(counter, index) => {
                let index = self.number(index, parameters).index();
                if let Some(cell) = self.state.externs.counters[*counter].cell(index) {
                    cell.add(self.packet.frame.len());
                }
            }
            ExternOp::Meter(meter, index, to) => {
                let index = self.number(index, parameters).index();
                let units = if self.program.meters[*meter].bytes {
                    self.packet.frame.len() as u64
                } else {
                    1
                };
                if let Some(cell) = self.state.externs.meters[*meter].cell(index) {
                    let color = cell.execute(units, self.now);
                    self.write(to, &Int::Small(color as i128), parameters);
                }
            }
        }
    }

    /// Says what becomes of the packet.
    fn packet_op(&mut self, op: &PacketOp, parameters: &[Int]) {
        let program = self.program;
        match op {
            PacketOp::Exit => self.packet.exit = true,
            PacketOp::MarkToDrop => {
                let phv = &mut self.packet.phv;
                phv.set_some(program, program.standard.egress_spec, DROP_PORT);
                phv.set_some(program, program.standard.mcast_grp, 0);
                self.trace(2, |_| "mark to drop".into());
            }
            PacketOp::Clone(session, list) => {
                let session = self.number(session, parameters).low() as u32;
                self.packet.clone = Some((session, *list));
            }
            PacketOp::Resubmit(list) => self.packet.resubmit = *list,
            PacketOp::Recirculate(list) => self.packet.recirculate = *list,
            PacketOp::Digest(list) => self.packet.digest = Some(*list),
            PacketOp::Log(format, values) => {
                let values: alloc::vec::Vec<Int> = values
                    .iter()
                    .map(|data| self.number(data, parameters))
                    .collect();
                let text = filled(format, &values);
                self.trace(2, |_| format!("log: {text}"));
                self.sink.log(text);
            }
            PacketOp::Truncate(length) => {
                let most = self.number(length, parameters).index();
                let before = self.packet.truncate.unwrap_or(usize::MAX);
                self.packet.truncate = Some(most.min(before));
            }
            PacketOp::Assert(name, data) => {
                if self.number(data, parameters).is_zero() {
                    self.trace(2, |_| format!("{name} does not hold"));
                    self.packet.kill(DropReason::Assertion);
                }
            }
        }
    }
}

fn walk_stack(program: &crate::program::Program, stack: AnyStack) -> &str {
    match stack {
        AnyStack::Headers(id) => &program.stacks[id].name,
        AnyStack::Unions(id) => &program.union_stacks[id].name,
    }
}

/// A text of `log_msg` with its values, in decimal, where it has braces. A backslash keeps a brace.
fn filled(format: &str, values: &[Int]) -> String {
    let mut text = String::new();
    let mut values = values.iter();
    let mut chars = format.chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => match chars.next() {
                Some(brace @ ('{' | '}')) => text.push(brace),
                Some(other) => text.extend(['\\', other]),
                None => text.push('\\'),
            },
            '{' => {
                while chars.next().is_some_and(|inner| inner != '}') {}
                match values.next() {
                    Some(Int::Small(value)) => text.push_str(&format!("{value}")),
                    Some(value) => text.push_str(&format!("{value}")),
                    None => text.push_str("{}"),
                }
            }
            other => text.push(other),
        }
    }
    text
}
