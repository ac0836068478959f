//! Tells which signed frames of a neighbour are fresh: it has answered a challenge, and its numbers
//! grow.
//!
//! A key shows that a switch has made a frame, but not when, nor for which link. So a switch takes
//! the frames of a neighbour's epoch on a port only after the neighbour has repeated a number that
//! it could not know before. Such a number is computed when it is sent and again when it returns:
//! what is unanswered costs no memory, and no clock has to be right.

#![allow(deprecated)] // SipHash-2-4 of the core library: nothing else of it is deprecated.

use alloc::vec::Vec;
use core::hash::{Hasher, SipHasher};

use bofuss_datapath::Time;
use bofuss_oflib::PortNo;

use super::frame::PathFrame;
use super::options::PathOptions;

/// The most neighbours of a port, across an ordinary bridge.
const MAX_SESSIONS: usize = 64;

/// The random numbers of a switch: others after each start, and unpredictable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nonces {
    secret: u64,
    epoch_ns: u64,
    id: u64,
}

impl Nonces {
    /// One of `secret` and `epoch_ns` has to be another one after each start.
    pub(super) fn new(secret: u64, epoch_ns: u64, id: u64) -> Self {
        Self {
            secret,
            epoch_ns,
            id,
        }
    }

    fn number(&self, of: &[u64]) -> u64 {
        let mut hasher = SipHasher::new_with_keys(self.secret, self.epoch_ns);
        hasher.write_u64(self.id);
        of.iter().for_each(|number| hasher.write_u64(*number));
        // 0 means that there is none.
        hasher.finish().max(1)
    }

    /// Returns where the sequence of the frames that begin here starts, with room to grow.
    pub(super) fn first_sequence(&self) -> u64 {
        self.number(&[]) >> 1
    }

    /// The epoch of this switch on a port.
    pub(super) fn epoch(&self, port: PortNo) -> u64 {
        self.number(&[port.0.into()])
    }

    /// The challenge of the sender of a frame, on a port that has been up, or without a neighbour,
    /// since `at.1`. A turn is no longer than a session without frames lives, so that no answer
    /// begins a second session after the first has ended.
    fn challenge(&self, at: (PortNo, Time), turn: u64, frame: &PathFrame) -> u64 {
        let (port, since) = at;
        self.number(&[port.0.into(), since.0, turn, frame.sender, frame.epoch])
    }
}

/// The comparison of a signed frame with what its sender has sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Its sender is there, and has not sent it before.
    Fresh,
    /// It was received before, or overtaken.
    Replayed,
    /// Its sender has not answered a challenge, which is this number.
    Unproven(u64),
}

/// An epoch of a neighbour that has answered a challenge.
#[derive(Clone, Copy, Debug)]
struct Session {
    id: u64,
    epoch: u64,
    /// The greatest number received, and when.
    number: u64,
    last: Time,
}

/// The sessions of a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions(Vec<Session>);

impl Sessions {
    /// Takes a signed frame from a port; `at` as in [`Nonces::challenge`].
    pub(super) fn take(
        &mut self,
        now: Time,
        at: (PortNo, Time),
        nonces: &Nonces,
        frame: &PathFrame,
        options: &PathOptions,
    ) -> Freshness {
        let hold = options.hold;
        self.0.retain(|session| now.since(session.last) < hold);
        let mut sessions = self.0.iter_mut();
        let known = sessions.find(|one| (one.id, one.epoch) == (frame.sender, frame.epoch));
        if let Some(session) = known {
            if frame.number <= session.number {
                return Freshness::Replayed;
            }
            session.number = frame.number;
            session.last = now;
            return Freshness::Fresh;
        }
        // An answer takes less time than the lock time, or is not taken.
        let turn = now.0 / options.lock.min(hold);
        let challenge = nonces.challenge(at, turn, frame);
        if frame.answer != challenge || self.0.len() >= MAX_SESSIONS {
            return Freshness::Unproven(challenge);
        }
        self.0.push(Session {
            id: frame.sender,
            epoch: frame.epoch,
            number: frame.number,
            last: now,
        });
        Freshness::Fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arppath::frame::{FrameType, HostPair};

    const PORT: (PortNo, Time) = (PortNo(1), Time(0));

    fn hello(sender: u64, number: u64, answer: u64) -> PathFrame {
        PathFrame {
            ty: FrameType::Hello,
            hops: 64,
            for_all: false,
            offer: false,
            sender,
            to: 1,
            epoch: sender + 7,
            number,
            origin: sender,
            sequence: 0,
            challenge: 0,
            answer,
            pair: HostPair::default(),
        }
    }

    /// A switch's sessions on a port.
    struct Side(Nonces, Sessions, PathOptions);

    impl Side {
        fn new(secret: u64) -> Self {
            let nonces = Nonces::new(secret, 0, 1);
            Self(nonces, Sessions::default(), PathOptions::default())
        }

        fn take(&mut self, now: Time, frame: &PathFrame) -> Freshness {
            self.1.take(now, PORT, &self.0, frame, &self.2)
        }

        /// The challenge of a sender.
        fn challenge(&mut self, now: Time, sender: u64) -> u64 {
            let Freshness::Unproven(challenge) = self.take(now, &hello(sender, 1, 0)) else {
                panic!("it has answered already");
            };
            challenge
        }
    }

    #[test]
    fn numbers_have_to_grow_after_an_answer_and_silence_ends_it() {
        let mut side = Side::new(5);
        let answer = side.challenge(Time(1), 2);
        assert_ne!(
            side.challenge(Time(1), 3),
            answer,
            "it is that of one sender"
        );
        assert_eq!(side.take(Time(2), &hello(2, 4, answer)), Freshness::Fresh);
        assert_eq!(
            side.take(Time(3), &hello(2, 4, answer)),
            Freshness::Replayed
        );
        assert_eq!(side.take(Time(3), &hello(2, 3, 0)), Freshness::Replayed);
        assert_eq!(side.take(Time(3), &hello(2, 6, 0)), Freshness::Fresh);
        let hold = side.2.hold;
        let last = Time(2 + hold);
        assert_eq!(side.take(last, &hello(2, 7, 0)), Freshness::Fresh);
        let silent = last.after(hold);
        let again = side.take(silent, &hello(2, 8, answer));
        assert!(matches!(again, Freshness::Unproven(_)), "{again:?}");
    }

    #[test]
    fn an_answer_is_worth_nothing_after_a_restart_or_at_another_time() {
        let mut before = Side::new(5);
        let answer = before.challenge(Time(1), 2);
        let frame = hello(2, 4, answer);
        let mut after = Side::new(6);
        assert!(matches!(
            after.take(Time(1), &frame),
            Freshness::Unproven(_)
        ));
        let late = Time(before.2.lock);
        assert!(matches!(before.take(late, &frame), Freshness::Unproven(_)));
    }

    #[test]
    fn a_peer_that_claims_to_be_many_costs_bounded_memory() {
        let mut side = Side::new(5);
        for sender in 2..2000 {
            let answer = side.challenge(Time(1), sender);
            side.take(Time(1), &hello(sender, 2, answer));
        }
        assert_eq!(side.1.0.len(), MAX_SESSIONS);
        assert_eq!(side.take(Time(2), &hello(2, 3, 0)), Freshness::Fresh);
    }
}
