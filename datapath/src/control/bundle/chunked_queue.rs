//! A queue in pieces of equal size, so that growing never moves its items.

use alloc::collections::VecDeque;

/// The number of items of a piece: some KB, so that allocating one takes less than a microsecond.
const PIECE: usize = 128;

/// A queue. Adding an item moves no other.
#[derive(Debug)]
pub struct ChunkedQueue<T> {
    /// All but the last are full, or were full before items were taken.
    pieces: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Default for ChunkedQueue<T> {
    fn default() -> Self {
        Self {
            pieces: VecDeque::new(),
            len: 0,
        }
    }
}

impl<T> ChunkedQueue<T> {
    /// Returns how many items there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        self.len += 1;
        match self.pieces.back_mut() {
            Some(piece) if piece.len() < PIECE => piece.push_back(item),
            Some(_) | None => {
                let mut piece = VecDeque::with_capacity(PIECE);
                piece.push_back(item);
                self.pieces.push_back(piece);
            }
        }
    }

    /// Removes and returns the first item.
    pub fn pop(&mut self) -> Option<T> {
        let piece = self.pieces.front_mut()?;
        let item = piece.pop_front();
        if piece.is_empty() {
            self.pieces.pop_front();
        }
        self.len -= usize::from(item.is_some());
        item
    }

    /// The item at a place. Valid only while no item was taken.
    pub fn get(&self, place: usize) -> Option<&T> {
        self.pieces.get(place / PIECE)?.get(place % PIECE)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn items_leave_in_the_order_in_which_they_came() {
        let mut queue = ChunkedQueue::default();
        let count = 5 * PIECE + 3;
        (0..count).for_each(|item| queue.push(item));
        assert_eq!(queue.len(), count);
        assert_eq!(queue.get(count - 1), Some(&(count - 1)));
        assert_eq!(queue.get(count), None);
        let mut taken = Vec::new();
        while let Some(item) = queue.pop() {
            taken.push(item);
            if item == PIECE + 1 {
                queue.push(count);
            }
        }
        let all: Vec<usize> = (0..=count).collect();
        assert_eq!(taken, all);
        assert!(queue.is_empty());
    }
}
