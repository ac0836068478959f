//! State of an extension to which a trace may write, and which forgets what the trace wrote.

use core::hash::Hash;

use bofuss_datapath::Trial;
use hashbrown::HashMap;

/// A map with a layer for the current trial run: what a trial writes is visible in later tables of
/// the same trial, and nowhere else. So a hook needs no separate code for traces.
#[derive(Debug)]
pub struct TrialMap<K, V> {
    map: HashMap<K, V>,
    trial: Trial,
    /// The values that the trial has written; `None` is what it has removed.
    layer: HashMap<K, Option<V>>,
}

impl<K, V> Default for TrialMap<K, V> {
    fn default() -> Self {
        Self {
            map: HashMap::new(),
            trial: Trial::LIVE,
            layer: HashMap::new(),
        }
    }
}

impl<K: Hash + Eq + Clone, V: Clone> TrialMap<K, V> {
    /// The value of a key.
    ///
    /// A trial sees what it has written, and below that the live values.
    pub fn get(&self, trial: Trial, key: &K) -> Option<&V> {
        let layer = (trial.is_dry() && trial == self.trial).then_some(&self.layer);
        match layer.and_then(|layer| layer.get(key)) {
            Some(written) => written.as_ref(),
            None => self.map.get(key),
        }
    }

    /// The value of a key, for changes. A trial changes a copy of its own.
    pub fn get_mut(&mut self, trial: Trial, key: &K) -> Option<&mut V> {
        if !trial.is_dry() {
            return self.map.get_mut(key);
        }
        self.begin(trial);
        if !self.layer.contains_key(key) {
            let copy = self.map.get(key)?.clone();
            self.layer.insert(key.clone(), Some(copy));
        }
        self.layer.get_mut(key)?.as_mut()
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, trial: Trial, key: K, value: V) {
        if trial.is_dry() {
            self.begin(trial);
            self.layer.insert(key, Some(value));
        } else {
            self.map.insert(key, value);
        }
    }

    /// Removes a key. Returns its value if that was live.
    ///
    /// The layer notes that the key is gone, since the live value below would be found otherwise.
    pub fn remove(&mut self, trial: Trial, key: &K) -> Option<V> {
        if trial.is_dry() {
            self.begin(trial);
            self.layer.insert(key.clone(), None);
            None
        } else {
            self.map.remove(key)
        }
    }

    /// The live map.
    pub fn live(&self) -> &HashMap<K, V> {
        &self.map
    }

    /// The live map, for changes by messages and timers.
    pub fn live_mut(&mut self) -> &mut HashMap<K, V> {
        &mut self.map
    }

    /// Forgets what another trial wrote.
    fn begin(&mut self, trial: Trial) {
        if self.trial != trial {
            self.layer = HashMap::new();
            self.trial = trial;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_a_trial_are_visible_in_it_and_then_forgotten() {
        let mut map = TrialMap::default();
        map.insert(Trial::LIVE, 1, 10);
        let first = Trial::LIVE.next();
        *map.get_mut(first, &1).expect("is there") += 1;
        map.insert(first, 2, 20);
        assert_eq!(
            (map.get(first, &1), map.get(first, &2)),
            (Some(&11), Some(&20))
        );
        map.remove(first, &1);
        assert_eq!(map.get(first, &1), None);
        assert_eq!(map.get_mut(first, &1), None);
        assert_eq!(map.get(Trial::LIVE, &1), Some(&10));
        let second = first.next();
        assert_eq!(
            (map.get(second, &1), map.get(second, &2)),
            (Some(&10), None)
        );
        map.remove(second, &2);
        assert_eq!(map.get(second, &1), Some(&10));
        assert_eq!(map.live().len(), 1);
    }
}
