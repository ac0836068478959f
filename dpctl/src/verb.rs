//! A verb, and what one asks for.

use std::path::PathBuf;
use std::sync::Arc;

use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::{Catalogue, Message};

use crate::Failure;

/// The tool whose syntax a verb reads and whose text it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    /// The original dpctl's.
    Bofuss,
    /// Open vSwitch's ovs-ofctl's.
    Ofctl,
    /// Ours: neither of them has the verb.
    Own,
    /// An extension's.
    Extension,
}

/// The requests that the arguments of a verb ask for. Errors: what is wrong in them.
pub(crate) type Made = Result<Requests, Failure>;

/// One verb.
pub(crate) struct Verb {
    /// The word on the command line.
    pub(crate) name: &'static str,
    /// Its usage: placeholders and keys of the arguments.
    pub(crate) arguments: &'static str,
    /// The program whose syntax and text it has.
    pub(crate) style: TextStyle,
    /// Its meaning, for the list of verbs.
    pub(crate) help: &'static str,
    /// The function that parses its arguments.
    pub(crate) make: Make,
}

/// The function by which a verb parses its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Make {
    /// By a function.
    Function(fn(&Command, &[&str]) -> Made),
    /// By a function that also gets all verbs.
    OfAll(fn(&[&'static Verb], &[&str]) -> Made),
    /// As the text form of an extension's message or multipart request.
    Row(&'static ExtRow),
}

/// The headings of the lists of verbs.
pub(crate) const SECTIONS: &[(TextStyle, &str)] = &[
    (TextStyle::Bofuss, "Verbs of BOFUSS's dpctl"),
    (TextStyle::Ofctl, "Verbs of ovs-ofctl"),
    (TextStyle::Own, "Further verbs"),
    (TextStyle::Extension, "Extensions"),
];

/// Computes the next requests from the reply to the first one.
pub(crate) type Next = Box<dyn FnOnce(Message) -> Made>;

/// The messages that a verb sends, and the use of the replies.
pub(crate) enum Requests {
    /// Requests whose replies are printed.
    Ask(Vec<Message>),
    /// Messages without replies, which barriers follow.
    Change(Vec<Message>),
    /// A request whose reply decides what follows.
    First(Message, Next),
    /// A request that was answered already, and the reply to print.
    Answered(Message, Message),
    /// Echo requests.
    Ping {
        /// Their number.
        count: u16,
        /// Bytes in each.
        bytes: u16,
    },
    /// A message to which any number of replies may come.
    Exchange(Message),
    /// Print all messages, after sending these.
    Monitor(Vec<Message>),
    /// Print the messages of the switch's snoop socket.
    Snoop,
    /// Print the lines of the connections' status that begin with this.
    Status(String),
    /// Print ports and tables periodically.
    Watch {
        /// The interval in seconds.
        seconds: u64,
        /// The number of times; 0: until Ctrl-C.
        count: u64,
    },
    /// Replace the entries of the switch by these.
    Replace(Vec<FlowMod>),
    /// Compare the entries of two sources.
    Compare([FlowSource; 2]),
    /// Nothing: the text to print is known already.
    Text(String),
}

/// Requests whose replies are printed.
pub(crate) fn ask<const N: usize>(messages: [Message; N]) -> Made {
    Ok(Requests::Ask(messages.into()))
}

/// The verb does not take these arguments.
pub(crate) fn misused() -> Made {
    Err(Failure::Misused)
}

/// The options and names that every verb gets.
pub(crate) struct Command {
    /// True if `--strict` was given.
    pub(crate) strict: bool,
    /// The file for the page of `trace`.
    pub(crate) html: Option<PathBuf>,
    /// True if arguments of an extension's verb may name files to read.
    pub(crate) reads_files: bool,
    /// The fields and extensions that are known, and the switch's port names if they are needed.
    pub(crate) catalogue: Arc<Catalogue>,
}

impl Verb {
    /// Returns true if its arguments are switches or files, so that no address is expected before
    /// them.
    pub(crate) fn names_switches(&self) -> bool {
        self.arguments.starts_with("SOURCE")
    }
}

/// A source of entries for `diff-flows`.
pub(crate) enum FlowSource {
    /// The entries of a file.
    File(Vec<FlowMod>),
    /// A switch, by its address or name.
    Switch(String),
}
