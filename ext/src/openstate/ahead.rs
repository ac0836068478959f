//! What state tables know of packets that come soon, so that these wait for memory together.

use alloc::vec::Vec;

use bofuss_datapath::{Time, Upcoming};

use super::extractor::{Extractor, FieldSource};
use super::machine::Machine;
use super::table::SoughtFlow;

/// A flow of a packet that comes soon, and the state that the packet would find now.
#[derive(Clone, Copy, Debug)]
struct FlowAhead {
    sought: SoughtFlow,
    state: u32,
}

/// What packets that come to a table soon would find there now.
#[derive(Debug, Default)]
pub(super) struct FlowsAhead {
    table: u8,
    /// Their flows in the lookup scope; `None` for one that has to be looked at when it comes.
    flows: Vec<Option<FlowAhead>>,
    global: u32,
}

impl FlowsAhead {
    /// The flow of a packet in the lookup scope of a table, if it was looked at.
    #[inline]
    pub(super) fn get(&self, table: u8, packet: &impl FieldSource) -> Option<&SoughtFlow> {
        let flow = self.flows.get(packet.upcoming()?)?.as_ref()?;
        (self.table == table).then_some(&flow.sought)
    }
}

impl Machine {
    /// Finds the flows of packets that come to a table soon, in its lookup scope, and what these
    /// would find: all together, so that they wait for memory once.
    pub fn look_ahead(&mut self, number: u8, packets: &Upcoming<'_>) {
        self.ahead.table = number;
        self.ahead.global = self.global;
        let flows = &mut self.ahead.flows;
        flows.clear();
        let table = self
            .tables
            .get(usize::from(number))
            .and_then(Option::as_deref);
        let Some(table) = table.filter(|table| table.is_enabled()) else {
            return;
        };
        let Some(lookup) = &table.lookup else { return };
        for packet in 0..packets.len() {
            let key = lookup.key_ahead(packets, packet);
            flows.push(key.map(|key| FlowAhead {
                sought: table.states.seek(key),
                state: 0,
            }));
        }
        for flow in flows.iter_mut().flatten() {
            table.states.guess(&mut flow.sought);
        }
        for flow in flows.iter_mut().flatten() {
            flow.state = table.states.foresee(packets.now, &flow.sought);
        }
    }

    /// The states that packets would find, by their numbers, where that is known.
    pub fn foreseen(&self) -> impl Iterator<Item = (usize, u32)> {
        let flows = self.ahead.flows.iter().enumerate();
        flows.filter_map(|(number, flow)| Some((number, flow.as_ref()?.state)))
    }

    /// Has a packet find what was foreseen for it; `false` if it would find something else.
    #[inline]
    pub fn fulfil(&mut self, now: Time, number: usize) -> bool {
        let ahead = &self.ahead;
        let table = self.tables[usize::from(ahead.table)].as_mut();
        let Some((table, Some(flow))) = table.zip(ahead.flows.get(number)) else {
            return false;
        };
        ahead.global == self.global && table.states.fulfil(now, &flow.sought, flow.state)
    }

    /// The flow of a packet that an action in an enabled table is about, as
    /// `Stateful::updated_flow` finds it.
    pub(super) fn updated_flow(
        &self,
        number: u8,
        bit: bool,
        own: Option<&Extractor>,
        packet: &mut impl FieldSource,
    ) -> Option<SoughtFlow> {
        let table = self.enabled(number)?;
        if table.updates_what_is_read
            && !bit
            && own.is_none()
            && let Some(flow) = self.ahead.get(number, packet)
        {
            return Some(*flow);
        }
        let key = table.updated_flow(bit, own, packet)?;
        Some(table.states.seek(key))
    }
}
