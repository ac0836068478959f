//! Exports as they are configured.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use bofuss_oflib::PortNo;

use super::address::Collector;
use super::sampler::Rate;

/// An export as it is configured.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportSpec {
    /// Where its datagrams go.
    pub collector: Collector,
    /// One in how many packets is sampled.
    pub rate: Rate,
    /// The ports whose frames are seen; all if there are none.
    pub ports: Vec<PortNo>,
    /// The seed of its random choices; an unpredictable one unless it is given.
    pub seed: Option<u32>,
    /// The format, with what only it has.
    pub format: ExportFormat,
}

/// A format of exports.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportFormat {
    /// sFlow version 5.
    Sflow(SflowSettings),
    /// IPFIX, RFC 7011.
    Ipfix(IpfixSettings),
}

/// The settings of sFlow.
#[derive(Clone, Debug, PartialEq)]
pub struct SflowSettings {
    /// Bytes of each sampled frame that are sent at most.
    pub header_bytes: usize,
    /// The time between two reports of counters; `None` for none.
    pub poll: Option<Duration>,
    /// The address of the agent; that of the socket unless it is given.
    pub agent: Option<IpAddr>,
    /// The number of the switch at this agent; from the datapath id unless it is given.
    pub sub_agent: Option<u32>,
}

/// The settings of IPFIX.
#[derive(Clone, Debug, PartialEq)]
pub struct IpfixSettings {
    /// The time after which a flow is reported although it goes on.
    pub active: Duration,
    /// The time without a packet after which a flow has ended.
    pub idle: Duration,
    /// Most flows of all ports together.
    pub max_flows: u64,
    /// The time between two transmissions of the templates.
    pub templates: Duration,
    /// The observation domain; from the datapath id unless it is given.
    pub domain: Option<u32>,
}

impl fmt::Display for ExportSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.format {
            ExportFormat::Sflow(_) => "sflow",
            ExportFormat::Ipfix(_) => "ipfix",
        };
        write!(f, "{name} {}", self.collector)
    }
}
