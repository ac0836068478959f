//! An extension that only this test has: a board on which controllers write notes.

use std::collections::BTreeMap;
use std::fmt;

use bofuss_datapath::{ControlContext, Hook, ReplyPart, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{ExtKind, ExtRow, TypedBody};
use bofuss_oflib::message::{FlowMod, FlowRemoved};
use bofuss_oflib::wire::{Bytes, Reader, Text, TextForm, Wire, Writer};
use bofuss_oflib::{Action, Catalogue, DecodeError, ErrorCode, ExtValue, PortNo};

/// The board's number as an experimenter, and its errors.
pub(crate) const BOARD: u32 = 0x00b0_a4d0;
pub(crate) const NO_PLACE: ErrorCode = ErrorCode::of_experimenter(BOARD, 1);
pub(crate) const BAD_TYPE: ErrorCode = ErrorCode::of_experimenter(BOARD, 2);
pub(crate) const BAD_LENGTH: ErrorCode = ErrorCode::of_experimenter(BOARD, 3);
/// Places for notes.
pub(crate) const PLACES: u32 = 1000;
/// Places that a part of a list covers.
pub(crate) const PLACES_PER_PART: u64 = 100;

pub(crate) const WRITE: usize = 0;
pub(crate) const WATCH: usize = 1;
pub(crate) const WRITTEN: usize = 2;
pub(crate) const EVENT: usize = 3;
pub(crate) const LIST: usize = 4;

pub(crate) static ROWS: [ExtRow; 5] = [
    ExtRow::typed::<Notes>(ExtKind::Message, BOARD, 1, "board_write")
        .that_changes()
        .with_errors(BAD_TYPE, BAD_LENGTH),
    ExtRow::new(ExtKind::Message, BOARD, 2, "board_watch").with_data(),
    ExtRow::typed::<Notes>(ExtKind::Message, BOARD, 3, "board_written"),
    ExtRow::new(ExtKind::Message, BOARD, 4, "board_event")
        .with_data()
        .for_subscribers(),
    ExtRow::typed::<Notes>(ExtKind::Multipart, BOARD, 1, "board_list"),
];

/// Places and what is written there. In form 1 it has no texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Notes(pub(crate) Vec<Note>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Note {
    pub(crate) place: u32,
    pub(crate) text: u64,
}

impl Wire for Note {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_place = r.at("place").clone();
        let place = r.get()?;
        if place >= PLACES {
            return Err(at_place.err(NO_PLACE));
        }
        let text = r.at("text").get()?;
        Ok(Self { place, text })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.place).put(&self.text);
    }
}

impl TextForm for Note {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:#x}", self.place, self.text)
    }
}

impl Wire for Notes {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        r.get().map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.0);
    }
}

impl TextForm for Notes {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Text(&self.0))
    }
}

impl TypedBody for Notes {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, bofuss_oflib::ParseError> {
        Err("it is not written by hand".into())
    }
    fn join(&mut self, mut part: Self) -> bool {
        self.0.append(&mut part.0);
        true
    }
    fn in_form(&self, form: u8) -> Option<Self> {
        let without = |note: &Note| Note {
            text: 0,
            ..note.clone()
        };
        (form == 1).then(|| Self(self.0.iter().map(without).collect()))
    }
}

pub(crate) fn notes(row: usize, list: &[(u32, u64)]) -> ExtValue {
    let note = |(place, text): &(u32, u64)| Note {
        place: *place,
        text: *text,
    };
    ExtValue::typed(&ROWS[row], Notes(list.iter().map(note).collect()))
}

pub(crate) fn bytes(row: usize, text: &str) -> ExtValue {
    ExtValue::new(&ROWS[row], vec![], Bytes(text.into()))
}

/// What is written on the board.
#[derive(Default)]
pub(crate) struct Board {
    notes: BTreeMap<u32, u64>,
    /// When it next sends its watchers a notification.
    next: Option<Time>,
}

impl Board {
    fn tell(cx: &mut ControlContext<'_>, what: &str) {
        cx.notify(bytes(EVENT, what));
    }
}

impl Hook for Board {
    fn name(&self) -> &'static str {
        "board"
    }

    fn on_disconnect(&mut self, connection: u64) {
        self.notes.insert(connection as u32, 9);
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        match row {
            WRITE => {
                let Notes(list) = value.body().unwrap();
                cx.notify(ExtValue::typed(&ROWS[WRITTEN], Notes(list.clone())));
                if list.iter().any(|note| note.text == 0) {
                    // Notifications of what is refused are not sent.
                    return Err(ErrorCode::of_experimenter(BOARD, 9));
                }
                self.notes
                    .extend(list.iter().map(|note| (note.place, note.text)));
                if list.is_empty() {
                    // It also sends a frame out of port 2.
                    let packet = cx.packet(&[7; 60], PortNo(1)).unwrap();
                    cx.emit(packet, vec![Action::output(PortNo(2))]);
                }
            }
            WATCH => {
                let asker = cx.asker.unwrap();
                cx.subscribe(&ROWS[EVENT], value.data.0 != b"no");
                if value.data.0 == b"short" {
                    cx.set_form(1);
                }
                let role = asker.role;
                let (connection, form) = (asker.connection, asker.form);
                let n_ports = cx.ports().len();
                let told = format!("{connection} {role} {} {form} {n_ports}", asker.version);
                cx.reply(bytes(WATCH, &told));
                self.next = Some(cx.now.after(Time::SEC));
            }
            _ => return Err(BadRequest::BAD_EXP_TYPE),
        }
        Ok(())
    }

    fn on_multipart(
        &mut self,
        _: &mut ControlContext<'_>,
        _: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let Notes(wanted) = request.body().unwrap();
        let end = from + PLACES_PER_PART;
        let here = self.notes.range(from as u32..end as u32);
        let is_wanted = |place| wanted.is_empty() || wanted.iter().any(|one| one.place == place);
        let list: Vec<_> = here
            .filter(|(place, _)| is_wanted(**place))
            .map(|(place, text)| (*place, *text))
            .collect();
        if list.iter().any(|note| note.1 == 13) {
            return Err(NO_PLACE);
        }
        let next = (end < PLACES.into()).then_some(end);
        let is_empty = list.is_empty() && next.is_some();
        Ok(ReplyPart {
            value: (!is_empty).then(|| notes(LIST, &list)),
            next,
        })
    }

    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        if flow_mod.cookie == 99 {
            cx.reply(bytes(EVENT, "flow-mod"));
        }
        if flow_mod.cookie == 98 {
            let asker = cx.asker.map(|asker| asker.connection);
            Self::tell(cx, &format!("flow-mod of {asker:?}"));
        }
    }

    fn on_flow_removed(&mut self, cx: &mut ControlContext<'_>, removed: &FlowRemoved) {
        Self::tell(cx, &format!("removed {}", removed.priority));
    }

    fn on_port_change(&mut self, cx: &mut ControlContext<'_>, port: PortNo, up: bool) {
        Self::tell(cx, &format!("port {port} {up}"));
    }

    fn next_tick(&self) -> Option<Time> {
        self.next
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        self.next = None;
        Self::tell(cx, "tick");
        let packet = cx.packet(&[9; 60], PortNo(3)).unwrap();
        cx.emit(packet, vec![Action::output(PortNo(4))]);
    }
}
