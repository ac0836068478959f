//! Frames as OpenFlow sees them: from bytes to a match key, and every rewrite of the bytes.
//!
//! Does not know tables or actions (see `datapath`). Start at [`header`], then `parse` and
//! [`edit`].
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

pub mod checksum;
#[cfg(feature = "fast_path")]
mod common_layouts;
mod configured;
#[cfg(feature = "craft")]
pub mod craft;
pub mod edit;
pub mod header;
mod headers;
pub mod key;
mod key_match;
pub mod offload;
mod packet;
#[cfg(feature = "packet_types")]
pub mod packet_type;
#[cfg(not(feature = "packet_types"))]
#[path = "no_packet_type.rs"]
pub mod packet_type;
pub mod parse;
#[cfg(feature = "reassembly")]
pub mod reassemble;
#[cfg(feature = "fast_path")]
mod rewrite;
mod rows;
mod shares;

#[cfg(feature = "fast_path")]
pub use common_layouts::COMMON_LAYOUTS;
pub use edit::EditError;
pub use headers::{Headers, TagChange};
pub use key::{Key, ReadLog};
pub use key_match::{KeyMask, KeyMatch, Words};
pub use packet::{Packet, arrival};
pub use parse::{Flaw, Fragment, Layout, parse, parse_deep, survey};
#[cfg(feature = "fast_path")]
pub use rewrite::Rewrite;
pub use shares::{Shares, may_use};
