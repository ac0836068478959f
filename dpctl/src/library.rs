//! The library for programs that embed a switch: the messages of a command line, and messages as
//! JSON.

use std::sync::Arc;

use bofuss_oflib::{Catalogue, Message};

use crate::verb::{Command, Requests};
use crate::verbs;
use crate::{Failure, json};

/// The messages that a command line sends. The line has a verb and its arguments, in BOFUSS's or
/// ovs-ofctl's syntax, and no address. Words end at spaces, except within single or double quotes.
///
/// ```
/// use std::sync::Arc;
///
/// let catalogue = Arc::new(bofuss_ext::catalogue());
/// let line = "flow-mod cmd=add,table=0,prio=7 in_port=1 apply:output=2";
/// let messages = bofuss_dpctl::messages(line, &catalogue)?;
/// assert_eq!(messages[0].name(), "FLOW_MOD");
/// assert!(bofuss_dpctl::messages("flow-mod cmd=sub", &catalogue).is_err());
/// # Ok::<(), bofuss_dpctl::Failure>(())
/// ```
///
/// Errors: the sentence names the wrong word. A verb is also an error if it reads a file, or if
/// its messages are not known before a reply has come, such as `monitor`.
pub fn messages(line: &str, catalogue: &Arc<Catalogue>) -> Result<Vec<Message>, Failure> {
    let words = words(line)?;
    let Some((name, arguments)) = words.split_first() else {
        return Err(Failure::Usage("which verb?".into()));
    };
    let Some(verb) = verbs::named(name) else {
        let near = verbs::nearest_verb(name);
        return Err(Failure::Usage(format!("'{name}' is no verb{near}")));
    };
    if verb.arguments.contains("FILE") || verb.names_switches() {
        let why = "it reads files or other switches";
        let said = format!("{name} is not possible here: {why}");
        return Err(Failure::Usage(said));
    }
    let command = Command {
        strict: false,
        html: None,
        reads_files: false,
        catalogue: catalogue.clone(),
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match verbs::requests(verb, &command, &arguments)? {
        Requests::Ask(messages) | Requests::Change(messages) => Ok(messages),
        Requests::Answered(message, _) | Requests::Exchange(message) => Ok(vec![message]),
        Requests::First(..)
        | Requests::Ping { .. }
        | Requests::Monitor(_)
        | Requests::Snoop
        | Requests::Status(_)
        | Requests::Watch { .. }
        | Requests::Replace(_)
        | Requests::Compare(_)
        | Requests::Text(_) => {
            let said = format!("{name} sends no fixed list of messages");
            Err(Failure::Usage(said))
        }
    }
}

/// A message as `dpctl --json` prints it: `{"type": "ECHO_REPLY", ...}`.
pub fn message_json(message: &Message) -> String {
    json::message(message).to_string()
}

/// The words of a line. Errors: a quote that does not end.
fn words(line: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && ['\'', '"'].contains(&c) {
            quote = Some(c);
            word.get_or_insert_default();
        } else if quote.is_none() && c.is_whitespace() {
            words.extend(word.take());
        } else {
            word.get_or_insert_default().push(c);
        }
    }
    if let Some(quote) = quote {
        return Err(Failure::Usage(format!("a {quote} does not end")));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_spaces_that_are_not_in_quotes() {
        assert_eq!(
            words(" a  'b c'\td\"e f\" '' ").unwrap(),
            ["a", "b c", "de f", ""]
        );
        assert!(words("a 'b").is_err());
    }

    #[test]
    fn verbs_without_a_list_of_messages_are_errors() {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        for line in [
            "",
            "monitor",
            "add-flows -",
            "diff-flows a b",
            "flow_mod",
            "ping",
            "help",
            "switches",
            "replace-flows -",
        ] {
            assert!(messages(line, &catalogue).is_err(), "{line}");
        }
    }

    #[test]
    fn no_line_of_a_caller_reads_a_file() {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        for line in [
            "state_mod ./Cargo.toml",
            "program_mod add,name=a,object=Cargo.toml",
        ] {
            let error = messages(line, &catalogue).expect_err("it is refused");
            let error = error.to_string();
            let is_of_file = error.contains("line 1") || error.contains("ELF");
            assert!(!is_of_file, "{error}");
        }
    }
}
