//! Networks of switches, hosts and controllers on one virtual clock.
//!
//! Nothing here opens a file or a socket, starts a thread or reads a clock, so runs are
//! deterministic: equal networks with equal seeds have the same events.
//!
//! A [`Scenario`](scenario::Scenario) is a network with its traffic, from a text; a [`Network`] is
//! built by calls.
//!
//! ```
//! use bofuss_sim::scenario::{NoOutside, Scenario};
//!
//! let text = r#"
//!     end = 2.0
//!     [topology]
//!     shape = "line"
//!     switches = 2
//!     hosts = 1
//!     [defaults.switch]
//!     fail_mode = "standalone"
//!     [[traffic]]
//!     kind = "ping"
//!     from = "h1"
//!     to = "h2"
//!     count = 1
//! "#;
//! let mut scenario = Scenario::build(text, None, &mut NoOutside)?;
//! // An observer would see each event; `()` ignores them.
//! scenario.run_until(scenario.end(), &mut ())?;
//! let statistics = scenario.statistics();
//! assert_eq!(statistics["traffic"][0]["received"], 1);
//! # Ok::<(), bofuss_sim::scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

mod control;
pub mod controller;
mod event_log;
mod event_queue;
pub mod host;
mod link;
mod network;
mod observer;
mod random;
mod run;
pub mod scenario;
mod seconds;
mod statistics;
mod switch_node;
pub mod tcp;
mod timeline;
pub mod topology;
pub mod traffic;

pub use event_log::EventLog;
pub use link::{Bursts, LinkConfig, LinkDrop, LinkState, LinkStats, NodeId, NodePort};
pub use network::{Change, MAX_PORT, Network, NetworkConfig, NetworkError};
pub use observer::{ControllerId, EventKind, LinkDirection, LinkId, LogEvent, Observer};
pub use random::Random;
pub use statistics::{NetworkNames, summary};
pub use timeline::Timeline;
