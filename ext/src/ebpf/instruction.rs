//! One instruction of eBPF: the bits of its 8 bytes. Spec: RFC 9669 section 3.

/// Bytes of a slot of a program's code.
pub const SLOT_BYTES: usize = 8;
/// The register that points behind the stack and cannot be written; the last one.
pub const FRAME_POINTER: u8 = 10;

/// The classes: the low three bits of the opcode.
pub mod class {
    /// Loads of a constant of 64 bits, in two slots.
    pub const LD: u8 = 0;
    /// Loads from memory.
    pub const LDX: u8 = 1;
    /// Stores of a constant.
    pub const ST: u8 = 2;
    /// Stores of a register, and atomic operations.
    pub const STX: u8 = 3;
    /// Arithmetic of 32 bits.
    pub const ALU: u8 = 4;
    /// Jumps by comparisons of 64 bits, calls, and the exit.
    pub const JMP: u8 = 5;
    /// Jumps by comparisons of 32 bits.
    pub const JMP32: u8 = 6;
    /// Arithmetic of 64 bits.
    pub const ALU64: u8 = 7;
}

/// The bit of an arithmetic operation or jump whose operand is a register, not a constant.
pub const SOURCE_X: u8 = 0x08;
/// The mode of a load or store: the high three bits.
pub const MODE: u8 = 0xe0;
/// The modes: a constant, memory, atomic.
pub const IMM: u8 = 0x00;
/// See [`IMM`].
pub const MEM: u8 = 0x60;
/// Memory, for loads that are extended by their sign.
pub const MEMSX: u8 = 0x80;
/// See [`IMM`].
pub const ATOMIC: u8 = 0xc0;
/// The opcode of a load of a constant of 64 bits.
pub const LD_IMM64: u8 = 0x18;
/// The source in such a load for which the constant is the number of one of the program's maps.
pub const OF_MAP: u8 = 1;

/// The codes of jumps that are no comparisons: the high four bits.
pub const JA: u8 = 0x00;
/// See [`JA`].
pub const CALL: u8 = 0x80;
/// See [`JA`].
pub const EXIT: u8 = 0x90;

/// One slot of a program's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation.
    pub opcode: u8,
    /// The register that is written, or compared first.
    pub dst: u8,
    /// The other register.
    pub src: u8,
    /// Slots to jump over, or bytes from an address.
    pub offset: i16,
    /// The constant.
    pub imm: i32,
}

impl Instruction {
    /// Reads a slot, whose numbers are little-endian.
    pub fn from_slot(slot: [u8; SLOT_BYTES]) -> Self {
        let [opcode, registers, o0, o1, i0, i1, i2, i3] = slot;
        Self {
            opcode,
            dst: registers & 0xf,
            src: registers >> 4,
            offset: i16::from_le_bytes([o0, o1]),
            imm: i32::from_le_bytes([i0, i1, i2, i3]),
        }
    }

    /// The slot.
    pub fn to_slot(self) -> [u8; SLOT_BYTES] {
        let [o0, o1] = self.offset.to_le_bytes();
        let [i0, i1, i2, i3] = self.imm.to_le_bytes();
        let registers = self.src << 4 | self.dst;
        [self.opcode, registers, o0, o1, i0, i1, i2, i3]
    }

    /// The class.
    pub fn class(self) -> u8 {
        self.opcode & 7
    }

    /// The operation of an arithmetic instruction or jump.
    pub fn code(self) -> u8 {
        self.opcode & 0xf0
    }

    /// Returns true if the operand of an arithmetic instruction or jump is a register.
    pub fn has_register(self) -> bool {
        self.opcode & SOURCE_X != 0
    }

    /// The bytes that a load or store moves.
    pub fn size(self) -> usize {
        match self.opcode & 0x18 {
            0x00 => 4,
            0x08 => 2,
            0x10 => 1,
            _ => 8,
        }
    }

    /// Returns true if it ends the program.
    pub fn is_exit(self) -> bool {
        self.class() == class::JMP && self.code() == EXIT
    }

    /// Returns true if it calls a helper.
    pub fn is_call(self) -> bool {
        self.class() == class::JMP && self.code() == CALL
    }

    /// Returns true if it is a jump with a target, which is `offset` slots behind the next one.
    pub fn jumps(self) -> bool {
        matches!(self.class(), class::JMP | class::JMP32) && !self.is_exit() && !self.is_call()
    }

    /// Slots between the next instruction and the target of a jump: the constant of a long one.
    pub fn distance(self) -> isize {
        if self.class() == class::JMP32 && self.code() == JA {
            self.imm as isize
        } else {
            self.offset.into()
        }
    }

    /// Returns true if it is a jump that is always taken.
    pub fn always_jumps(self) -> bool {
        self.jumps() && self.code() == JA
    }
}
