//! The sources from which keys are read: packets, and frames that are looked up ahead.

use bofuss_datapath::{HookContext, UpcomingPacket};
use bofuss_oflib::field::IN_PORT;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Field, PortNo};

use super::flow_key::FlowKey;

/// A source of the values of a packet's fields.
pub trait FieldSource {
    /// The value of a field; `None` if the packet does not have it.
    fn get(&mut self, field: &Field) -> Option<u128>;

    /// The port that the packet came in through.
    fn in_port(&mut self) -> PortNo {
        PortNo(self.get(IN_PORT).unwrap_or(0) as u32)
    }

    /// The packet's number in the burst that was looked up ahead, if its headers have not changed
    /// since.
    fn upcoming(&self) -> Option<usize> {
        None
    }

    /// Notes the key of its flow in the lookup scope of the current table; `None` if it has none.
    fn note_lookup(&mut self, _: Option<&FlowKey>) {}

    /// The key that was noted last in the table of this number: that of the lookup there, whatever
    /// has happened to the packet since. `None` if none was noted.
    fn looked_up(&self, _: u8) -> Option<Option<FlowKey>> {
        None
    }
}

impl FieldSource for HookContext<'_> {
    fn get(&mut self, field: &Field) -> Option<u128> {
        Self::get(self, field)
    }

    fn upcoming(&self) -> Option<usize> {
        Self::upcoming(self)
    }

    fn note_lookup(&mut self, key: Option<&FlowKey>) {
        self.note(key.map(FlowKey::words));
    }

    fn looked_up(&self, table: u8) -> Option<Option<FlowKey>> {
        let noted = self.noted().filter(|noted| noted.table == TableId(table))?;
        Some(noted.words.map(FlowKey::of_words))
    }
}

impl FieldSource for UpcomingPacket<'_> {
    fn get(&mut self, field: &Field) -> Option<u128> {
        Self::get(self, field)
    }
}
