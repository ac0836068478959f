//! The OpenFlow language: fields, actions, instructions, messages, errors, their wire and text
//! forms. Start at [`message`], then [`field`] and [`action`].
#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

pub mod action;
pub mod added_header;
#[cfg(feature = "connections")]
pub mod assemble;
pub mod catalogue;
pub mod codec;
pub mod copy_field;
pub mod error;
pub mod ext;
#[cfg(feature = "extensions")]
mod extension_rows;
pub mod field;
mod field_rows;
pub mod field_set;
mod forms;
#[cfg(feature = "connections")]
pub mod framing;
#[cfg(feature = "connections")]
pub mod handshake;
pub mod instruction;
mod key_layout;
pub mod matching;
pub mod message;
mod model;
#[cfg(feature = "nicira")]
mod nicira;
#[cfg(feature = "extensions")]
mod parse_error;
pub mod registers;
mod spare;
pub mod stat_trigger;
#[cfg(feature = "text")]
pub mod text;
pub mod types;
#[cfg(feature = "v1_0")]
mod v1_0;
#[cfg(feature = "v1_1")]
mod v1_1;
#[cfg(feature = "v1_2")]
mod v1_2;
mod v1_3;
#[cfg(feature = "v1_4")]
mod v1_4;
#[cfg(feature = "v1_5")]
mod v1_5;
pub mod version;
pub mod wire;

pub use action::Action;
#[cfg(feature = "connections")]
pub use assemble::Assembler;
pub use catalogue::Catalogue;
pub use codec::{Codec, Dialect, EncodeError, HEADER_BYTES};
pub use error::{DecodeError, ErrorCode};
pub use ext::ExtValue;
pub use field::Field;
pub use field_set::FieldSet;
#[cfg(feature = "connections")]
pub use framing::Framer;
pub use instruction::Instruction;
pub use matching::{FieldMatch, Match};
pub use message::Message;
#[cfg(feature = "nicira")]
pub use nicira::actions::NICIRA;
#[cfg(feature = "nicira")]
pub use nicira::subfield::Subfield;
#[cfg(feature = "extensions")]
pub use parse_error::ParseError;
pub use types::{Mac, PortNo};
pub use version::Version;
