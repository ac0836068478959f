//! Numbers with the sign of what is not certain about them, so that nothing computes with one
//! without its sign.

/// The share of frames up to which their loss changes no delay that is shown: if they were the
/// slowest, the 99th percentile would be the 99.1th.
pub const SMALL_LOSS: f64 = 0.001;

/// The reason for which a number is not simply measured, from the least doubt to the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NumberSign {
    /// There is none.
    #[default]
    Plain,
    /// It is a result only because the user forces results.
    Forced,
    /// It is a delay of the frames that arrived, and others were lost: these may be the slow ones.
    Lossy,
    /// The meter stopped before the switch did: the true number is at least this.
    AtLeast,
    /// The switch did something else than what was to be measured.
    NotOk,
    /// It is no result.
    Marked,
}

impl NumberSign {
    /// The end of a name in a plot or a table.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Forced => " (forced)",
            Self::Lossy => " (frames lost)",
            Self::AtLeast => " (at least)",
            Self::NotOk => " (not ok)",
            Self::Marked => " (no result)",
        }
    }

    /// A number with its sign.
    pub fn written(self, number: &str) -> String {
        match self {
            Self::AtLeast => format!("at least {number}"),
            Self::Marked => format!("({number})"),
            Self::Plain | Self::Forced | Self::Lossy | Self::NotOk => {
                format!("{number}{}", self.ending())
            }
        }
    }
}

/// A value, or the values of repeats, with their sign: to compute with it is possible without a
/// sign only, and who shows it has the sign at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signed<T> {
    value: T,
    sign: NumberSign,
}

impl<T> Signed<T> {
    /// A value with its sign.
    pub fn new(value: T, sign: NumberSign) -> Self {
        Self { value, sign }
    }

    /// The value to compute with; none if it has a sign.
    pub fn plain(self) -> Option<T> {
        (self.sign == NumberSign::Plain).then_some(self.value)
    }

    /// The value to show, with the sign that belongs to it.
    pub fn with_sign(self) -> (T, NumberSign) {
        (self.value, self.sign)
    }
}
