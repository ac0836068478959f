//! The configuration of a datapath.

#[cfg(feature = "text")]
mod names;

use alloc::collections::BTreeMap;

use bofuss_oflib::types::GroupId;
use bofuss_oflib::{Mac, PortNo};

use crate::PortVlans;
use crate::egress::{DisciplineRow, WEIGHTED_PRIORITY};

/// The most addresses that NORMAL knows at a time; they take some 700 KB.
pub const MAX_ADDRESSES: u32 = 8192;

/// An address in a VLAN (the VLAN_VID value, 0 for untagged).
pub type Station = (u16, Mac);

/// The configuration of a datapath.
#[derive(Clone, Debug)]
pub struct Config {
    /// The number of tables, 1 to 254.
    pub n_tables: u8,
    /// The most entries of one table.
    pub max_entries: u32,
    /// The most entries of all tables together. What takes more memory counts as further entries:
    /// instructions for each 4 actions, a match and a mask for each 8 words, and each mask of a
    /// table beyond 64. Instructions and masks that several entries share count once.
    pub max_total_entries: u32,
    /// The most groups.
    pub max_groups: u32,
    /// The most buckets of all groups together. One counts as one more for each 8 actions.
    pub max_buckets: u32,
    /// The most meters.
    pub max_meters: u32,
    /// The most bands of one meter.
    pub max_bands: u8,
    /// The algorithm by which select groups choose buckets,
    pub select: Algorithm,
    /// and exceptions by group.
    pub group_select: BTreeMap<GroupId, Algorithm>,
    /// The most addresses that NORMAL learns on a port,
    pub max_addresses: u32,
    /// and exceptions by port; 0 for none.
    pub port_addresses: BTreeMap<PortNo, u32>,
    /// The ports of stations that NORMAL does not learn: they do not move, and are not forgotten.
    pub static_addresses: BTreeMap<Station, PortNo>,
    /// The VLANs of ports for NORMAL; others carry all.
    pub port_vlans: BTreeMap<PortNo, PortVlans>,
    /// The disciplines that ports can be given while the switch runs.
    pub disciplines: &'static [DisciplineRow],
    /// The discipline of ports with queues,
    pub discipline: &'static DisciplineRow,
    /// and exceptions by port.
    pub port_disciplines: BTreeMap<PortNo, &'static DisciplineRow>,
    /// The way in which packets find their entries.
    pub engine: Engine,
    /// The most flows in the flow cache.
    pub cache_flows: u32,
    /// The number of changes of entries that the flow cache logs for revalidation.
    pub cache_changes: u32,
    /// The seed of all random choices.
    pub seed: u64,
    /// The secret of all hashes, which must be unpredictable.
    pub secret: u64,
    /// Nanoseconds from 1970 to the origin of [`crate::Time`].
    pub epoch_ns: u64,
    /// The switch's datapath id, for extensions that tell switches apart.
    pub datapath_id: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            n_tables: 64,
            max_entries: 1_000_000,
            max_total_entries: 4_000_000,
            max_groups: 65_536,
            max_buckets: 262_144,
            max_meters: 65_536,
            max_bands: 16,
            select: Algorithm::Hash,
            group_select: BTreeMap::new(),
            max_addresses: MAX_ADDRESSES,
            port_addresses: BTreeMap::new(),
            static_addresses: BTreeMap::new(),
            port_vlans: BTreeMap::new(),
            disciplines: &[WEIGHTED_PRIORITY],
            discipline: &WEIGHTED_PRIORITY,
            port_disciplines: BTreeMap::new(),
            engine: Engine::default(),
            cache_flows: 1 << 20,
            cache_changes: 64,
            seed: 0,
            secret: 0,
            epoch_ns: 0,
            datapath_id: 0,
        }
    }
}

impl Config {
    /// Returns how a select group chooses buckets.
    pub(crate) fn algorithm(&self, group: GroupId) -> Algorithm {
        *self.group_select.get(&group).unwrap_or(&self.select)
    }

    /// A port's discipline.
    pub(crate) fn discipline(&self, port: PortNo) -> &'static DisciplineRow {
        let own = self.port_disciplines.get(&port);
        own.copied().unwrap_or(self.discipline)
    }
}

/// The way in which packets find their entries. All engines behave alike and differ only in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// By a plain scan of the table, as the specification describes it.
    Reference,
    /// In hash tables, one for each of a few masks.
    Tables,
    /// As `Tables`, and for packets of known flows in the flow cache.
    #[default]
    Cache,
}

impl Engine {
    /// All engines, by name.
    pub const ALL: [(&'static str, Self); 3] = [
        ("reference", Self::Reference),
        ("tables", Self::Tables),
        ("cache", Self::Cache),
    ];
}

/// The algorithm by which a select group chooses a slot for a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// By a hash of the flow's addresses: a flow keeps its bucket.
    #[default]
    Hash,
    /// Each bucket in turn, by weight.
    RoundRobin,
    /// At random, by weight.
    Random,
}
