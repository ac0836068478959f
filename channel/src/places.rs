//! A bounded number of places for peers, of which no source takes all.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::newcomers::PeerSource;

/// The most connections that a listener holds, those whose peers have not said HELLO not counted;
/// further ones are closed and counted.
pub const MAX_CONNECTIONS_PER_LISTENER: usize = 64;

/// The holders of [`MAX_CONNECTIONS_PER_LISTENER`] places. A source may hold at most as many as
/// remain free (the dynamic threshold of Choudhury and Hahne, 1998): one alone gets half of them,
/// and a few that want all still leave some to others. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Places(Arc<Mutex<Vec<PeerSource>>>);

impl Places {
    /// Returns true if a peer from `source` would get a place now.
    pub fn has_one_for(&self, source: PeerSource) -> bool {
        may_take(&self.list(), source)
    }

    /// Takes a place; `None` if there is none for `source`.
    pub fn take(&self, source: PeerSource) -> Option<ListenerPlace> {
        let mut holders = self.list();
        if !may_take(&holders, source) {
            return None;
        }
        holders.push(source);
        Some(ListenerPlace {
            places: self.clone(),
            source,
        })
    }

    fn list(&self) -> MutexGuard<'_, Vec<PeerSource>> {
        self.0.lock().expect("nobody panics who has it")
    }
}

fn may_take(holders: &[PeerSource], source: PeerSource) -> bool {
    let free = MAX_CONNECTIONS_PER_LISTENER - holders.len();
    let own = holders.iter().filter(|holder| **holder == source).count();
    own < free
}

/// A place that is held; it is free again when this is dropped.
#[derive(Debug)]
pub struct ListenerPlace {
    places: Places,
    source: PeerSource,
}

impl Drop for ListenerPlace {
    fn drop(&mut self) {
        let mut holders = self.places.list();
        let own = holders.iter().position(|holder| *holder == self.source);
        holders.swap_remove(own.expect("it was put in when the place was taken"));
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// As many places as this source gets.
    fn all_of(places: &Places, source: &str) -> Vec<ListenerPlace> {
        let address: IpAddr = source.parse().expect("an address");
        std::iter::from_fn(|| places.take(address.into())).collect()
    }

    #[test]
    fn a_source_holds_at_most_as_many_places_as_remain_free() {
        let places = Places::default();
        let first = all_of(&places, "127.0.0.1");
        assert_eq!(first.len(), 32);
        let second = all_of(&places, "127.0.0.2");
        assert_eq!(second.len(), 16);
        // All addresses of a prefix of IPv6 are one source.
        let third = all_of(&places, "2001:db8::1");
        assert_eq!(third.len(), 8);
        assert_eq!(all_of(&places, "2001:db8::2").len(), 0);
        assert_eq!(all_of(&places, "2001:db8:0:1::1").len(), 4);
        assert!(!places.has_one_for(first[0].source));
        drop((second, third));
        assert_eq!(all_of(&places, "127.0.0.1").len(), 0, "it holds half");
        drop(first);
        assert_eq!(all_of(&places, "::ffff:127.0.0.1").len(), 32);
    }
}
