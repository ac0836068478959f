//! A run of a program on one packet: registers, memory by regions, a meter of instructions.
//!
//! An address is 64 bits: a region in the upper half, and bytes from its start in the lower one. So
//! a program may compute any address, and each access is checked against the region's bounds.

use super::arithmetic::{holds32, holds64, in_order, op, result32, result64};
use super::atomic;
use super::code::Code;
use super::helper::Helper;
use super::instruction::{ATOMIC, FRAME_POINTER, Instruction, MEMSX, MODE, OF_MAP, class};
use super::map::{MAX_KEY_BYTES, MAX_VALUE_BYTES, Map, UpdateIf};

/// The most instructions of a run; a call of a helper counts as [`STEPS_OF_HELPER`].
pub const MAX_STEPS: u32 = 16_384;
/// The instructions as which a call of a helper counts.
pub const STEPS_OF_HELPER: u32 = 32;
/// Bytes of the stack.
pub const STACK_BYTES: usize = 512;
/// The most notifications of a run, and the most bytes of one.
pub const MAX_NOTIFICATIONS: usize = 4;
/// See [`MAX_NOTIFICATIONS`].
pub const MAX_NOTIFICATION_BYTES: usize = 1024;
/// Bytes before the packet, in BPFabric's order: ingress port, seconds and nanoseconds, 4 bytes
/// each, and the packet's length, 2 bytes; all little-endian.
pub const METADATA_BYTES: usize = 14;

/// What a program may do besides computing.
pub trait Outside {
    /// The packet's bytes.
    fn packet(&self) -> &[u8];
    /// The same, to be changed.
    fn packet_mut(&mut self) -> &mut [u8];
    /// The port that the packet came in through.
    fn in_port(&mut self) -> u32;
    /// The time in nanoseconds.
    fn now_ns(&self) -> u64;
    /// Tells controllers something.
    fn notify(&mut self, id: u32, data: &[u8]);
}

/// The reason why a run ends before its exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// More than [`MAX_STEPS`].
    Overrun,
    /// Memory that is not there, or must not be written.
    BadAccess,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Register 0 at the exit.
    pub result: Result<u64, Fault>,
    /// The steps that it took.
    pub steps: u32,
}

/// Runs a program on a packet. Never panics, whatever the code and the packet.
pub fn run(code: &Code, maps: &mut [Map], outside: &mut impl Outside) -> Ran {
    let port = outside.in_port();
    let now = outside.now_ns();
    let length = outside.packet().len();
    let mut metadata = [0; METADATA_BYTES];
    metadata[..4].copy_from_slice(&port.to_le_bytes());
    metadata[4..8].copy_from_slice(&((now / NS_PER_SECOND) as u32).to_le_bytes());
    metadata[8..12].copy_from_slice(&((now % NS_PER_SECOND) as u32).to_le_bytes());
    metadata[12..].copy_from_slice(&(length as u16).to_le_bytes());
    let mut interpreter = Interpreter {
        registers: [0; 16],
        metadata,
        stack: [0; STACK_BYTES],
        maps,
        outside,
        notifications: 0,
        steps: 0,
    };
    interpreter.registers[1] = address(PACKET, 0);
    interpreter.registers[2] = (METADATA_BYTES + length) as u64;
    interpreter.registers[usize::from(FRAME_POINTER)] = address(STACK, STACK_BYTES);
    let result = interpreter.run(code.slots());
    Ran {
        result,
        steps: interpreter.steps,
    }
}

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The regions: metadata and packet; stack; handles of maps, which have no bytes; and the values of
/// each map.
const PACKET: u32 = 1;
const STACK: u32 = 2;
const MAPS: u32 = 3;
const FIRST_VALUES: u32 = 16;

fn address(region: u32, offset: usize) -> u64 {
    u64::from(region) << 32 | offset as u64
}

struct Interpreter<'a, O> {
    /// Of which the last five do not exist; so each four bits are an index.
    registers: [u64; 16],
    metadata: [u8; METADATA_BYTES],
    stack: [u8; STACK_BYTES],
    maps: &'a mut [Map],
    outside: &'a mut O,
    notifications: usize,
    steps: u32,
}

impl<O: Outside> Interpreter<'_, O> {
    fn run(&mut self, slots: &[Instruction]) -> Result<u64, Fault> {
        let mut next = 0;
        loop {
            // Checked when the code was loaded: each successor is an instruction.
            let this = slots[next];
            next += 1;
            self.spend(1)?;
            match this.class() {
                class::LD => {
                    let upper = slots[next].imm;
                    next += 1;
                    let constant = u64::from(upper as u32) << 32 | u64::from(this.imm as u32);
                    let is_map = this.src == OF_MAP;
                    let map = address(MAPS, this.imm as u32 as usize);
                    *self.dst(this) = if is_map { map } else { constant };
                }
                class::LDX => {
                    let value = self.load(self.at(this, this.src), this.size())?;
                    let unused_bits = 64 - 8 * this.size();
                    *self.dst(this) = if this.opcode & MODE == MEMSX {
                        ((value as i64) << unused_bits >> unused_bits) as u64
                    } else {
                        value
                    };
                }
                class::ST => {
                    let value = i64::from(this.imm) as u64;
                    self.store(self.at(this, this.dst), this.size(), value)?;
                }
                class::STX if this.opcode & MODE == ATOMIC => self.atomic(this)?,
                class::STX => {
                    let value = self.register(this.src);
                    self.store(self.at(this, this.dst), this.size(), value)?;
                }
                class::ALU | class::ALU64 => *self.dst(this) = self.arithmetic(this),
                _ if this.is_exit() => return Ok(self.registers[0]),
                _ if this.is_call() => self.call(this.imm)?,
                _ if self.is_taken(this) => {
                    // Checked when the code was loaded: it does not lead before the first slot.
                    next = next.wrapping_add_signed(this.distance());
                }
                _ => {}
            }
        }
    }

    fn spend(&mut self, steps: u32) -> Result<(), Fault> {
        self.steps += steps;
        if self.steps > MAX_STEPS {
            return Err(Fault::Overrun);
        }
        Ok(())
    }

    fn register(&self, number: u8) -> u64 {
        self.registers[usize::from(number & 0xf)]
    }

    fn dst(&mut self, this: Instruction) -> &mut u64 {
        &mut self.registers[usize::from(this.dst & 0xf)]
    }

    /// The address of a load or store.
    fn at(&self, this: Instruction, base: u8) -> u64 {
        self.register(base).wrapping_add_signed(this.offset.into())
    }

    /// The second operand of arithmetic or of a comparison.
    fn operand(&self, this: Instruction) -> u64 {
        if this.has_register() {
            self.register(this.src)
        } else {
            i64::from(this.imm) as u64
        }
    }

    fn arithmetic(&self, this: Instruction) -> u64 {
        let (a, b) = (self.register(this.dst), self.operand(this));
        let is_64 = this.class() == class::ALU64;
        let result = match this.code() {
            op::END => in_order(a, this.imm, is_64 || this.has_register()),
            code if is_64 => result64(code, this.offset, a, b),
            code => result32(code, this.offset, a as u32, b as u32).map(u64::from),
        };
        // Checked when the code was loaded: it is known.
        result.unwrap_or(a)
    }

    fn is_taken(&self, this: Instruction) -> bool {
        let (a, b) = (self.register(this.dst), self.operand(this));
        let holds = if this.class() == class::JMP32 {
            holds32(this.code(), a as u32, b as u32)
        } else {
            holds64(this.code(), a, b)
        };
        holds.unwrap_or(false)
    }

    /// Bytes at an address; `writes` refuses those that are read only.
    fn bytes(&mut self, address: u64, count: usize, writes: bool) -> Result<&mut [u8], Fault> {
        let region = (address >> 32) as u32;
        let offset = address as u32 as usize;
        let found = match region {
            PACKET if offset < METADATA_BYTES && !writes => {
                self.metadata.get_mut(offset..offset.saturating_add(count))
            }
            PACKET if offset >= METADATA_BYTES => {
                let from = offset - METADATA_BYTES;
                self.outside
                    .packet_mut()
                    .get_mut(from..from.saturating_add(count))
            }
            STACK => self.stack.get_mut(offset..offset.saturating_add(count)),
            region => {
                let map = region.checked_sub(FIRST_VALUES).map(|map| map as usize);
                let map = map.and_then(|map| self.maps.get_mut(map));
                map.and_then(|map| map.part(offset, count))
            }
        };
        found.ok_or(Fault::BadAccess)
    }

    /// Copies bytes at an address to where they are used, without asking to change the packet.
    fn read<'b>(&mut self, address: u64, into: &'b mut [u8]) -> Result<&'b [u8], Fault> {
        let offset = address as u32 as usize;
        let count = into.len();
        if (address >> 32) as u32 == PACKET && offset >= METADATA_BYTES {
            let from = offset - METADATA_BYTES;
            let part = self.outside.packet().get(from..from.saturating_add(count));
            into.copy_from_slice(part.ok_or(Fault::BadAccess)?);
        } else {
            into.copy_from_slice(self.bytes(address, count, false)?);
        }
        Ok(into)
    }

    fn load(&mut self, address: u64, size: usize) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes[..size])?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn store(&mut self, address: u64, size: usize, value: u64) -> Result<(), Fault> {
        let bytes = self.bytes(address, size, true)?;
        bytes.copy_from_slice(&value.to_le_bytes()[..size]);
        Ok(())
    }

    fn atomic(&mut self, this: Instruction) -> Result<(), Fault> {
        let (at, size) = (self.at(this, this.dst), this.size());
        let before = self.load(at, size)?;
        let cut = |value: u64| {
            if size == 4 {
                value & u64::from(u32::MAX)
            } else {
                value
            }
        };
        let expected = cut(self.registers[0]);
        let after = atomic::after(this.imm, before, cut(self.register(this.src)), expected);
        self.store(at, size, after)?;
        if this.imm == atomic::CMPXCHG {
            self.registers[0] = before;
        } else if this.imm & atomic::FETCH != 0 {
            self.registers[usize::from(this.src & 0xf)] = before;
        }
        Ok(())
    }

    fn call(&mut self, number: i32) -> Result<(), Fault> {
        self.spend(STEPS_OF_HELPER)?;
        let [_, a, b, c, d, ..] = self.registers;
        let done = match Helper::numbered(number) {
            Some(Helper::MapLookup) => self.look_up(a, b, c)?,
            Some(Helper::MapUpdate) => self.update(a, b, c, d)?,
            Some(Helper::MapDelete) => {
                let mut key = [0; MAX_KEY_BYTES];
                let (map, key) = self.map_and_key(a, b, &mut key)?;
                self.maps[map].delete(key)
            }
            Some(Helper::Notify) => self.notify(a as u32, b, c as u32 as usize)?,
            Some(Helper::Time) | None => true,
        };
        self.registers[0] = match Helper::numbered(number) {
            Some(Helper::Time) => self.outside.now_ns(),
            _ if done => 0,
            _ => u64::MAX,
        };
        // What a function does with its arguments is not for programs to rely on.
        self.registers[1..=5].fill(0);
        Ok(())
    }

    /// The number of the map that a handle names, and the key at an address.
    fn map_and_key<'b>(
        &mut self,
        handle: u64,
        at: u64,
        key: &'b mut [u8; MAX_KEY_BYTES],
    ) -> Result<(usize, &'b [u8]), Fault> {
        let number = handle as u32 as usize;
        let is_handle = (handle >> 32) as u32 == MAPS;
        let map = self.maps.get(number).filter(|_| is_handle);
        let bytes = map.ok_or(Fault::BadAccess)?.form().key_bytes();
        let key = self.read(at, &mut key[..bytes])?;
        Ok((number, key))
    }

    fn look_up(&mut self, handle: u64, key_at: u64, pointer_at: u64) -> Result<bool, Fault> {
        let mut key = [0; MAX_KEY_BYTES];
        let (map, key) = self.map_and_key(handle, key_at, &mut key)?;
        let Some(offset) = self.maps[map].find(key) else {
            return Ok(false);
        };
        let value = address(FIRST_VALUES + map as u32, offset);
        self.store(pointer_at, size_of::<u64>(), value)?;
        Ok(true)
    }

    fn update(&mut self, handle: u64, at: u64, value_at: u64, flags: u64) -> Result<bool, Fault> {
        let mut key = [0; MAX_KEY_BYTES];
        let (map, key) = self.map_and_key(handle, at, &mut key)?;
        let mut value = [0; MAX_VALUE_BYTES];
        let bytes = self.maps[map].form().value_bytes();
        let value = self.read(value_at, &mut value[..bytes])?;
        let when = UpdateIf::of_flags(flags);
        Ok(when.is_some_and(|when| self.maps[map].update(key, value, when)))
    }

    fn notify(&mut self, id: u32, at: u64, bytes: usize) -> Result<bool, Fault> {
        if bytes > MAX_NOTIFICATION_BYTES || self.notifications >= MAX_NOTIFICATIONS {
            return Ok(false);
        }
        let mut data = [0; MAX_NOTIFICATION_BYTES];
        let data = self.read(at, &mut data[..bytes])?;
        self.notifications += 1;
        self.outside.notify(id, data);
        Ok(true)
    }
}
