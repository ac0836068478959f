//! Answers.

/// The first answer.
pub fn first() -> u8 {
    1
}
