//! The switch as a library. In: frames, bytes of controllers, and the time. Out: frames, bytes for
//! controllers, and changes of links.
//!
//! An [`EmbeddedSwitch`] has no threads, sockets or clock. Each call is an input, most of them with
//! a time, and when it returns, everything that it causes is done; [`EmbeddedSwitch::drain`] gives
//! the effects in order. A process may have any number of switches. They share only what their
//! configurations share: frames move between switches that have the same
//! [`Pool`](bofuss_frame::Pool) without being copied. A switch with a P4 program instead of
//! OpenFlow tables is in [`p4`].
//!
//! ```
//! use bofuss_embed::{Effect, EmbeddedConfig, EmbeddedSwitch, port};
//! use bofuss_agent::FailMode;
//! use bofuss_datapath::Time;
//! use bofuss_oflib::PortNo;
//!
//! // Without a controller, this switch forwards like an ordinary Ethernet switch.
//! let config = EmbeddedConfig { fail_mode: FailMode::Standalone, ..EmbeddedConfig::default() };
//! let mut switch = EmbeddedSwitch::new(Time(0), config)?;
//! for number in 1..=3 {
//!     switch.add_port(Time(0), port(number), Default::default())?;
//! }
//! let frame = switch.frame(&[0xff; 60]).expect("the pool is empty");
//! switch.receive(Time(1_000), PortNo(1), &mut vec![frame])?;
//! let outputs = switch.drain().filter(|effect| matches!(effect, Effect::Transmit { .. }));
//! assert_eq!(outputs.count(), 2);
//! # Ok::<(), bofuss_embed::EmbedError>(())
//! ```
//!
//! A controller in the same program exchanges messages with a switch as values:
//!
//! ```
//! use bofuss_embed::{Effect, EmbeddedConfig, EmbeddedSwitch, Time};
//! use bofuss_oflib::message::Empty;
//! use bofuss_oflib::{Message, Version};
//!
//! let mut switch = EmbeddedSwitch::new(Time(0), EmbeddedConfig::default())?;
//! let controller = switch.connect_typed(Time(0), Version::V1_3);
//! assert!(switch.message(Time(1_000), controller, 7, Message::BarrierRequest(Empty))?);
//! let Some(Effect::Message { xid, message, .. }) = switch.drain().last() else {
//!     panic!("a message is answered");
//! };
//! assert_eq!((xid, message), (7, Message::BarrierReply(Empty)));
//! # Ok::<(), bofuss_embed::EmbedError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

mod config;
mod effects;
pub mod p4;
mod peer;
pub mod record;
pub mod saved;
mod switch;

pub use bofuss_agent::{ConnId, FailMode};
pub use bofuss_datapath::Time;
pub use config::{EmbedError, EmbeddedConfig, POOL_BYTES, port};
pub use effects::{CloseReason, Effect, MAX_UNREAD_BYTES, ROOM_BYTES};
pub use peer::{MAX_BUFFERED_BYTES, MAX_MULTIPART_REQUEST_BYTES};
pub use switch::EmbeddedSwitch;
