//! The packet header vector: the values of all fields, and which headers are valid.

use alloc::vec::Vec;

use crate::bits;
use crate::int::Int;
use crate::program::{AnyStack, FieldId, Header, HeaderId, Program};

/// The headers and metadata of one packet.
#[derive(Clone, Debug, Default)]
pub struct Phv {
    /// The fields, as packets have them: one after the other, each header from a byte on. One of
    /// variable width has room for the most bits, and its value in the last of them. Those of
    /// metadata begin a machine word each, which is quicker.
    pub bytes: Vec<u8>,
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
        refill(&mut self.bytes, program.bytes + bits::SLACK, 0);
        self.valid.clear();
        let headers = program.headers.iter();
        self.valid.extend(headers.map(|header| header.metadata));
        refill(&mut self.lengths, program.headers.len(), 0);
        refill(&mut self.filled, program.stacks.len(), 0);
        refill(&mut self.unions_filled, program.union_stacks.len(), 0);
    }

    /// The memory of its values, in bytes.
    pub fn held_bytes(&self) -> usize {
        let filled = self.filled.len() + self.unions_filled.len();
        self.bytes.len()
            + self.valid.len()
            + self.lengths.len() * size_of::<u32>()
            + filled * size_of::<usize>()
    }

    /// Sets all metadata to 0.
    pub fn reset_metadata(&mut self, program: &Program) {
        for header in program.headers.iter().filter(|header| header.metadata) {
            self.bytes[place(header)].fill(0);
        }
    }

    /// The value of a field.
    pub fn get(&self, program: &Program, field: FieldId) -> Int {
        let row = &program.fields[field];
        let value = if row.word {
            Int::from(bits::read_word(&self.bytes, row.start, row.width))
        } else {
            bits::read(&self.bytes, row.start, row.width)
        };
        if row.signed {
            value.signed(row.width)
        } else {
            value
        }
    }

    /// The value of a field, if it is in the range of the word.
    #[inline]
    pub fn get_word(&self, program: &Program, field: FieldId) -> Option<i64> {
        let row = &program.fields[field];
        if !row.word {
            return None;
        }
        let value = bits::read_word(&self.bytes, row.start, row.width);
        if row.signed {
            let unused = 64 - row.width;
            return Some((value << unused) as i64 >> unused);
        }
        i64::try_from(value).ok()
    }

    /// The lowest 64 bits of a field.
    #[inline]
    pub fn low(&self, program: &Program, field: FieldId) -> u64 {
        let word = self.get_word(program, field);
        word.map_or_else(|| self.get(program, field).low(), |word| word as u64)
    }

    /// Writes a field: what its width leaves of the value.
    pub fn set(&mut self, program: &Program, field: FieldId, value: &Int) {
        let row = &program.fields[field];
        if row.word {
            bits::write_word(&mut self.bytes, row.start, row.width, value.low());
        } else {
            bits::write(&mut self.bytes, row.start, row.width, value);
        }
    }

    /// Writes a field that is a number of at most 64 bits.
    #[inline]
    pub fn set_word(&mut self, program: &Program, field: FieldId, value: i64) {
        let row = &program.fields[field];
        if row.word {
            bits::write_word(&mut self.bytes, row.start, row.width, value as u64);
        } else {
            self.set(program, field, &Int::Small(value.into()));
        }
    }

    /// Writes a field that the program may not have.
    #[inline]
    pub fn set_some(&mut self, program: &Program, field: Option<FieldId>, value: u64) {
        if let Some(field) = field {
            let row = &program.fields[field];
            if row.word {
                bits::write_word(&mut self.bytes, row.start, row.width, value);
            } else {
                self.set(program, field, &Int::from(value));
            }
        }
    }

    /// The lowest bits of a field that the program may not have.
    pub fn get_some(&self, program: &Program, field: Option<FieldId>) -> u64 {
        field.map_or(0, |field| self.low(program, field))
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

    /// Sets all fields of a header to 0.
    pub fn clear(&mut self, program: &Program, header: HeaderId) {
        self.bytes[place(&program.headers[header])].fill(0);
        self.lengths[header] = 0;
    }

    /// Appends the fields of a header.
    pub fn write(&self, program: &Program, header: HeaderId, writer: &mut bits::Writer) {
        let row = &program.headers[header];
        if row.packed() {
            return writer.push_bits(&self.bytes, row.start, row.fixed_bits);
        }
        for field in row.fields() {
            let width = self.width(program, field);
            let room = &program.fields[field];
            let start = room.start + (room.width - width) as usize;
            writer.push_bits(&self.bytes, start, width);
        }
    }

    /// Fills a header from the front of `bytes`, which has them all; its field of variable width
    /// gets `variable` bits.
    pub fn extract(&mut self, program: &Program, header: HeaderId, variable: u32, bytes: &[u8]) {
        self.lengths[header] = variable;
        let row = &program.headers[header];
        if row.packed() {
            self.bytes[place(row)].copy_from_slice(&bytes[..row.bytes]);
        } else {
            let mut at = 0;
            for field in row.fields() {
                let width = self.width(program, field);
                self.set(program, field, &bits::read(bytes, at, width));
                at += width as usize;
            }
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
        let target = program.headers[to].start / 8;
        self.bytes
            .copy_within(place(&program.headers[from]), target);
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

/// The bytes of a header among those of all.
pub fn place(header: &Header) -> core::ops::Range<usize> {
    header.start / 8..header.start / 8 + header.bytes
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
