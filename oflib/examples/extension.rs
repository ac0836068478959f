//! An experimenter's rows, declared outside of the library: a header with a field, an action of
//! numbers, and a message with a match and actions in it. Prints a flow and the message, as text
//! and as bytes.
//!
//! `cargo run -p bofuss-oflib --example extension`

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bofuss_oflib::added_header::AddedHeader;
use bofuss_oflib::ext::{Arg, ExtKind, ExtRow, TypedBody};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::{Actions, parse_actions, parse_flow, parse_match};
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{
    Action, Catalogue, Codec, DecodeError, ExtValue, Field, Match, Message, ParseError, Version,
    extension_fields,
};

/// A number of your own: an OUI, or a locally administered one, as here.
const EXPERIMENTER: u32 = 0x0062_6c67;

/// The header of VXLAN, after UDP port 4789.
static VXLAN: AddedHeader = AddedHeader::after_udp_port(4789, "vxlan", 8);
static FIELDS: [Field; 1] = extension_fields! { EXPERIMENTER;
    0 "vxlan_vni" 24 masked set Dec in VXLAN 32;
};
static VALUES: [ExtRow; 2] = [
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 1, "mark").with_args(&[Arg::new("colour", 4)]),
    ExtRow::typed::<Learn>(ExtKind::Message, EXPERIMENTER, 2, "learn").that_changes(),
];

/// The treatment of packets like these from now on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Learn {
    fields: Match,
    actions: Vec<Action>,
}

/// On the wire: an ofp_match, and a list of actions to the end of the message.
impl Wire for Learn {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let fields = r.at("fields").get()?;
        let actions = r.at("actions").get()?;
        Ok(Self { fields, actions })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.fields).put(&self.actions);
    }
}

impl TextForm for Learn {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.fields, Actions(&self.actions))
    }
}

impl TypedBody for Learn {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let (fields, actions) = text.split_once(" -> ").ok_or("it is MATCH -> ACTIONS")?;
        let fields = parse_match(fields, catalogue).map_err(|error| error.to_string())?;
        let actions = parse_actions(actions, &fields, catalogue);
        let actions = actions.map_err(|error| error.to_string())?;
        Ok(Self { fields, actions })
    }
}

/// Writes both, and reads them again.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut catalogue = Catalogue::default();
    catalogue.add("example", &FIELDS, &VALUES)?;
    let codec = Codec::new(Version::V1_3, Arc::new(catalogue));
    let text = "udp,udp_dst=4789,vxlan_vni=7,actions=mark(colour=3),output:2";
    let flow = parse_flow(text, FlowModCommand::ADD, &codec.catalogue)?;
    let learn = "udp,udp_dst=4789 -> set_field:9->vxlan_vni,output:2";
    let value = ExtValue::parse(&VALUES[1], learn, &codec.catalogue)?;
    for message in [Message::FlowMod(flow), Message::Experimenter(value)] {
        let mut bytes = Vec::new();
        codec.encode(1, &message, &mut bytes)?;
        assert_eq!(codec.decode(&bytes), Ok((1, message.clone())));
        println!("{message}");
        for byte in &bytes {
            print!("{byte:02x}");
        }
        println!();
    }
    Ok(())
}
