//! What tools ask for that takes long: it is collected in slices, with packets in between.

use bofuss_channel::ActiveAddress;
use bofuss_embed::saved::Since;

use super::exports::Exports;
use super::live_switch::LiveSwitch;
use super::saving::warn_of;

/// What is collected in slices, with packets in between.
pub trait Collection: Send + 'static {
    /// Returns true if all of this switch is collected.
    fn is_done(&self) -> bool;

    /// Adds one slice of a switch.
    fn add_slice(&mut self, switch: CollectedSwitch<'_>);
}

/// A switch, and what collections read beside it.
pub struct CollectedSwitch<'a> {
    pub(super) live: &'a mut LiveSwitch,
    pub(super) exports: &'a Exports,
    /// The configured controllers.
    pub(super) controllers: &'a [ActiveAddress],
}

impl CollectedSwitch<'_> {
    /// Gives the switch `most` things at most that happened in its predecessor.
    pub fn give_news(self, news: &mut Since, most: usize) {
        let now = self.live.now();
        warn_of(&news.give(now, most, self.live.unrecorded().0));
    }
}

/// Adds one slice to a collection, which it returns to whoever asked for it.
pub type CollectSlice = Box<dyn FnOnce(CollectedSwitch<'_>) + Send>;
