//! PKTTMP_MOD and the instruction IN_SWITCH_PKT_GEN, on the wire and as text.

use alloc::{format, string::ToString, vec::Vec};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::{Actions, number, parse_actions, parse_bytes};
use bofuss_oflib::wire::{Bytes, Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Action, Catalogue, DecodeError, Match, ParseError};

use super::error::BAD_COMMAND;
use crate::common::beba::BAD_EXP_LEN;
use crate::common::list::Listed;

/// Bytes of a message after its command: the template's number and padding.
const HEAD_BYTES: usize = 8;

/// A change of templates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TemplateMod {
    /// Adds a template, or replaces the one with the same number.
    Add {
        /// Its number.
        id: u32,
        /// The packet, from its Ethernet header on.
        packet: Bytes,
    },
    /// Deletes a template.
    Delete {
        /// Its number.
        id: u32,
    },
}

impl Wire for TemplateMod {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if r.remaining() < 2 {
            return Err(r.at("command").err(BAD_EXP_LEN));
        }
        let at_command = r.at("command").clone();
        let command = r.get::<u8>()?;
        r.take(1)?;
        let at_id = r.at("pkttmp_id").clone();
        if command <= 1 && r.remaining() < HEAD_BYTES {
            return Err(at_id.err(BAD_EXP_LEN));
        }
        match command {
            0 => {
                let id = r.get()?;
                r.take(4)?;
                let packet = r.at("packet").get()?;
                Ok(Self::Add { id, packet })
            }
            1 if r.remaining() == HEAD_BYTES => {
                let id = r.get()?;
                r.take(4)?;
                Ok(Self::Delete { id })
            }
            1 => Err(at_id.err(BAD_EXP_LEN)),
            _ => Err(at_command.err(BAD_COMMAND)),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Self::Add { id, packet } => {
                w.put(&0u8).pad(1).put(id).pad(4).put(packet);
            }
            Self::Delete { id } => {
                w.put(&1u8).pad(1).put(id).pad(4);
            }
        }
    }
}

impl TextForm for TemplateMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { id, packet } => {
                write!(f, "add,id={id},packet=")?;
                packet.text(f)
            }
            Self::Delete { id } => write!(f, "delete,id={id}"),
        }
    }
}

impl Listed for TemplateMod {}

impl TypedBody for TemplateMod {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let (command, rest) = text.split_once(",id=").ok_or("there is no id")?;
        let (id, packet) = match rest.split_once(",packet=") {
            Some((id, packet)) => (id, Some(packet)),
            None => (rest, None),
        };
        let id = parse_id(id)?;
        match (command, packet) {
            ("add", packet) => Ok(Self::Add {
                id,
                packet: Bytes(parse_bytes(packet.unwrap_or(""))?),
            }),
            ("delete", None) => Ok(Self::Delete { id }),
            (_, _) => Err(format!("'{command}': there are add and delete").into()),
        }
    }
}

fn parse_id(text: &str) -> Result<u32, ParseError> {
    let id = number(text).and_then(|id| id.try_into().ok());
    id.ok_or_else(|| format!("'{text}' is not the number of a template").into())
}

/// The instruction that makes a packet from a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketGen {
    /// The template's number.
    pub template: u32,
    /// The actions that are applied to the packet.
    pub actions: Vec<Action>,
}

impl Wire for PacketGen {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.take(4)?;
        let template = r.at("pkttmp_id").get()?;
        r.take(4)?;
        let bytes = r.remaining();
        let actions = Action::decode_list(r, bytes)?;
        Ok(Self { template, actions })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(4).put(&self.template).pad(4).put(&self.actions);
    }
}

impl TextForm for PacketGen {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "template={},actions=({})",
            self.template,
            Actions(&self.actions)
        )
    }
}

impl TypedBody for PacketGen {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let inner = text
            .strip_prefix("template=")
            .and_then(|text| text.strip_suffix(')'));
        let parts = inner.and_then(|text| text.split_once(",actions=("));
        let (template, actions) = parts.ok_or("it is template=N,actions=(ACTIONS)")?;
        let actions = parse_actions(actions, &Match::ANY, catalogue);
        Ok(Self {
            template: parse_id(template)?,
            actions: actions.map_err(|error| error.to_string())?,
        })
    }
}
