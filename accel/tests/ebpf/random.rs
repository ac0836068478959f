//! Random programs that the kernel's verifier accepts, and whose state can be seen at their end.
//!
//! Each begins with numbers in all registers but two, r6, which points to the packet, and the frame
//! pointer, and in the words of a part of the stack; it goes forward only, and computes with
//! numbers alone. At its end, it writes the registers and the stack behind what it uses of the
//! packet.

use std::fmt;

use bofuss_ext::ebpf::instruction::{
    ATOMIC, FRAME_POINTER, Instruction, JA, LD_IMM64, MEM, MEMSX, SOURCE_X, class,
};

/// Bytes of the packet that programs read and write, and of the stack.
const USED: i16 = 64;
/// The registers with numbers.
const SCALARS: [u8; 9] = [0, 1, 2, 3, 4, 5, 7, 8, 9];
/// The register with the packet's address.
const PACKET: u8 = 6;
/// Bytes of a packet: what is used, the registers, the stack.
pub(crate) const PACKET_BYTES: usize = 2 * USED as usize + 8 * SCALARS.len();
/// Where `struct __sk_buff` has the packet's address and its end.
const DATA_AT: i16 = 76;
const DATA_END_AT: i16 = 80;
/// The bytes before a packet in the switch.
const METADATA_BYTES: i32 = 14;
/// The most operations of a program, and that a jump passes.
const MAX_OPERATIONS: usize = 60;
const MAX_JUMP: usize = 8;

/// The number of different [`Program::opcodes`] that all random programs have together.
pub(crate) const KINDS: usize = 156;

/// The codes of arithmetic with an operand, as in RFC 9669.
const ARITHMETIC: [u8; 12] = [
    0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0,
];
const DIV: u8 = 0x30;
const MOD: u8 = 0x90;
const NEG: u8 = 0x80;
const MOV: u8 = 0xb0;
const END: u8 = 0xd0;
const SHIFTS: [u8; 3] = [0x60, 0x70, 0xc0];
const COMPARISONS: [u8; 11] = [
    0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0,
];
const ATOMICS: [i32; 10] = [
    0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, CMPXCHG,
];
const CMPXCHG: i32 = 0xf1;
/// The sizes of loads and stores, with their bytes.
const SIZES: [(u8, i16); 4] = [(0x10, 1), (0x08, 2), (0x00, 4), (0x18, 8)];
const EXIT: u8 = 0x95;

/// A generator of numbers.
pub(crate) struct Numbers(u64);

impl Numbers {
    /// The same numbers for the same seed.
    pub(crate) fn new(seed: u64) -> Self {
        // Seeds side by side would give one sequence, from places side by side.
        Self(Self(seed).next())
    }

    /// The next number (splitmix64).
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn scalar(&mut self) -> u8 {
        self.one_of(&SCALARS)
    }

    /// A number, often one at a border.
    fn word(&mut self) -> u64 {
        let any = self.next();
        let borders = [
            0,
            1,
            2,
            63,
            0x7f,
            0x80,
            0x8000,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            1 << 32,
            1 << 63,
            (1 << 63) - 1,
            u64::MAX,
            any,
            any as u32 as u64,
            any % 100,
            (any % 100).wrapping_neg(),
        ];
        self.one_of(&borders)
    }
}

/// An operation: its slots, of which the last one may jump to a later operation.
struct Operation {
    slots: Vec<Instruction>,
    target: Option<usize>,
}

impl From<Vec<Instruction>> for Operation {
    fn from(slots: Vec<Instruction>) -> Self {
        let target = None;
        Self { slots, target }
    }
}

/// A random program, without what puts the packet's address into r6.
pub(crate) struct Program(Vec<Instruction>);

impl Program {
    /// A program of random operations.
    pub(crate) fn random(numbers: &mut Numbers) -> Self {
        let mut slots = Vec::new();
        for register in SCALARS {
            slots.extend(constant(register, numbers.word()));
        }
        for at in (-USED..0).step_by(8) {
            let imm = numbers.word() as i32;
            slots.push(slot(class::ST | 0x18 | MEM, FRAME_POINTER, 0, at, imm));
        }
        let count = 1 + numbers.below(MAX_OPERATIONS);
        let operations: Vec<_> = (0..count).map(|at| operation(numbers, at, count)).collect();
        slots.extend(linked(&operations));
        for (register, at) in SCALARS.iter().zip((USED..).step_by(8)) {
            slots.push(slot(class::STX | 0x18 | MEM, PACKET, *register, at, 0));
        }
        for at in (-USED..0).step_by(8) {
            let to = PACKET_BYTES as i16 + at;
            slots.push(slot(class::LDX | 0x18 | MEM, 1, FRAME_POINTER, at, 0));
            slots.push(slot(class::STX | 0x18 | MEM, PACKET, 1, to, 0));
        }
        slots.push(slot(EXIT, 0, 0, 0, 0));
        Self(slots)
    }

    /// The code for the kernel, which gets a `struct __sk_buff` and has to see that the packet's
    /// length is checked.
    pub(crate) fn for_kernel(&self) -> Vec<u8> {
        let load = class::LDX | MEM;
        let head = [
            slot(load, PACKET, 1, DATA_AT, 0),
            slot(load, 2, 1, DATA_END_AT, 0),
            slot(class::ALU64 | MOV | SOURCE_X, 3, PACKET, 0, 0),
            slot(class::ALU64, 3, 0, 0, PACKET_BYTES as i32),
            // Goes on if r3 <= r2.
            slot(class::JMP | 0xb0 | SOURCE_X, 3, 2, 2, 0),
            slot(class::ALU64 | MOV, 0, 0, 0, 0),
            slot(EXIT, 0, 0, 0, 0),
        ];
        self.behind(&head)
    }

    /// The code for the switch.
    pub(crate) fn for_switch(&self) -> Vec<u8> {
        self.behind(&[
            slot(class::ALU64 | MOV | SOURCE_X, PACKET, 1, 0, 0),
            slot(class::ALU64, PACKET, 0, 0, METADATA_BYTES),
        ])
    }

    fn behind(&self, head: &[Instruction]) -> Vec<u8> {
        let slots = head.iter().chain(&self.0);
        slots.flat_map(|slot| slot.to_slot()).collect()
    }

    /// What distinguishes its operations: opcodes, with the offset of arithmetic, and with the
    /// constant of atomic operations and orders of bytes.
    pub(crate) fn opcodes(&self) -> impl Iterator<Item = (u8, i16, i32)> {
        self.0.iter().map(|slot| {
            let is_arithmetic = matches!(slot.class(), class::ALU | class::ALU64);
            let is_order = is_arithmetic && slot.code() == END;
            let is_atomic = slot.class() == class::STX && slot.opcode & 0xe0 == ATOMIC;
            let offset = if is_arithmetic { slot.offset } else { 0 };
            let imm = if is_order || is_atomic { slot.imm } else { 0 };
            (slot.opcode, offset, imm)
        })
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, slot)| {
            let Instruction {
                opcode,
                dst,
                src,
                offset,
                imm,
            } = slot;
            writeln!(f, "{at:4}: {opcode:#04x} r{dst} r{src} {offset:+} {imm:#x}")
        })
    }
}

/// What differs between packets after a program: words of the packet and of the stack, by their
/// places, and registers.
pub(crate) fn differing(ours: &[u8], kernels: &[u8]) -> Vec<String> {
    let packet = (0..USED).step_by(8).map(|at| format!("packet+{at}"));
    let registers = SCALARS.iter().map(|register| format!("r{register}"));
    let stack = (-USED..0).step_by(8).map(|at| format!("r10{at}"));
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let words = ours.chunks_exact(8).zip(kernels.chunks_exact(8));
    let named = packet.chain(registers).chain(stack).zip(words);
    let differing = named.filter(|(_, (ours, kernels))| ours != kernels);
    differing
        .map(|(name, (ours, kernels))| {
            let (ours, kernels) = (word(ours), word(kernels));
            format!("{name} is {ours:#x}, in the kernel {kernels:#x}")
        })
        .collect()
}

/// The slots of operations, with the distances of jumps.
fn linked(operations: &[Operation]) -> Vec<Instruction> {
    let mut starts = vec![0];
    for one in operations {
        starts.push(starts[starts.len() - 1] + one.slots.len());
    }
    let mut slots: Vec<Instruction> = Vec::new();
    for (at, one) in operations.iter().enumerate() {
        slots.extend(&one.slots);
        if let (Some(target), Some(last)) = (one.target, slots.last_mut()) {
            let distance = starts[target] - starts[at + 1];
            if last.class() == class::JMP32 && last.code() == JA {
                last.imm = distance as i32;
            } else {
                last.offset = distance as i16;
            }
        }
    }
    slots
}

fn slot(opcode: u8, dst: u8, src: u8, offset: i16, imm: i32) -> Instruction {
    Instruction {
        opcode,
        dst,
        src,
        offset,
        imm,
    }
}

fn constant(dst: u8, value: u64) -> Vec<Instruction> {
    let upper = (value >> 32) as i32;
    vec![
        slot(LD_IMM64, dst, 0, 0, value as i32),
        slot(0, 0, 0, 0, upper),
    ]
}

/// A random operation at a place among so many.
fn operation(numbers: &mut Numbers, at: usize, count: usize) -> Operation {
    match numbers.below(12) {
        0..4 => vec![arithmetic(numbers)].into(),
        4 => vec![order(numbers)].into(),
        5 => {
            let (dst, value) = (numbers.scalar(), numbers.word());
            constant(dst, value).into()
        }
        6..9 => vec![access(numbers)].into(),
        9 => atomic(numbers).into(),
        _ => {
            let ends = (at + 1 + numbers.below(MAX_JUMP)).min(count);
            Operation {
                slots: jump(numbers),
                target: Some(ends),
            }
        }
    }
}

fn arithmetic(numbers: &mut Numbers) -> Instruction {
    let class = numbers.one_of(&[class::ALU, class::ALU64]);
    let bits = if class == class::ALU { 32 } else { 64 };
    let dst = numbers.scalar();
    if numbers.below(ARITHMETIC.len() + 1) == 0 {
        return slot(class | NEG, dst, 0, 0, 0);
    }
    let code = numbers.one_of(&ARITHMETIC);
    if numbers.below(2) == 0 {
        let mut imm = numbers.word() as i32;
        if SHIFTS.contains(&code) {
            imm = imm.rem_euclid(bits);
        }
        let divides = matches!(code, DIV | MOD);
        if divides {
            imm |= i32::from(imm == 0);
        }
        let offset = if divides { numbers.below(2) as i16 } else { 0 };
        return slot(class | code, dst, 0, offset, imm);
    }
    let offsets: &[i16] = match code {
        DIV | MOD => &[0, 1],
        MOV if class == class::ALU => &[0, 8, 16],
        MOV => &[0, 8, 16, 32],
        _ => &[0],
    };
    let (src, offset) = (numbers.scalar(), numbers.one_of(offsets));
    slot(class | code | SOURCE_X, dst, src, offset, 0)
}

/// An order of bytes: little-endian, big-endian, or swapped.
fn order(numbers: &mut Numbers) -> Instruction {
    let opcode = numbers.one_of(&[
        class::ALU | END,
        class::ALU | END | SOURCE_X,
        class::ALU64 | END,
    ]);
    let (dst, bits) = (numbers.scalar(), numbers.one_of(&[16, 32, 64]));
    slot(opcode, dst, 0, 0, bits)
}

/// A load or store. The kernel wants those of the stack aligned.
fn access(numbers: &mut Numbers) -> Instruction {
    let (size, bytes) = numbers.one_of(&SIZES);
    let on_stack = numbers.below(2) == 0;
    let (base, at) = if on_stack {
        (FRAME_POINTER, stack_place(numbers, bytes))
    } else {
        (PACKET, numbers.below((USED - bytes + 1) as usize) as i16)
    };
    let (register, imm) = (numbers.scalar(), numbers.word() as i32);
    match numbers.below(4) {
        0 => slot(class::ST | size | MEM, base, 0, at, imm),
        1 => slot(class::STX | size | MEM, base, register, at, 0),
        2 if bytes < 8 => slot(class::LDX | size | MEMSX, register, base, at, 0),
        _ => slot(class::LDX | size | MEM, register, base, at, 0),
    }
}

fn stack_place(numbers: &mut Numbers, bytes: i16) -> i16 {
    bytes * numbers.below((USED / bytes) as usize) as i16 - USED
}

/// An atomic operation on the stack; the kernel has none on packets.
fn atomic(numbers: &mut Numbers) -> Vec<Instruction> {
    let (size, bytes) = numbers.one_of(&SIZES[2..]);
    let at = stack_place(numbers, bytes);
    let (src, imm) = (numbers.scalar(), numbers.one_of(&ATOMICS));
    let mut slots = vec![slot(
        class::STX | size | ATOMIC,
        FRAME_POINTER,
        src,
        at,
        imm,
    )];
    if imm == CMPXCHG && bytes == 4 {
        // Linux 6.18 on x86-64 sometimes keeps the upper half of r0 when it exchanges: if the
        // verifier has not seen, on this way, that r0 is read whole. RFC 9669 has zeros there.
        slots.push(slot(class::ALU | MOV | SOURCE_X, 0, 0, 0, 0));
    }
    slots
}

/// A jump by a comparison; or one that is always taken, which another one passes so that what
/// follows can be reached.
fn jump(numbers: &mut Numbers) -> Vec<Instruction> {
    let class = numbers.one_of(&[class::JMP, class::JMP32]);
    let code = numbers.one_of(&COMPARISONS);
    let dst = numbers.scalar();
    let by = if numbers.below(2) == 0 {
        slot(class | code, dst, 0, 0, numbers.word() as i32)
    } else {
        slot(class | code | SOURCE_X, dst, numbers.scalar(), 0, 0)
    };
    if numbers.below(4) > 0 {
        return vec![by];
    }
    let passing = Instruction { offset: 1, ..by };
    let always = numbers.one_of(&[class::JMP, class::JMP32]) | JA;
    vec![passing, slot(always, 0, 0, 0, 0)]
}
