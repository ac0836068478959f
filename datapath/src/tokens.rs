//! A bucket of tokens, of which each permits one event.

use crate::Time;

/// A token bucket whose depth is what its rate earns in a second.
#[derive(Clone, Copy, Debug)]
pub struct Tokens {
    left: u64,
    /// When the last token was earned.
    at: Time,
}

impl Tokens {
    /// A bucket with `left` tokens.
    pub fn new(left: u64, now: Time) -> Self {
        Self { left, at: now }
    }

    /// Takes a token, with a rate of `rate` a second; with `dry`, only reports whether there is
    /// one. Whole tokens are earned, and the time since the last one counts for the next.
    ///
    /// Panics: if the rate is 0.
    pub fn take(&mut self, now: Time, rate: u64, dry: bool) -> bool {
        let interval = (Time::SEC / rate).max(1);
        let earned = now.since(self.at) / interval;
        self.left = self.left.saturating_add(earned).min(rate);
        self.at = self.at.after(earned * interval);
        let may = self.left > 0;
        self.left = self.left.saturating_sub(u64::from(!dry));
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_is_asked_often_gives_all_tokens_of_its_rate() {
        let mut tokens = Tokens::new(0, Time(0));
        let asked = (1..=1_000).map(|number| Time(number * Time::SEC * 6 / 100));
        let taken = asked.filter(|now| tokens.take(*now, 10, false));
        assert_eq!(taken.count(), 600);
    }
}
