//! Finds the flow of a packet by the words that identify it, taken from its key or read ahead from
//! its frame.

use bofuss_datapath::engine::{Lookahead, NONE, Predicted, WORDS};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_packet::{Key, Words};

use super::flow_key::FEW;
use super::{Cache, Flow};

/// The properties that all packets from one port share before their headers are read. It is kept
/// from burst to burst for two ports, because bursts from the same port follow each other, or those
/// of the two directions of a conversation.
#[derive(Debug)]
pub(crate) struct PortArrival {
    /// The facts for which it was made: the port, the start of paths, and how often the cache's key
    /// had been widened.
    pub(crate) known_as: (PortNo, u64, u64),
    pub(crate) key: Key,
    /// The masked words of this key.
    pub(crate) words: Words<WORDS>,
}

impl Cache {
    /// As [`Cache::prefetch`], for keys of at most [`FEW`] words.
    #[inline(always)]
    pub(crate) fn prefetch_few(&self, lookahead: &mut Lookahead) {
        if !lookahead.is_read {
            return;
        }
        if let Some(words) = lookahead.words.first_chunk::<FEW>() {
            let hash = self.key.secret.hash_few(words);
            lookahead.bucket = self.index.prefetch(hash);
            lookahead.hash = Some(hash);
        }
    }

    /// Prefetches the memory that is read next to find the flow of a lookahead.
    #[inline]
    pub(crate) fn prefetch(&self, lookahead: &mut Lookahead) {
        if lookahead.is_read {
            let hash = lookahead
                .hash
                .unwrap_or_else(|| self.key.hash(&lookahead.words));
            lookahead.bucket = self.index.prefetch(hash);
            lookahead.hash = Some(hash);
        }
    }

    /// Reads the words of frames, whose layouts are already in the lookaheads, with the field
    /// values that hooks predict, and prefetches what is read next to find their flows. `base` has
    /// the bits that come from no header.
    pub(crate) fn predict(
        &self,
        frames: &[Frame],
        base: &Words<WORDS>,
        predicted: &Predicted,
        lookaheads: &mut [Lookahead],
    ) {
        let Some(base) = self.key.predict_same(base, predicted) else {
            return;
        };
        for (number, (frame, lookahead)) in frames.iter().zip(&mut *lookaheads).enumerate() {
            lookahead.number = Some(number);
            self.key.look_at(frame.bytes(), &base, lookahead);
        }
        for (field, values) in predicted.columns() {
            let both = lookaheads.iter_mut().zip(values);
            match self.key.place(field) {
                Some(place) if place.is_read() => {
                    both.for_each(|(one, value)| place.set(&mut one.words, *value));
                }
                Some(place) => {
                    both.for_each(|(one, value)| place.note(&mut one.words, *value));
                }
                None => both.for_each(|(one, _)| one.is_read = false),
            }
        }
        let is_few = self.key.width() <= FEW;
        for lookahead in lookaheads {
            if is_few {
                self.prefetch_few(lookahead);
            } else {
                self.prefetch(lookahead);
            }
        }
    }

    /// Guesses the flows of the frames of a burst, and prefetches them.
    #[inline]
    pub(crate) fn guess_all(&mut self, lookaheads: &mut [Lookahead]) {
        for lookahead in &mut *lookaheads {
            self.guess(lookahead);
        }
        if core::mem::take(&mut self.renews) {
            let known = lookaheads
                .iter()
                .filter(|lookahead| lookahead.hash.is_some());
            known.for_each(|one| self.versions.prefetch(&one.words, &self.key.secret));
        }
    }

    /// Guesses the flow of a lookahead, and prefetches it.
    #[inline]
    pub(crate) fn guess(&self, lookahead: &mut Lookahead) {
        lookahead.guess = NONE;
        if let Some(hash) = lookahead.hash {
            lookahead.guess = self.index.guess(lookahead.bucket, hash);
            self.flows.prefetch(lookahead.guess);
        }
    }

    /// The guessed flow of a lookahead, if it is known to be right.
    #[inline(always)]
    pub(crate) fn flow(&mut self, lookahead: &mut Lookahead) -> Option<&mut Flow> {
        let hash = lookahead.hash?;
        let guessed = self.flows.get(lookahead.guess);
        let is_known = guessed
            .is_some_and(|flow| is_of(flow, &lookahead.words) && flow.checked == self.changes);
        if !is_known && !self.finds(hash, lookahead) {
            return None;
        }
        self.flows.get_mut(lookahead.guess)
    }

    /// Looks up the flow of a lookahead whose guess was wrong or out of date. Returns true if a
    /// flow was found that no change concerns.
    #[inline(never)]
    fn finds(&mut self, hash: u64, lookahead: &mut Lookahead) -> bool {
        let guess = lookahead.guess;
        let words = &lookahead.words;
        let is_guessed = self.flows.get(guess).is_some_and(|flow| is_of(flow, words));
        let found = if is_guessed {
            Some(guess)
        } else {
            self.find(hash, words)
        };
        let Some(slot) = found else {
            return false;
        };
        lookahead.guess = slot;
        self.is_current(slot) || self.renew(slot, words)
    }

    /// The cached flow with these words, if there is one; it may be out of date.
    pub(crate) fn find(&self, hash: u64, words: &[u64]) -> Option<u32> {
        self.index
            .find(hash, |slot| is_of(&self.flows[slot], words))
    }
}

/// Returns true if a flow has these words, padded with zeros.
#[inline]
fn is_of(flow: &Flow, words: &[u64]) -> bool {
    match (&flow.key, words.first_chunk::<FEW>()) {
        (Words::Few(few), Some(words)) => {
            let mut differing = 0;
            for (one, other) in few.iter().zip(words) {
                differing |= one ^ other;
            }
            differing == 0
        }
        (Words::Many(many), _) => words.get(..many.len()) == Some(many),
        (Words::Few(_), None) => false,
    }
}
