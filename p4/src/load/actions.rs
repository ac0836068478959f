//! Reads actions and their primitives.

use alloc::format;
use alloc::vec::Vec;

use super::loader::{Loader, MAX_WIDTH, find, name};
use crate::json::{Node, Result};
use crate::program::{Action, AnyStack, Data, ExternOp, FieldList, HeaderOp, PacketOp, Primitive};

/// Reads all actions.
pub(super) fn load<'a>(loader: &mut Loader<'a>, root: &Node<'a>) -> Result<()> {
    for node in root.list("actions")? {
        let id = node.get("id")?;
        let index = loader.program.actions.len();
        if loader.actions.insert(id.number(u64::MAX)?, index).is_some() {
            return id.refuse("is there twice");
        }
        let mut parameters = Vec::new();
        for parameter in node.list("runtime_data")? {
            let width = parameter.get("bitwidth")?.number(MAX_WIDTH)? as u32;
            parameters.push((name(&parameter)?, width));
        }
        loader.parameters = parameters.iter().map(|(_, width)| *width).collect();
        let body = loader.body(&node)?;
        loader.parameters.clear();
        let name = name(&node)?;
        loader.program.actions.push(Action {
            name,
            parameters,
            body,
        });
    }
    Ok(())
}

impl Loader<'_> {
    /// The list `primitives` of an action or of the deparser.
    pub(super) fn body(&self, node: &Node<'_>) -> Result<Vec<Primitive>> {
        let primitives = node.list("primitives")?;
        let mut body = Vec::with_capacity(primitives.len());
        for node in &primitives {
            let primitive = self.primitive(node)?;
            if let Primitive::Jump(to) | Primitive::JumpIfZero(_, to) = primitive {
                if to > primitives.len() {
                    return node.refuse("jumps behind the end");
                }
            }
            body.push(primitive);
        }
        Ok(body)
    }

    /// One primitive.
    pub(super) fn primitive(&self, node: &Node<'_>) -> Result<Primitive> {
        let op = node.get("op")?;
        let arguments = Arguments {
            node,
            list: node.list("parameters")?,
        };
        let name = op.text()?;
        if let Some(primitive) = self.plain_primitive(name, &arguments)? {
            return Ok(primitive);
        }
        if let Some(step) = self.header_op(name, &arguments)? {
            return Ok(Primitive::Header(step));
        }
        if let Some(step) = self.extern_op(name, &arguments)? {
            return Ok(Primitive::Extern(step));
        }
        match self.packet_op(name, &arguments)? {
            Some(step) => Ok(Primitive::Packet(step)),
            None => op.refuse(format!("the primitive {name} is unknown")),
        }
    }

    /// Assignments and jumps.
    fn plain_primitive(&self, op: &str, arguments: &Arguments<'_>) -> Result<Option<Primitive>> {
        let get = |index| arguments.get(index);
        Ok(Some(match op {
            "assign" | "modify_field" => {
                Primitive::Assign(self.target(get(0)?)?, self.data(get(1)?)?)
            }
            "_jump" => Primitive::Jump(arguments.offset(0)?),
            "_jump_if_zero" => Primitive::JumpIfZero(self.data(get(0)?)?, arguments.offset(1)?),
            "no_op" => Primitive::NoOp,
            _ => return Ok(None),
        }))
    }

    /// Primitives that change headers and stacks.
    fn header_op(&self, op: &str, arguments: &Arguments<'_>) -> Result<Option<HeaderOp>> {
        let get = |index| arguments.get(index);
        Ok(Some(match op {
            "assign_VL" => {
                let variable = |index| {
                    let node: &Node<'_> = get(index)?;
                    if let Data::Field(id) = self.data(node)? {
                        if self.program.fields[id].variable {
                            return Ok(id);
                        }
                    }
                    node.refuse("is no field of variable width")
                };
                HeaderOp::AssignVariable(variable(0)?, variable(1)?)
            }
            "assign_header" | "copy_header" => {
                let (to, from) = (self.header(get(0)?)?, self.header(get(1)?)?);
                let kind = |header| self.program.headers[self.header_like(header)].kind;
                if kind(&to) != kind(&from) {
                    return arguments.node.refuse("copies a header of another type");
                }
                HeaderOp::Assign(to, from)
            }
            "assign_union" => {
                let (to, from) = (self.union(get(0)?)?, self.union(get(1)?)?);
                let (a, b) = (self.union_like(&to), self.union_like(&from));
                if !super::headers::same_union(self, a, b) {
                    return arguments.node.refuse("copies a union of another type");
                }
                HeaderOp::AssignUnion(to, from)
            }
            "assign_header_stack" | "assign_union_stack" => {
                let (to, from) = (self.any_stack(get(0)?)?, self.any_stack(get(1)?)?);
                if !self.same_stack(to, from) {
                    return arguments.node.refuse("copies a stack of another type");
                }
                HeaderOp::AssignStack(to, from)
            }
            "push" => HeaderOp::Push(self.any_stack(get(0)?)?, self.data(get(1)?)?),
            "pop" => HeaderOp::Pop(self.any_stack(get(0)?)?, self.data(get(1)?)?),
            "add_header" | "add_header_fast" => HeaderOp::SetValid(self.header(get(0)?)?),
            "remove_header" => HeaderOp::SetInvalid(self.header(get(0)?)?),
            _ => return Ok(None),
        }))
    }

    fn same_stack(&self, a: AnyStack, b: AnyStack) -> bool {
        match (a, b) {
            (AnyStack::Headers(a), AnyStack::Headers(b)) => {
                let (a, b) = (
                    &self.program.stacks[a].elements,
                    &self.program.stacks[b].elements,
                );
                let kind = |id: usize| self.program.headers[id].kind;
                a.len() == b.len() && kind(a[0]) == kind(b[0])
            }
            (AnyStack::Unions(a), AnyStack::Unions(b)) => {
                let stacks = &self.program.union_stacks;
                let (a, b) = (&stacks[a].elements, &stacks[b].elements);
                a.len() == b.len() && super::headers::same_union(self, a[0], b[0])
            }
            (AnyStack::Headers(_), AnyStack::Unions(_))
            | (AnyStack::Unions(_), AnyStack::Headers(_)) => false,
        }
    }

    /// Primitives of extern objects and functions.
    fn extern_op(&self, op: &str, arguments: &Arguments<'_>) -> Result<Option<ExternOp>> {
        let get = |index| arguments.get(index);
        Ok(Some(match op {
            "modify_field_with_hash_based_offset" => ExternOp::Hash {
                to: self.target(get(0)?)?,
                base: self.data(get(1)?)?,
                calculation: find(&self.calculations, &arguments.name(2)?, "calculation")?,
                size: self.data(get(3)?)?,
            },
            "modify_field_rng_uniform" => ExternOp::Random {
                to: self.target(get(0)?)?,
                low: self.data(get(1)?)?,
                high: self.data(get(2)?)?,
            },
            "register_read" => {
                let register = find(&self.registers, &arguments.name(1)?, "register")?;
                ExternOp::RegisterRead(self.target(get(0)?)?, register, self.data(get(2)?)?)
            }
            "register_write" => {
                let register = find(&self.registers, &arguments.name(0)?, "register")?;
                ExternOp::RegisterWrite(register, self.data(get(1)?)?, self.data(get(2)?)?)
            }
            "count" => {
                let counter = find(&self.counters, &arguments.name(0)?, "counter")?;
                ExternOp::Count(counter, self.data(get(1)?)?)
            }
            "execute_meter" => {
                let meter = find(&self.meters, &arguments.name(0)?, "meter")?;
                ExternOp::Meter(meter, self.data(get(1)?)?, self.target(get(2)?)?)
            }
            _ => return Ok(None),
        }))
    }

    /// Primitives that say what becomes of the packet.
    fn packet_op(&self, op: &str, arguments: &Arguments<'_>) -> Result<Option<PacketOp>> {
        let get = |index| arguments.get(index);
        Ok(Some(match op {
            "exit" => PacketOp::Exit,
            "mark_to_drop" | "drop" => PacketOp::MarkToDrop,
            "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => PacketOp::Clone(
                self.data(get(0)?)?,
                arguments.list_of(1, &self.program.field_lists)?,
            ),
            "resubmit" => PacketOp::Resubmit(arguments.list_of(0, &self.program.field_lists)?),
            "recirculate" => {
                PacketOp::Recirculate(arguments.list_of(0, &self.program.field_lists)?)
            }
            "generate_digest" => match arguments.list_of(1, &self.program.digests)? {
                Some(digest) => PacketOp::Digest(digest),
                None => return arguments.get(1)?.refuse("no digest"),
            },
            "log_msg" => {
                let values = get(1)?.list("value")?;
                let values: Result<Vec<_>> = values.iter().map(|v| self.data(v)).collect();
                PacketOp::Log(arguments.name(0)?.owned()?, values?)
            }
            "truncate" => PacketOp::Truncate(self.data(get(0)?)?),
            "assert" => PacketOp::Assert("assert", self.data(get(0)?)?),
            "assume" => PacketOp::Assert("assume", self.data(get(0)?)?),
            _ => return Ok(None),
        }))
    }
}

/// The parameters of a primitive.
struct Arguments<'a> {
    node: &'a Node<'a>,
    list: Vec<Node<'a>>,
}

impl<'a> Arguments<'a> {
    fn get(&self, index: usize) -> Result<&Node<'a>> {
        let what = || self.node.error(format!("has no parameter {index}"));
        self.list.get(index).ok_or_else(what)
    }

    /// The value of a parameter that names something.
    fn name(&self, index: usize) -> Result<Node<'a>> {
        self.get(index)?.get("value")
    }

    /// A place in the action to jump to.
    fn offset(&self, index: usize) -> Result<usize> {
        let value = self.name(index)?;
        let number = value.hex(32)?;
        Ok(number.index())
    }

    /// The list of fields that a parameter names by its number; 0 is none.
    fn list_of(&self, index: usize, lists: &[FieldList]) -> Result<Option<usize>> {
        let value = self.name(index)?;
        let id = value.hex(64)?.low();
        let found = lists.iter().position(|list| list.id == id);
        if found.is_none() && id != 0 {
            return value.refuse("no list of fields has this number");
        }
        Ok(found)
    }
}
