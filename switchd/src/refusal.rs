//! What the log says of a message that is refused.

use std::fmt::{self, Write};

use bofuss_oflib::Message;
use tracing::warn;

/// The most bytes of a refused message's text in the log.
const MAX_TEXT_BYTES: usize = 400;

/// Writes the line: whose message it was, what is wrong with it (of a message that could not be
/// read, in which field), and what it says.
pub fn log(peer: &str, name: Option<&str>, xid: u32, error: &impl fmt::Display, text: &str) {
    let name = name.unwrap_or("a message of an unknown type");
    warn!("{peer}: refused {name} (xid {xid:#x}): {error}{text}");
}

/// The beginning of a message's text, to stand behind what is wrong with it.
pub fn beginning(message: &Message) -> String {
    let mut beginning = Beginning(String::new());
    let is_cut = write!(beginning, "{message}").is_err();
    let Some((_, text)) = beginning.0.split_once(": ") else {
        return String::new();
    };
    let dots = if is_cut { "..." } else { "" };
    format!("; it says {text}{dots}")
}

/// Takes text up to [`MAX_TEXT_BYTES`], in one line; what a long message says further is never
/// written.
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
    fn a_refused_message_is_told_with_what_it_asked_for_and_a_long_one_is_cut() {
        let mut flow_mod = FlowMod::add(Match::ANY);
        flow_mod.instructions = Instructions::apply(vec![Action::output(PortNo(99))]);
        let text = beginning(&Message::FlowMod(flow_mod));
        assert!(
            text.starts_with("; it says ") && text.contains("output:99"),
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
