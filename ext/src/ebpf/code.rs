//! The code of a program, checked when it is loaded.

use alloc::{vec, vec::Vec};
use core::{array, fmt};

use super::arithmetic::{holds64, op, result32, result64};
use super::atomic;
use super::helper::Helper;
use super::instruction::{
    ATOMIC, FRAME_POINTER, IMM, Instruction, LD_IMM64, MEM, MEMSX, MODE, OF_MAP, SLOT_BYTES, class,
};

/// The most slots of a program.
pub const MAX_SLOTS: usize = 4096;

/// The reason why code is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadCode {
    /// It has no slots, more than [`MAX_SLOTS`], or part of one.
    Length,
    /// An instruction that is unknown, or has a register, helper, map or constant that is.
    Instruction(usize),
    /// A jump, or the end of the code, leads to no instruction.
    Jump(usize),
    /// No way leads from an instruction that can be reached to an exit.
    Endless(usize),
}

impl fmt::Display for BadCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => write!(f, "code has 1 to {MAX_SLOTS} slots of {SLOT_BYTES} bytes"),
            Self::Instruction(slot) => write!(f, "slot {slot} is no instruction that is known"),
            Self::Jump(slot) => write!(f, "slot {slot} leads to no instruction"),
            Self::Endless(slot) => write!(f, "no way leads from slot {slot} to an exit"),
        }
    }
}

/// The code of a program.
///
/// Invariant: all instructions are known, and have registers, helpers and maps that are there; all
/// jumps lead to instructions; from each that can be reached, a way leads to an exit. Whether that
/// is taken depends on packets, so a run is metered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Code(Vec<Instruction>);

impl Code {
    /// Reads and checks the code of a program with so many maps. Errors: the first reason to refuse
    /// it.
    pub fn load(bytes: &[u8], maps: usize) -> Result<Self, BadCode> {
        let slots = bytes.chunks_exact(SLOT_BYTES);
        if !(1..=MAX_SLOTS).contains(&slots.len()) || !slots.remainder().is_empty() {
            return Err(BadCode::Length);
        }
        let slots = slots.map(|slot| Instruction::from_slot(array::from_fn(|i| slot[i])));
        let slots: Vec<_> = slots.collect();
        let mut starts = vec![false; slots.len()];
        let mut at = 0;
        while at < slots.len() {
            starts[at] = true;
            let known = is_known(&slots[at..], maps);
            if !known {
                return Err(BadCode::Instruction(at));
            }
            at += length(slots[at]);
        }
        let code = Self(slots);
        let is_start = |slot: &usize| starts.get(*slot) == Some(&true);
        for slot in (0..starts.len()).filter(is_start) {
            if !code.successors(slot).iter().flatten().all(is_start) {
                return Err(BadCode::Jump(slot));
            }
        }
        code.check_ends()?;
        Ok(code)
    }

    /// The slots.
    pub fn slots(&self) -> &[Instruction] {
        &self.0
    }

    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|slot| slot.to_slot()).collect()
    }

    /// The slots that may be executed after this one. A place before the first slot is one behind
    /// the last.
    fn successors(&self, slot: usize) -> [Option<usize>; 2] {
        let this = self.0[slot];
        let next = slot + length(this);
        if this.is_exit() {
            return [None, None];
        }
        if !this.jumps() {
            return [Some(next), None];
        }
        let target = next.checked_add_signed(this.distance());
        let target = target.unwrap_or(self.0.len());
        [Some(target), (!this.always_jumps()).then_some(next)]
    }

    /// Checks that a way leads from each instruction that can be reached to an exit.
    fn check_ends(&self) -> Result<(), BadCode> {
        let mut predecessors = vec![Vec::new(); self.0.len()];
        let mut reached = vec![false; self.0.len()];
        let mut open = vec![0];
        let mut ends = vec![false; self.0.len()];
        let mut exits = Vec::new();
        while let Some(slot) = open.pop() {
            if core::mem::replace(&mut reached[slot], true) {
                continue;
            }
            if self.0[slot].is_exit() {
                exits.push(slot);
            }
            for next in self.successors(slot).into_iter().flatten() {
                predecessors[next].push(slot);
                open.push(next);
            }
        }
        while let Some(slot) = exits.pop() {
            if !core::mem::replace(&mut ends[slot], true) {
                exits.extend(&predecessors[slot]);
            }
        }
        let endless = (0..self.0.len()).find(|slot| reached[*slot] && !ends[*slot]);
        endless.map_or(Ok(()), |slot| Err(BadCode::Endless(slot)))
    }
}

/// The slots of an instruction.
fn length(instruction: Instruction) -> usize {
    if instruction.opcode == LD_IMM64 { 2 } else { 1 }
}

/// Returns true if the instruction with which `slots` begin is one that is known.
fn is_known(slots: &[Instruction], maps: usize) -> bool {
    let this = slots[0];
    let writes = matches!(
        this.class(),
        class::LD | class::LDX | class::ALU | class::ALU64
    );
    if this.dst > FRAME_POINTER || this.src > FRAME_POINTER || writes && this.dst == FRAME_POINTER {
        return false;
    }
    match this.class() {
        class::LD => is_constant(slots, maps),
        class::LDX if this.opcode & MODE == MEMSX => this.size() < 8,
        class::LDX | class::ST => this.opcode & MODE == MEM,
        class::STX if this.opcode & MODE == ATOMIC => {
            let fetches_to_frame_pointer =
                this.src == FRAME_POINTER && this.imm & atomic::FETCH != 0;
            this.size() >= 4 && atomic::is_known(this.imm) && !fetches_to_frame_pointer
        }
        class::STX => this.opcode & MODE == MEM,
        class::ALU | class::ALU64 => is_arithmetic(this),
        class::JMP if this.is_call() => {
            !this.has_register() && this.src == 0 && Helper::numbered(this.imm).is_some()
        }
        class::JMP if this.is_exit() => !this.has_register(),
        class::JMP32 if this.always_jumps() => !this.has_register() && this.offset == 0,
        _ if this.always_jumps() => !this.has_register(),
        _ => holds64(this.code(), 0, 0).is_some(),
    }
}

/// Returns true for a constant of 64 bits, of two slots, or the number of a map.
fn is_constant(slots: &[Instruction], maps: usize) -> bool {
    let [this, next, ..] = slots else {
        return false;
    };
    let no_more = (next.opcode, next.dst, next.src, next.offset) == (0, 0, 0, 0);
    let of_what = match this.src {
        0 => true,
        OF_MAP => next.imm == 0 && usize::try_from(this.imm).is_ok_and(|map| map < maps),
        _ => false,
    };
    this.opcode == LD_IMM64 && this.opcode & MODE == IMM && no_more && of_what
}

/// Returns true for arithmetic that is known, without a division by the constant 0 and a shift by
/// as many bits as there are.
fn is_arithmetic(this: Instruction) -> bool {
    let is_64 = this.class() == class::ALU64;
    let bits = if is_64 { 64 } else { 32 };
    let is_constant = !this.has_register();
    let is_possible = match this.code() {
        // That of 64 bits always swaps, so it has no order to choose.
        op::END => return matches!(this.imm, 16 | 32 | 64) && (is_constant || !is_64),
        op::NEG => is_constant,
        op::DIV | op::MOD if is_constant => this.imm != 0,
        op::MOV if is_constant => this.offset == 0,
        op::LSH | op::RSH | op::ARSH if is_constant => (0..bits).contains(&this.imm),
        _ => true,
    };
    let result = if is_64 {
        result64(this.code(), this.offset, 0, 0)
    } else {
        result32(this.code(), this.offset, 0, 0).map(u64::from)
    };
    is_possible && result.is_some()
}
