//! Atomic operations of eBPF, on numbers of 4 or 8 bytes. Spec: RFC 9669 section 5.3.

/// The bit of an operation that puts the number from before into the source register.
pub const FETCH: i32 = 0x01;
/// The exchange, which has that bit.
pub const XCHG: i32 = 0xe1;
/// The exchange if the number is that of register 0, which gets the number from before.
pub const CMPXCHG: i32 = 0xf1;

const ADD: i32 = 0x00;
const OR: i32 = 0x40;
const AND: i32 = 0x50;
const XOR: i32 = 0xa0;

/// Returns true if there is such an operation.
pub fn is_known(imm: i32) -> bool {
    matches!(imm & !FETCH, ADD | OR | AND | XOR) || matches!(imm, XCHG | CMPXCHG)
}

/// The number after an operation; `expected` is that of register 0. An unknown one changes nothing.
pub fn after(imm: i32, before: u64, operand: u64, expected: u64) -> u64 {
    match imm {
        XCHG => operand,
        CMPXCHG if before == expected => operand,
        _ => match imm & !FETCH {
            ADD => before.wrapping_add(operand),
            OR => before | operand,
            AND => before & operand,
            XOR => before ^ operand,
            _ => before,
        },
    }
}
