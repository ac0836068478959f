//! The packet header vector: the values of all fields, and which headers are valid.

use alloc::vec::Vec;

use super::bits;
use crate::int::Int;
use crate::program::{AnyStack, FieldId, HeaderId, Program};

/// The headers and metadata of one packet.
#[derive(Clone, Debug, Default)]
pub struct Phv {
    pub values: Vec<Int>,
    pub valid: Vec<bool>,
    /// By header: the bits that its field of variable width has.
    pub lengths: Vec<u32>,
    /// By stack: how many elements have been filled, which is where `next` is.
    pub filled: Vec<usize>,
    /// The same for stacks of unions.
    pub unions_filled: Vec<usize>,
}

impl Phv {
    /// All fields 0, and only metadata valid.
    pub fn new(program: &Program) -> Self {
        let mut phv = Self::default();
        phv.reset(program);
        phv
    }

    /// Makes it as if it was new, in the memory that it has.
    pub fn reset(&mut self, program: &Program) {
        refill(&mut self.values, program.fields.len(), Int::ZERO);
        self.valid.clear();
        let headers = program.headers.iter();
        self.valid.extend(headers.map(|header| header.metadata));
        refill(&mut self.lengths, program.headers.len(), 0);
        refill(&mut self.filled, program.stacks.len(), 0);
        refill(&mut self.unions_filled, program.union_stacks.len(), 0);
    }

    /// Sets all metadata to 0.
    pub fn reset_metadata(&mut self, program: &Program) {
        for header in program.headers.iter().filter(|header| header.metadata) {
            self.values[header.fields()].fill(Int::ZERO);
        }
    }

    /// Writes a field: what its width leaves of the value.
    pub fn set(&mut self, program: &Program, field: FieldId, value: &Int) {
        let row = &program.fields[field];
        self.values[field] = if row.signed {
            value.signed(row.width)
        } else {
            value.wrapped(row.width)
        };
    }

    /// Writes a field that the program may not have.
    pub fn set_some(&mut self, program: &Program, field: Option<FieldId>, value: u64) {
        if let Some(field) = field {
            self.set(program, field, &Int::from(value));
        }
    }

    /// The lowest bits of a field that the program may not have.
    pub fn get_some(&self, field: Option<FieldId>) -> u64 {
        field.map_or(0, |field| self.values[field].low())
    }

    /// Makes a header valid, and the other members of its union invalid.
    pub fn set_valid(&mut self, program: &Program, header: HeaderId) {
        if let Some(union) = program.headers[header].union {
            for member in &program.unions[union].members {
                self.valid[*member] = false;
            }
        }
        self.valid[header] = true;
    }

    /// The bytes of a header.
    pub fn header_bytes(&self, program: &Program, header: HeaderId) -> usize {
        let row = &program.headers[header];
        (row.fixed_bits + self.lengths[header]).div_ceil(8) as usize
    }

    /// The bits that a field has now.
    pub fn width(&self, program: &Program, field: FieldId) -> u32 {
        let row = &program.fields[field];
        if row.variable {
            self.lengths[row.header]
        } else {
            row.width
        }
    }

    /// Fills a header from the front of `bytes`, which has them all; its field of variable width
    /// gets `variable` bits.
    pub fn extract(&mut self, program: &Program, header: HeaderId, variable: u32, bytes: &[u8]) {
        self.lengths[header] = variable;
        let mut at = 0;
        for field in program.headers[header].fields() {
            let width = self.width(program, field);
            let value = bits::read(bytes, at, width);
            self.values[field] = if program.fields[field].signed {
                value.signed(width)
            } else {
                value
            };
            at += width as usize;
        }
        self.set_valid(program, header);
    }

    /// Makes `to` what `from` is, a header of the same type.
    pub fn copy(&mut self, program: &Program, to: HeaderId, from: HeaderId) {
        if !self.valid[from] {
            self.valid[to] = false;
            return;
        }
        self.set_valid(program, to);
        self.copy_fields(program, to, from);
    }

    fn copy_fields(&mut self, program: &Program, to: HeaderId, from: HeaderId) {
        let fields = program.headers[to]
            .fields()
            .zip(program.headers[from].fields());
        for (to, from) in fields {
            self.values[to] = self.values[from].clone();
        }
        self.lengths[to] = self.lengths[from];
    }

    /// Moves a header to another place of its stack, with its validity.
    fn shift(&mut self, program: &Program, to: HeaderId, from: HeaderId) {
        self.valid[to] = self.valid[from];
        self.copy_fields(program, to, from);
    }

    /// The headers of each element of a stack, and how many elements are filled.
    fn elements<'a>(&mut self, program: &'a Program, stack: AnyStack) -> Elements<'a> {
        match stack {
            AnyStack::Headers(id) => Elements {
                all: program.stacks[id]
                    .elements
                    .iter()
                    .map(core::slice::from_ref)
                    .collect(),
                filled: self.filled[id],
            },
            AnyStack::Unions(id) => {
                let unions = program.union_stacks[id].elements.iter();
                Elements {
                    all: unions
                        .map(|union| &*program.unions[*union].members)
                        .collect(),
                    filled: self.unions_filled[id],
                }
            }
        }
    }

    fn set_filled(&mut self, stack: AnyStack, filled: usize) {
        match stack {
            AnyStack::Headers(id) => self.filled[id] = filled,
            AnyStack::Unions(id) => self.unions_filled[id] = filled,
        }
    }

    /// Moves the elements of a stack by `count` to higher places. The first become invalid.
    pub fn push(&mut self, program: &Program, stack: AnyStack, count: usize) {
        let elements = self.elements(program, stack);
        let size = elements.all.len();
        let count = count.min(size);
        for to in (count..size).rev() {
            let pairs = elements.all[to].iter().zip(elements.all[to - count]);
            pairs.for_each(|(to, from)| self.shift(program, *to, *from));
        }
        for header in elements.all[..count]
            .iter()
            .flat_map(|element| element.iter())
        {
            self.valid[*header] = false;
        }
        self.set_filled(stack, size.min(elements.filled + count));
    }

    /// Moves the elements of a stack by `count` to lower places. The last become invalid.
    pub fn pop(&mut self, program: &Program, stack: AnyStack, count: usize) {
        let elements = self.elements(program, stack);
        let size = elements.all.len();
        let count = count.min(size);
        for from in count..size {
            let pairs = elements.all[from - count].iter().zip(elements.all[from]);
            pairs.for_each(|(to, from)| self.shift(program, *to, *from));
        }
        for header in elements.all[size - count..]
            .iter()
            .flat_map(|element| element.iter())
        {
            self.valid[*header] = false;
        }
        self.set_filled(stack, elements.filled.saturating_sub(count));
    }

    /// Makes a stack what another of the same type is.
    pub fn copy_stack(&mut self, program: &Program, to: AnyStack, from: AnyStack) {
        let source = self.elements(program, from);
        let target = self.elements(program, to);
        for (to, from) in target.all.iter().zip(&source.all) {
            self.copy_members(program, to, from);
        }
        self.set_filled(to, source.filled);
    }

    /// Makes the members of a union what those of another are.
    pub fn copy_members(&mut self, program: &Program, to: &[HeaderId], from: &[HeaderId]) {
        for (to, from) in to.iter().zip(from) {
            if !self.valid[*from] {
                self.valid[*to] = false;
            }
        }
        for (to, from) in to.iter().zip(from) {
            if self.valid[*from] {
                self.copy(program, *to, *from);
            }
        }
    }
}

fn refill<T: Clone>(values: &mut Vec<T>, count: usize, value: T) {
    values.clear();
    values.resize(count, value);
}

/// The elements of a stack.
struct Elements<'a> {
    all: Vec<&'a [HeaderId]>,
    filled: usize,
}
