//! `clone`: actions on a copy of the packet.

use alloc::{string::ToString, vec::Vec};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::{Actions, parse_actions};
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Action, Catalogue, DecodeError, Match, ParseError};

/// The actions that are applied to a copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CloneAction(pub Vec<Action>);

impl Wire for CloneAction {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.take(6)?;
        let bytes = r.remaining();
        Action::decode_list(r, bytes).map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(6);
        Action::encode_list(&self.0, w);
    }
}

impl TextForm for CloneAction {
    /// `clone(set_field:10.0.0.1->nw_dst,output:2)`.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clone({})", Actions(&self.0))
    }
}

impl TypedBody for CloneAction {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let actions = parse_actions(text, &Match::ANY, catalogue);
        Ok(Self(actions.map_err(|error| error.to_string())?))
    }

    fn actions(&self) -> &[Action] {
        &self.0
    }
}
