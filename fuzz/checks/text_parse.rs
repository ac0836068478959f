//! Any text is a flow, group or meter, which survives its own text, or an error that points into
//! the text.

use bofuss_oflib::Catalogue;
use bofuss_oflib::message::{
    FlowModCommand, group_mod::GroupModCommand, meter_mod::MeterModCommand,
};
use bofuss_oflib::text::{ParseError, parse_flow, parse_group, parse_meter};

/// Panics: if a parser breaks its word. The first byte says which of them reads the rest.
pub fn run(bytes: &[u8]) {
    let Some((kind, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let catalogue = Catalogue::default();
    let command = FlowModCommand(kind % 5);
    match kind % 7 {
        5 => survives(text, |text| {
            parse_group(text, GroupModCommand::ADD, &catalogue)
        }),
        6 => survives(text, |text| parse_meter(text, MeterModCommand::ADD)),
        _ => survives(text, |text| parse_flow(text, command, &catalogue)),
    }
}

fn survives<T>(text: &str, parse: impl Fn(&str) -> Result<T, ParseError>)
where
    T: PartialEq + std::fmt::Debug + ToString,
{
    match parse(text) {
        Ok(value) => assert_eq!(parse(&value.to_string()), Ok(value)),
        Err(error) => {
            let at = error.offset..error.offset + error.word.len();
            assert_eq!(text.get(at), Some(error.word.as_str()));
        }
    }
}
