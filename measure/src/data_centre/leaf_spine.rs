//! The network of a data centre: each leaf switch is connected with each spine switch, and servers
//! with the leaves. By their entries, the hash of a flow chooses its spine.

use crate::cases::workbench::Limits;

/// A network of two tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Switches of the upper tier. Port `n` of a spine is leaf `n`.
    pub spines: usize,
    /// Switches of the lower tier. Port `n` of a leaf is spine `n`; servers are at the ports after.
    pub leaves: usize,
    /// Servers of each leaf.
    pub servers_per_leaf: usize,
}

impl LeafSpine {
    /// The paper's topology. Source: Fernandes et al., The Road to BOFUSS, Table 3.
    pub const PAPER: Self = Self {
        spines: 4,
        leaves: 4,
        servers_per_leaf: 20,
    };

    /// A small one, for the shortest form.
    pub const SMALL: Self = Self {
        spines: 2,
        leaves: 2,
        servers_per_leaf: 3,
    };

    /// The network of a case.
    pub fn of(limits: &Limits) -> Self {
        if limits.short {
            Self::SMALL
        } else {
            Self::PAPER
        }
    }

    /// All servers.
    pub fn servers(&self) -> usize {
        self.leaves * self.servers_per_leaf
    }

    /// The IPv4 address of a server, numbered from 0: 10.LEAF.0.NUMBER.
    pub fn address(&self, server: usize) -> String {
        let leaf = self.leaf(server);
        format!("10.{leaf}.0.{}", server % self.servers_per_leaf + 1)
    }

    /// The leaf of a server; leaves are numbered from 1.
    pub fn leaf(&self, server: usize) -> usize {
        server / self.servers_per_leaf + 1
    }

    /// The entries of a spine: it knows the leaves.
    pub fn spine_flows(&self) -> Vec<String> {
        (1..=self.leaves)
            .map(|leaf| format!("ip,nw_dst=10.{leaf}.0.0/16,actions=output:{leaf}"))
            .collect()
    }

    /// The group of a leaf that chooses a spine.
    pub fn leaf_group(&self) -> String {
        let buckets: Vec<String> = (1..=self.spines)
            .map(|spine| format!("bucket=output:{spine}"))
            .collect();
        format!("group_id=1,type=select,{}", buckets.join(","))
    }

    /// The entries of a leaf: its servers, and its group for all else.
    pub fn leaf_flows(&self, leaf: usize) -> Vec<String> {
        let mut flows = vec!["priority=1,ip,actions=group:1".to_string()];
        for number in 0..self.servers_per_leaf {
            let to = self.address((leaf - 1) * self.servers_per_leaf + number);
            let port = self.spines + 1 + number;
            flows.push(format!("priority=2,ip,nw_dst={to},actions=output:{port}"));
        }
        flows
    }
}
