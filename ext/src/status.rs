//! The switch's status as text, in the experimenter messages of the reference switch.

use alloc::{string::String, vec};

use bofuss_oflib::ExtValue;
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::wire::Bytes;

/// Nicira's number as an experimenter.
const NICIRA: u32 = 0x2320;

/// A request, whose data is the prefix of the wanted keys, and a reply, whose data is lines of
/// `key=value`.
pub static ROWS: [ExtRow; 2] = [
    ExtRow::new(ExtKind::Message, NICIRA, 0, "status_request").with_data(),
    ExtRow::new(ExtKind::Message, NICIRA, 1, "status_reply").with_data(),
];

/// A request for the values whose keys begin with `prefix`.
pub fn request(prefix: &str) -> ExtValue {
    value(&ROWS[0], prefix)
}

/// The answer to `value`, from the lines of `all`; `None` if it is no request for the status.
pub fn answer(value: &ExtValue, all: impl FnOnce() -> String) -> Option<ExtValue> {
    if value.row.place_in(&ROWS) != Some(0) {
        return None;
    }
    let mut lines = String::new();
    for line in all().split_inclusive('\n') {
        if line.as_bytes().starts_with(&value.data.0) {
            lines.push_str(line);
        }
    }
    Some(self::value(&ROWS[1], &lines))
}

fn value(row: &'static ExtRow, text: &str) -> ExtValue {
    ExtValue::new(row, vec![], Bytes(text.as_bytes().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_lines_that_are_asked_for() {
        let all = || String::from("local.up=true\nremote.up=false\nremote.name=c\n");
        for (prefix, lines) in [
            ("", all().as_bytes()),
            ("remote.", b"remote.up=false\nremote.name=c\n"),
            ("switch.", b""),
        ] {
            let reply = answer(&request(prefix), all).expect("it is a request");
            assert_eq!(reply.data.0, lines, "{prefix}");
        }
        assert!(answer(&value(&ROWS[1], ""), all).is_none());
    }
}
