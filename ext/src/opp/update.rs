//! The eight update functions: unsigned 32-bit arithmetic modulo 2^32, without fractions.

use alloc::format;

use bofuss_oflib::ParseError;

/// Averages are in thousandths, as integers have no fractions. Variances are in whole units.
const SCALE: u32 = 1000;
/// The most operands of a function, a to d.
pub const MAX_OPERANDS: usize = 4;

/// The update functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateFunction {
    /// a + b.
    Sum,
    /// a - b.
    Sub,
    /// a * b.
    Mul,
    /// a / b.
    Div,
    /// The running average of the samples a, kept in operand b, in thousandths; the output counts
    /// the samples.
    Average,
    /// The same, and the running variance of the samples, kept in operand c.
    Variance,
    /// The exponentially weighted moving average, from the average a so far and a sample c; b is
    /// the code of a's weight.
    Ewma,
    /// The sum of operands, each multiplied by its coefficient.
    PolySum,
}

/// The results of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// The output's new value.
    pub output: u32,
    /// The new value of operand b, if the function writes it.
    pub second: Option<u32>,
    /// The new value of operand c, if the function writes it.
    pub third: Option<u32>,
}

impl Update {
    /// The results of a function that writes only its output.
    fn of_output(output: u32) -> Self {
        Self {
            output,
            ..Self::default()
        }
    }
}

impl UpdateFunction {
    /// The functions by their opcodes on the wire, each with its name and its number of operands.
    const ALL: [(Self, &'static str, usize); 8] = [
        (Self::Sum, "sum", 2),
        (Self::Sub, "sub", 2),
        (Self::Mul, "mul", 2),
        (Self::Div, "div", 2),
        (Self::Average, "avg", 2),
        (Self::Variance, "var", 3),
        (Self::Ewma, "ewma", 3),
        (Self::PolySum, "poly_sum", MAX_OPERANDS),
    ];

    /// The function of a number on the wire.
    pub(super) fn of_opcode(opcode: u8) -> Option<Self> {
        Some(Self::ALL.get(usize::from(opcode))?.0)
    }

    /// Its number on the wire.
    pub(super) fn opcode(self) -> u8 {
        self as u8
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns how many operands it uses.
    pub(super) fn n_operands(self) -> usize {
        Self::ALL[self as usize].2
    }

    /// The function of a name. Errors: there is none.
    pub(super) fn parse(name: &str) -> Result<Self, ParseError> {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == name);
        found.map(|row| row.0).ok_or_else(|| {
            let names = Self::ALL.map(|row| row.1).join(", ");
            format!("'{name}' is not one of {names}").into()
        })
    }

    /// Computes the results from the output before and the operands a, b, c and d. Those that the
    /// function does not use are ignored.
    pub fn apply(
        self,
        output: u32,
        operands: [u32; MAX_OPERANDS],
        coefficients: [i8; MAX_OPERANDS],
    ) -> Update {
        let [a, b, c, _] = operands;
        match self {
            Self::Sum => Update::of_output(a.wrapping_add(b)),
            Self::Sub => Update::of_output(a.wrapping_sub(b)),
            Self::Mul => Update::of_output(a.wrapping_mul(b)),
            Self::Div if a == 0 => Update::of_output(0),
            Self::Div => Update::of_output(a.checked_div(b).unwrap_or(u32::MAX)),
            Self::Average => Update {
                output: output.wrapping_add(1),
                second: Some(average(output, b, a)),
                third: None,
            },
            Self::Variance => {
                let after = average(output, b, a);
                Update {
                    output: output.wrapping_add(1),
                    second: Some(after),
                    third: Some(variance(output, c, a, b, after)),
                }
            }
            Self::Ewma => Update::of_output(ewma(a, b, c)),
            Self::PolySum => {
                let mut sum = 0_u32;
                for (value, factor) in operands.iter().zip(coefficients) {
                    // A negative factor becomes one modulo 2^32.
                    sum = sum.wrapping_add(value.wrapping_mul(factor as u32));
                }
                Update::of_output(sum)
            }
        }
    }
}

/// The average after one more sample: (average * n + sample * 1000) / (n + 1). Choice: where the
/// count overflows to 0, the sum is not divided.
fn average(count: u32, average: u32, sample: u32) -> u32 {
    let total = average
        .wrapping_mul(count)
        .wrapping_add(sample.wrapping_mul(SCALE));
    total.checked_div(count.wrapping_add(1)).unwrap_or(total)
}

/// The variance after one more sample, which has changed the average from `before` to `after`, by
/// Welford's recurrence (Technometrics 4(3), 1962); 0 for the first sample.
fn variance(count: u32, variance: u32, sample: u32, before: u32, after: u32) -> u32 {
    if count == 0 {
        return 0;
    }
    let from_before = sample.wrapping_sub(before / SCALE);
    let from_after = sample.wrapping_sub(after / SCALE);
    let total = variance
        .wrapping_mul(count)
        .wrapping_add(from_before.wrapping_mul(from_after));
    total.checked_div(count.wrapping_add(1)).unwrap_or(total)
}

/// The weighted average of `previous` and `sample`. The codes 0 to 6 give `previous` a weight of
/// 1/8 to 7/8, any other code 1/2. As in the reference switches, both are shifted before they are
/// multiplied, so that low bits are lost.
fn ewma(previous: u32, code: u32, sample: u32) -> u32 {
    // The binary logarithm of the weights' denominator, and the numerator for `previous`.
    let (shift, weight) = match code {
        0 | 2 | 4 | 6 => (3, code + 1),
        1 => (2, 1),
        5 => (2, 3),
        _ => (1, 1),
    };
    let rest = (1 << shift) - weight;
    let weighted = (previous >> shift).wrapping_mul(weight);
    weighted.wrapping_add((sample >> shift).wrapping_mul(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn output(function: UpdateFunction, operands: [u32; 4]) -> u32 {
        function.apply(0, operands, [0; 4]).output
    }

    #[test]
    fn sums_differences_and_products_are_modulo_2_to_the_32() {
        assert_eq!(output(UpdateFunction::Sum, [u32::MAX, 2, 9, 9]), 1);
        assert_eq!(output(UpdateFunction::Sub, [1, 2, 9, 9]), u32::MAX);
        assert_eq!(output(UpdateFunction::Mul, [1 << 31, 3, 9, 9]), 1 << 31);
    }

    #[test]
    fn zero_divided_is_zero_and_division_by_zero_is_all_ones() {
        assert_eq!(output(UpdateFunction::Div, [0, 0, 0, 0]), 0);
        assert_eq!(output(UpdateFunction::Div, [7, 0, 0, 0]), u32::MAX);
        assert_eq!(output(UpdateFunction::Div, [7, 2, 0, 0]), 3);
    }

    #[test]
    fn averages_and_variances_are_those_of_the_reference() {
        let first = UpdateFunction::Variance.apply(0, [100, 0, 0, 0], [0; 4]);
        let wanted = Update {
            output: 1,
            second: Some(100_000),
            third: Some(0),
        };
        assert_eq!(first, wanted);
        let second = UpdateFunction::Variance.apply(1, [200, 100_000, 0, 0], [0; 4]);
        let wanted = Update {
            output: 2,
            second: Some(150_000),
            third: Some(2500),
        };
        assert_eq!(second, wanted);
        let average = UpdateFunction::Average.apply(1, [200, 100_000, 0, 0], [0; 4]);
        assert_eq!(
            average,
            Update {
                third: None,
                ..wanted
            }
        );
        // A count of 2^32 - 1 overflows without a division by zero.
        let last = UpdateFunction::Variance.apply(u32::MAX, [1, 0, 0, 0], [0; 4]);
        assert_eq!((last.output, last.second), (0, Some(1000)));
    }

    #[test]
    fn moving_averages_shift_before_they_multiply() {
        let of = |previous, code, sample| output(UpdateFunction::Ewma, [previous, code, sample, 9]);
        assert_eq!((of(0, 6, 100), of(12, 6, 200)), (12, 32));
        let codes: Vec<u32> = (0..9).map(|code| of(80, code, 160)).collect();
        assert_eq!(codes, [150, 140, 130, 120, 110, 100, 90, 120, 120]);
        // All bits that the shift takes are lost.
        assert_eq!([of(7, 0, 7), of(3, 1, 3), of(1, 3, 1)], [0, 0, 0]);
    }

    #[test]
    fn a_polynomial_has_signed_coefficients() {
        let update = UpdateFunction::PolySum.apply(0, [2, 1, 5, 5], [30, 4, 10, -6]);
        assert_eq!(update.output, 84);
        let update = UpdateFunction::PolySum.apply(0, [1, 0, 0, 0], [-128, 0, 0, 0]);
        assert_eq!(update.output, 128_u32.wrapping_neg());
    }
}
