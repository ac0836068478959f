//! Whole numbers of any width: the values of fields and of expressions.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use num_bigint::{BigInt, Sign};

/// The widest shift to the left that is made. Wider ones give 0, as nothing of the value would be
/// left in any field: the loader allows none that wide.
const MAX_SHIFT: u32 = 1 << 16;

/// The bits of the largest product, and of the largest value that is shifted to the left.
const MAX_PRODUCT: u64 = 1 << 17;

/// A whole number. Most values are small; those that leave the range of an `i128` are boxed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Int {
    /// Any value that an `i128` can have.
    Small(i128),
    /// Any other value.
    Big(Box<BigInt>),
}

impl Int {
    /// Zero.
    pub const ZERO: Self = Self::Small(0);

    fn big(value: BigInt) -> Self {
        match i128::try_from(&value) {
            Ok(small) => Self::Small(small),
            Err(_) => Self::Big(Box::new(value)),
        }
    }

    fn to_big(&self) -> BigInt {
        match self {
            Self::Small(value) => BigInt::from(*value),
            Self::Big(value) => BigInt::clone(value),
        }
    }

    /// Reads an unsigned number from bytes in network order.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.len() <= size_of::<i128>() {
            let value = bytes.iter().fold(0, |v: u128, b| v << 8 | u128::from(*b));
            if let Ok(small) = i128::try_from(value) {
                return Self::Small(small);
            }
        }
        Self::big(BigInt::from_bytes_be(Sign::Plus, bytes))
    }

    /// Reads `digits` of base `radix`, 2 to 16. Returns `None` for other digits or none.
    pub fn from_digits(digits: &str, radix: u32) -> Option<Self> {
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        match i128::from_str_radix(digits, radix) {
            Ok(small) => Some(Self::Small(small)),
            Err(_) => BigInt::parse_bytes(digits.as_bytes(), radix).map(Self::big),
        }
    }

    /// Appends the lowest `bits` bits to `bytes`, in network order, padded with zeros in front to
    /// whole bytes.
    pub fn append_to(&self, bits: u32, bytes: &mut Vec<u8>) {
        let count = bits.div_ceil(8) as usize;
        let start = bytes.len();
        match self.wrapped(bits) {
            Self::Small(value) => {
                let all = value.to_be_bytes();
                bytes.resize(start + count.saturating_sub(all.len()), 0);
                bytes.extend_from_slice(&all[all.len() - count.min(all.len())..]);
            }
            Self::Big(value) => {
                let all = value.to_bytes_be().1;
                bytes.resize(start + count.saturating_sub(all.len()), 0);
                bytes.extend_from_slice(&all);
            }
        }
    }

    /// The value modulo 2^`bits`: that of an unsigned field.
    pub fn wrapped(&self, bits: u32) -> Self {
        match self {
            // Most fields are so narrow, and words of 64 bits are quicker.
            Self::Small(value) if bits < 64 => {
                Self::Small((*value as u64 & ((1 << bits) - 1)).into())
            }
            Self::Small(value) if bits < 127 => Self::Small(value & ((1 << bits) - 1)),
            Self::Small(value) if *value >= 0 => self.clone(),
            Self::Small(_) | Self::Big(_) => Self::big(self.to_big() & mask(bits)),
        }
    }

    /// The value that two's complement of `bits` bits gives: that of a signed field.
    pub fn signed(&self, bits: u32) -> Self {
        let wrapped = self.wrapped(bits);
        if bits == 0 || !wrapped.bit(bits - 1) {
            return wrapped;
        }
        wrapped.sub(&Self::power(bits))
    }

    /// 2^`bits`.
    pub fn power(bits: u32) -> Self {
        match bits {
            0..127 => Self::Small(1 << bits),
            _ => Self::big(BigInt::from(1) << bits),
        }
    }

    /// The highest value of an unsigned field.
    pub fn highest(bits: u32) -> Self {
        Self::power(bits).sub(&Self::Small(1))
    }

    fn bit(&self, index: u32) -> bool {
        match self {
            Self::Small(value) => value >> index.min(127) & 1 == 1,
            Self::Big(value) => value.bit(u64::from(index)),
        }
    }

    /// The number of bits that the value takes without its sign.
    pub fn bits(&self) -> u64 {
        match self {
            Self::Small(value) => u64::from(128 - value.unsigned_abs().leading_zeros()),
            Self::Big(value) => value.bits(),
        }
    }

    /// Whether the value is below 0.
    pub fn is_negative(&self) -> bool {
        match self {
            Self::Small(value) => *value < 0,
            Self::Big(value) => value.sign() == Sign::Minus,
        }
    }

    /// Whether the value is 0.
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// The lowest 64 bits.
    pub fn low(&self) -> u64 {
        match self {
            Self::Small(value) => *value as u64,
            Self::Big(_) => match self.wrapped(64) {
                Self::Small(value) => value as u64,
                Self::Big(_) => unreachable!("64 bits are small"),
            },
        }
    }

    /// The value as an index, `usize::MAX` if it is none.
    pub fn index(&self) -> usize {
        match self {
            Self::Small(value) => usize::try_from(*value).unwrap_or(usize::MAX),
            Self::Big(_) => usize::MAX,
        }
    }

    /// The sum.
    pub fn add(&self, other: &Self) -> Self {
        self.with(other, i128::checked_add, |a, b| a + b)
    }

    /// The difference.
    pub fn sub(&self, other: &Self) -> Self {
        self.with(other, i128::checked_sub, |a, b| a - b)
    }

    /// The product. Choice: of one above 2^17 bits, its lowest bits, of which a field takes fewer.
    pub fn mul(&self, other: &Self) -> Self {
        let product = self.with(other, i128::checked_mul, |a, b| a * b);
        product.bounded()
    }

    /// The value, or its lowest bits if it has more than the largest product.
    fn bounded(self) -> Self {
        if self.bits() > MAX_PRODUCT {
            self.wrapped(MAX_PRODUCT as u32)
        } else {
            self
        }
    }

    /// The quotient, 0 if `other` is 0.
    pub fn div(&self, other: &Self) -> Self {
        if other.is_zero() {
            return Self::ZERO;
        }
        self.with(other, i128::checked_div, |a, b| a / b)
    }

    /// The remainder, 0 if `other` is 0.
    pub fn rem(&self, other: &Self) -> Self {
        if other.is_zero() {
            return Self::ZERO;
        }
        self.with(other, i128::checked_rem, |a, b| a % b)
    }

    /// The bits that both have.
    pub fn and(&self, other: &Self) -> Self {
        self.with(other, |a, b| Some(a & b), |a, b| a & b)
    }

    /// The bits that one of both has.
    pub fn or(&self, other: &Self) -> Self {
        self.with(other, |a, b| Some(a | b), |a, b| a | b)
    }

    /// The bits that exactly one of both has.
    pub fn xor(&self, other: &Self) -> Self {
        self.with(other, |a, b| Some(a ^ b), |a, b| a ^ b)
    }

    /// All bits inverted, in two's complement of infinite width.
    pub fn not(&self) -> Self {
        match self {
            Self::Small(value) => Self::Small(!value),
            Self::Big(value) => Self::big(!BigInt::clone(value)),
        }
    }

    /// Shifted to the left. Choice: 0 if `by` is negative or above 2^16; of a value of more than
    /// 2^17 bits, its lowest bits, of which a field takes fewer.
    pub fn shl(&self, by: &Self) -> Self {
        match u32::try_from(by.index()) {
            Ok(by) if by <= MAX_SHIFT => match self {
                Self::Small(value) if self.bits() + u64::from(by) < 127 => Self::Small(value << by),
                Self::Small(_) | Self::Big(_) => Self::big(self.to_big() << by).bounded(),
            },
            Ok(_) | Err(_) => Self::ZERO,
        }
    }

    /// Shifted to the right, rounded down. Choice: a negative `by` counts as a large one.
    pub fn shr(&self, by: &Self) -> Self {
        let by = by.index();
        match self {
            Self::Small(value) => Self::Small(value >> by.min(127)),
            Self::Big(value) if by <= MAX_SHIFT as usize => Self::big(BigInt::clone(value) >> by),
            Self::Big(_) => Self::Small(if self.is_negative() { -1 } else { 0 }),
        }
    }

    /// The nearest value from `low` to `high`.
    pub fn clamp(&self, low: Self, high: Self) -> Self {
        if *self < low {
            low
        } else if *self > high {
            high
        } else {
            self.clone()
        }
    }

    fn with(
        &self,
        other: &Self,
        small: impl Fn(i128, i128) -> Option<i128>,
        big: impl Fn(BigInt, BigInt) -> BigInt,
    ) -> Self {
        let number = match (self, other) {
            (Self::Small(a), Self::Small(b)) => small(*a, *b),
            (Self::Small(_) | Self::Big(_), Self::Small(_) | Self::Big(_)) => None,
        };
        match number {
            Some(value) => Self::Small(value),
            None => Self::big(big(self.to_big(), other.to_big())),
        }
    }
}

fn mask(bits: u32) -> BigInt {
    (BigInt::from(1) << bits) - 1
}

impl Ord for Int {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => a.cmp(b),
            (Self::Small(_) | Self::Big(_), Self::Small(_) | Self::Big(_)) => {
                self.to_big().cmp(&other.to_big())
            }
        }
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Default for Int {
    fn default() -> Self {
        Self::ZERO
    }
}

impl From<bool> for Int {
    fn from(value: bool) -> Self {
        Self::Small(value.into())
    }
}

impl From<u32> for Int {
    fn from(value: u32) -> Self {
        Self::Small(value.into())
    }
}

impl From<u64> for Int {
    fn from(value: u64) -> Self {
        Self::Small(value.into())
    }
}

/// In hexadecimal, as `0x1f` or `-0x1f`.
impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small(value) if *value < 0 => write!(f, "-{:#x}", value.unsigned_abs()),
            Self::Small(value) => write!(f, "{value:#x}"),
            Self::Big(value) => write!(f, "{:#x}", **value),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn sums_beyond_128_bits_are_exact_and_wrap_to_any_width() {
        let high = Int::highest(128);
        let sum = high.add(&Int::Small(2));
        assert_eq!(sum, Int::power(128).add(&Int::Small(1)));
        assert_eq!(sum.wrapped(128), Int::Small(1));
        assert_eq!(Int::Small(-1).wrapped(300), Int::highest(300));
        assert_eq!(Int::highest(300).signed(300), Int::Small(-1));
        assert_eq!(Int::Small(-1).wrapped(127), Int::highest(127));
        assert_eq!(Int::Small(-1).wrapped(128), Int::highest(128));
    }

    #[test]
    fn bytes_of_any_width_come_back() {
        for bits in [1, 8, 9, 48, 127, 128, 129, 1000] {
            let mut bytes = vec![7];
            Int::highest(bits).append_to(bits, &mut bytes);
            assert_eq!(bytes.len(), 1 + bits.div_ceil(8) as usize);
            assert_eq!(Int::from_bytes(&bytes[1..]), Int::highest(bits));
        }
    }

    #[test]
    fn shifts_by_absurd_amounts_are_bounded() {
        let one = Int::Small(1);
        assert_eq!(one.shl(&Int::power(40)), Int::ZERO);
        assert_eq!(one.shl(&Int::Small(-1)), Int::ZERO);
        assert_eq!(one.shl(&Int::Small(200)), Int::power(200));
        assert_eq!(Int::Small(-8).shr(&Int::Small(1)), Int::Small(-4));
        assert_eq!(Int::power(200).shr(&Int::Small(199)), Int::Small(2));
        assert_eq!(Int::power(200).shr(&Int::power(99)), Int::ZERO);
        let mut value = Int::Small(-3);
        for _ in 0..9 {
            value = value.shl(&Int::Small(1 << 16));
            assert!(value.bits() <= MAX_PRODUCT);
        }
    }

    #[test]
    fn division_by_zero_gives_zero() {
        assert_eq!(Int::Small(7).div(&Int::ZERO), Int::ZERO);
        assert_eq!(Int::Small(7).rem(&Int::ZERO), Int::ZERO);
    }
}
