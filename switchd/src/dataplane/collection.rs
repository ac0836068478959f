//! What tools ask for that takes long: it is collected in slices, with packets in between.

use bofuss_channel::ActiveAddress;

use super::live_switch::LiveSwitch;

/// What is collected in slices, with packets in between.
pub trait Collection: Send + 'static {
    /// Returns true if all of this switch is collected.
    fn is_done(&self) -> bool;

    /// Adds one slice of a switch that has these controllers.
    fn add_slice(&mut self, live: &mut LiveSwitch, controllers: &[ActiveAddress]);
}

/// Adds one slice to a collection, which it returns to whoever asked for it.
pub type CollectSlice = Box<dyn FnOnce(&mut LiveSwitch, &[ActiveAddress]) + Send>;
