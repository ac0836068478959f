//! An extension for scenarios only: its action causes each effect that a hook can have.

use core::fmt;

use bofuss_datapath::{ControlContext, Hook, HookContext, HookEffect, Verdict};
use bofuss_oflib::ext::{Arg, TypedBody};
use bofuss_oflib::text::{Actions, items};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Action, DecodeError};

use super::*;

const EXPERIMENTER: u32 = 0x0062_6f90;
/// The packet that the hook makes, from host 9 to host 8.
const MADE: &str = "020000000008020000000009 88b5 0102";

bofuss_oflib::experimenter_errors! {
    EXPERIMENTER "EFFECTS"
    3 REFUSED "the scenario wants it"
}

pub static ROWS: [ExtRow; 4] = [
    ExtRow::typed::<Effect>(ExtKind::Action, EXPERIMENTER, 1, "effect").with_error_names(ERRORS),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 1, "effect_subscribe"),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 2, "effect_notice")
        .with_args(&[Arg::new("number", 4)])
        .for_subscribers(),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 3, "effect_refuse"),
];

/// The rows of the extensions that are compiled in, and of this one.
pub fn catalogue() -> Catalogue {
    let mut catalogue = bofuss_ext::catalogue();
    catalogue.add("effects", &[], &ROWS).unwrap();
    catalogue
}

pub fn hook() -> Box<dyn Hook> {
    Box::new(Effects::default())
}

/// The action: the place of its kind in [`KINDS`], a number, and actions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Effect {
    kind: u32,
    number: u32,
    actions: Vec<Action>,
}

const KINDS: [&str; 7] = ["apply", "clone", "make", "goto", "notify", "timer", "drop"];

impl Wire for Effect {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.take(4)?;
        let (kind, number) = (r.get()?, r.get()?);
        let bytes = r.remaining();
        let actions = Action::decode_list(r, bytes)?;
        Ok(Self {
            kind,
            number,
            actions,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.pad(4)
            .put(&self.kind)
            .put(&self.number)
            .put(&self.actions);
    }
}

impl TextForm for Effect {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, actions) = (KINDS[self.kind as usize], Actions(&self.actions));
        write!(f, "kind={kind},number={},actions=({actions})", self.number)
    }
}

impl TypedBody for Effect {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, bofuss_oflib::ParseError> {
        let value = |name: &str| items(text).find_map(|item| item.strip_prefix(name));
        let actions = value("actions=(").and_then(|text| text.strip_suffix(')'));
        let actions = parse_actions(actions.unwrap_or("drop"), &Match::ANY, catalogue);
        let kind = KINDS.iter().position(|kind| Some(*kind) == value("kind="));
        Ok(Self {
            kind: kind.ok_or("there is no such kind")? as u32,
            number: value("number=")
                .unwrap_or("0")
                .parse()
                .map_err(|_| "no number")?,
            actions: actions.map_err(|error| error.to_string())?,
        })
    }
}

/// The effect that a timer will cause, and when.
#[derive(Default)]
struct Effects(Option<(Time, Effect)>);

fn notice(number: u32) -> ExtValue {
    ExtValue::new(&ROWS[2], vec![number.into()], Bytes::default())
}

fn made() -> Vec<u8> {
    bofuss_oflib::text::parse_bytes(MADE).unwrap()
}

impl Hook for Effects {
    fn name(&self) -> &'static str {
        "effects"
    }

    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        let effect = value.body::<Effect>().unwrap().clone();
        let number = effect.number;
        match KINDS[effect.kind as usize] {
            "apply" => cx.apply(effect.actions),
            "clone" => {
                let copy = cx.copy().unwrap();
                cx.emit(copy, effect.actions);
            }
            "make" => {
                let packet = cx.packet(&made(), PortNo(number)).unwrap();
                cx.emit(packet, effect.actions);
            }
            "goto" => cx.goto(TableId(number as u8)),
            "notify" => cx.notify(notice(number)),
            "timer" if cx.is_dry() => {}
            "timer" => self.0 = Some((cx.now.after(u64::from(number) * 1_000_000), effect)),
            _ => return cx.drop("scenario"),
        }
        Verdict::Continue
    }

    fn next_tick(&self) -> Option<Time> {
        self.0.as_ref().map(|(at, _)| *at)
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        let Some((_, effect)) = self.0.take() else {
            return;
        };
        cx.notify(notice(effect.number));
        let packet = cx.packet(&made(), PortNo(1)).unwrap();
        cx.emit(packet, effect.actions);
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        _: &ExtValue,
    ) -> Result<(), ErrorCode> {
        if row != 1 {
            return Err(REFUSED);
        }
        cx.subscribe(&ROWS[2], true);
        Ok(())
    }
}
