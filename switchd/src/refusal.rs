//! Log lines for refused messages.

use std::fmt::{self, Write};

use bofuss_oflib::{Catalogue, DecodeError, Message};
use tracing::warn;

/// Bytes of a refused message's text in the log at most.
const MAX_TEXT_BYTES: usize = 400;

/// Logs a refused message: its peer, the error (with the field, if it could not be decoded) and its
/// text.
pub fn log(peer: &str, name: Option<&str>, xid: u32, error: &str, text: &str) {
    let name = name.unwrap_or("a message of an unknown type");
    warn!("{peer}: refused {name} (xid {xid:#x}): {error}{text}");
}

/// Says why a message could not be decoded, with the error's name, even if it is an extension's.
pub fn cause(catalogue: &Catalogue, cause: &DecodeError) -> String {
    let error = catalogue.error_text(cause.error);
    format!("{error} at byte {}, in {}", cause.offset, cause.field)
}

/// The beginning of a message's text, which follows the error.
pub fn beginning(message: &Message) -> String {
    let mut beginning = Beginning(String::new());
    let is_cut = write!(beginning, "{message}").is_err();
    let Some((_, text)) = beginning.0.split_once(": ") else {
        return String::new();
    };
    let dots = if is_cut { "..." } else { "" };
    format!("; the message: {text}{dots}")
}

/// A writer that keeps [`MAX_TEXT_BYTES`] of text in one line and then stops the formatting.
struct Beginning(String);

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            if self.0.len() + char.len_utf8() > MAX_TEXT_BYTES {
                return Err(fmt::Error);
            }
            self.0.push(if char.is_control() { ' ' } else { char });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::instruction::Instructions;
    use bofuss_oflib::message::multipart::{RequestBody, TableFeatures};
    use bofuss_oflib::message::{Empty, FlowMod};
    use bofuss_oflib::{Action, Match, PortNo};

    use super::*;

    #[test]
    fn a_refused_message_is_logged_with_its_text_and_a_long_one_is_cut() {
        let mut flow_mod = FlowMod::add(Match::ANY);
        flow_mod.instructions = Instructions::apply(vec![Action::output(PortNo(99))]);
        let text = beginning(&Message::FlowMod(flow_mod));
        assert!(
            text.starts_with("; the message: ") && text.contains("output:99"),
            "{text}"
        );
        assert_eq!(beginning(&Message::BarrierRequest(Empty)), "");
        let body = RequestBody::TableFeatures(vec![TableFeatures::default(); 1000]);
        let text = beginning(&Message::MultipartRequest(body.into()));
        assert!(
            text.ends_with("...") && text.len() < MAX_TEXT_BYTES + 20,
            "{text}"
        );
    }
}
