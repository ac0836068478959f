//! Arithmetic and comparisons of eBPF. Spec: RFC 9669 sections 4.1 to 4.3.

/// The codes of arithmetic operations.
pub mod op {
    /// The sum.
    pub const ADD: u8 = 0x00;
    /// The difference.
    pub const SUB: u8 = 0x10;
    /// The product.
    pub const MUL: u8 = 0x20;
    /// The quotient; 0 if the divisor is 0; of signed numbers with the offset [`super::SIGNED`].
    pub const DIV: u8 = 0x30;
    /// All bits of both.
    pub const OR: u8 = 0x40;
    /// The bits that both have.
    pub const AND: u8 = 0x50;
    /// A shift to the left.
    pub const LSH: u8 = 0x60;
    /// A shift to the right.
    pub const RSH: u8 = 0x70;
    /// The negative.
    pub const NEG: u8 = 0x80;
    /// The remainder; the dividend if the divisor is 0; of signed numbers as [`DIV`].
    pub const MOD: u8 = 0x90;
    /// The bits that one of both has.
    pub const XOR: u8 = 0xa0;
    /// The operand; with an offset, the number of so many bits in it, extended by its sign.
    pub const MOV: u8 = 0xb0;
    /// A shift to the right that keeps the sign.
    pub const ARSH: u8 = 0xc0;
    /// The order of bytes.
    pub const END: u8 = 0xd0;
}

/// The offset of a signed quotient or remainder.
pub const SIGNED: i16 = 1;

/// The result of an operation of 64 bits; `None` for an unknown code or offset, and for the order
/// of bytes.
pub fn result64(code: u8, offset: i16, a: u64, b: u64) -> Option<u64> {
    let (signed_a, signed_b) = (a as i64, b as i64);
    Some(match (code, offset) {
        (op::DIV, SIGNED) if b == 0 => 0,
        (op::DIV, SIGNED) => signed_a.wrapping_div(signed_b) as u64,
        (op::MOD, SIGNED) if b == 0 => a,
        (op::MOD, SIGNED) => signed_a.wrapping_rem(signed_b) as u64,
        (op::MOV, 8) => i64::from(b as i8) as u64,
        (op::MOV, 16) => i64::from(b as i16) as u64,
        (op::MOV, 32) => i64::from(b as i32) as u64,
        (code, 0) => unsigned64(code, a, b)?,
        _ => return None,
    })
}

fn unsigned64(code: u8, a: u64, b: u64) -> Option<u64> {
    Some(match code {
        op::ADD => a.wrapping_add(b),
        op::SUB => a.wrapping_sub(b),
        op::MUL => a.wrapping_mul(b),
        op::DIV => a.checked_div(b).unwrap_or(0),
        op::OR => a | b,
        op::AND => a & b,
        op::LSH => a.wrapping_shl(b as u32),
        op::RSH => a.wrapping_shr(b as u32),
        op::NEG => a.wrapping_neg(),
        op::MOD => a.checked_rem(b).unwrap_or(a),
        op::XOR => a ^ b,
        op::MOV => b,
        op::ARSH => (a as i64).wrapping_shr(b as u32) as u64,
        _ => return None,
    })
}

/// The result of an operation of 32 bits, as [`result64`].
pub fn result32(code: u8, offset: i16, a: u32, b: u32) -> Option<u32> {
    let extended = |number: u32| i64::from(number as i32) as u64;
    match (code, offset) {
        (op::LSH, 0) => Some(a.wrapping_shl(b)),
        (op::RSH, 0) => Some(a.wrapping_shr(b)),
        (op::ARSH, 0) => Some((a as i32).wrapping_shr(b) as u32),
        (op::MOV, 32) => None,
        (op::DIV | op::MOD, SIGNED) => {
            result64(code, offset, extended(a), extended(b)).map(|result| result as u32)
        }
        // The low bits of the others depend on low bits alone; quotients have no high ones.
        _ => result64(code, offset, a.into(), b.into()).map(|result| result as u32),
    }
}

/// The low 16, 32 or 64 bits of a number, with the bytes in the other order if it is swapped;
/// `None` for another width.
pub fn in_order(value: u64, bits: i32, is_swapped: bool) -> Option<u64> {
    Some(match (bits, is_swapped) {
        (16, false) => (value as u16).into(),
        (32, false) => (value as u32).into(),
        (64, false) => value,
        (16, true) => (value as u16).swap_bytes().into(),
        (32, true) => (value as u32).swap_bytes().into(),
        (64, true) => value.swap_bytes(),
        _ => return None,
    })
}

/// Whether a comparison of 64 bits holds; `None` for an unknown code.
pub fn holds64(code: u8, a: u64, b: u64) -> Option<bool> {
    holds(code, a, b, (a as i64).cmp(&(b as i64)))
}

/// Whether a comparison of 32 bits holds, as [`holds64`].
pub fn holds32(code: u8, a: u32, b: u32) -> Option<bool> {
    holds(code, a.into(), b.into(), (a as i32).cmp(&(b as i32)))
}

fn holds(code: u8, a: u64, b: u64, signed: core::cmp::Ordering) -> Option<bool> {
    Some(match code {
        0x00 => true,
        0x10 => a == b,
        0x20 => a > b,
        0x30 => a >= b,
        0x40 => a & b != 0,
        0x50 => a != b,
        0x60 => signed.is_gt(),
        0x70 => signed.is_ge(),
        0xa0 => a < b,
        0xb0 => a <= b,
        0xc0 => signed.is_lt(),
        0xd0 => signed.is_le(),
        _ => return None,
    })
}
