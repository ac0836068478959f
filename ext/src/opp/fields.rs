//! The fields that Open Packet Processor adds to packets: the outcomes of conditions, and what is
//! in no header.

use bofuss_datapath::HookContext;
use bofuss_oflib::{Catalogue, Field};

use crate::common::beba::{EXPERIMENTER, FIELDS, FIRST_OPP_FIELD, N_CONDITIONS};

/// Nanoseconds of a millisecond, the unit of `timestamp`.
const NANOS_PER_MILLI: u64 = 1_000_000;
/// The increment of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The fields, and what their values are made from.
pub(crate) struct PacketFields {
    conditions: [&'static Field; N_CONDITIONS],
    timestamp: &'static Field,
    random: &'static Field,
    pkt_len: &'static Field,
    /// The state of the random number generator, splitmix64.
    pub(crate) seed: u64,
    /// Nanoseconds from 1970 to time 0 of the switch.
    pub(crate) epoch_ns: u64,
}

impl PacketFields {
    /// Panics: if `catalogue` lacks the fields.
    pub(crate) fn new(catalogue: &Catalogue) -> Self {
        let fields = FIELDS.each_ref().map(|row| {
            let field = catalogue.field(EXPERIMENTER, row.number);
            field.expect("the catalogue has this extension")
        });
        let [.., timestamp, random, pkt_len] = fields;
        let first = usize::from(FIRST_OPP_FIELD);
        Self {
            conditions: core::array::from_fn(|number| fields[first + number]),
            timestamp,
            random,
            pkt_len,
            seed: 0,
            epoch_ns: 0,
        }
    }

    /// Returns true if only Open Packet Processor has this field.
    pub(crate) fn has(field: &Field) -> bool {
        field.experimenter == EXPERIMENTER && field.number >= FIRST_OPP_FIELD
    }

    /// Sets an arriving packet's time, random number and length. A trial shows the random number
    /// that the next real packet will have, and does not use it up.
    pub(crate) fn set_facts(&mut self, cx: &mut HookContext<'_>) {
        let next = self.seed.wrapping_add(GOLDEN_GAMMA);
        if !cx.is_dry() {
            self.seed = next;
        }
        let millis = self.epoch_ns.saturating_add(cx.now.0) / NANOS_PER_MILLI;
        let bytes = cx.frame().bytes().len();
        cx.set(self.timestamp, u128::from(millis as u32));
        cx.set(self.random, u128::from(mixed(next) as u16));
        cx.set(self.pkt_len, u128::from(bytes as u16));
    }

    /// Sets a packet's fields for the conditions of the current table; without outcomes, clears
    /// them.
    pub(crate) fn set_conditions(
        &self,
        cx: &mut HookContext<'_>,
        outcomes: Option<[u8; N_CONDITIONS]>,
    ) {
        let Some(outcomes) = outcomes else {
            return self.conditions.iter().for_each(|field| cx.clear(field));
        };
        for (field, outcome) in self.conditions.iter().zip(outcomes) {
            cx.set(field, outcome.into());
        }
    }
}

/// The output function of splitmix64: each bit of the result depends on all bits of the number.
fn mixed(mut number: u64) -> u64 {
    number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
