//! Names of ports: whether they are printed, and requests for them.

use std::io::IsTerminal;

use bofuss_channel::ActiveAddress;
use bofuss_oflib::PortNo;

use crate::verb::{Command, Requests, TextStyle, Verb};
use crate::{Cli, ofctl, talk};

/// Returns true if ports are printed by name: on a terminal, as for ovs-ofctl, unless the options
/// say otherwise. JSON has names only if `--names` is given.
pub(crate) fn are_wanted(cli: &Cli) -> bool {
    cli.names || (!cli.no_names && !cli.json && std::io::stdout().is_terminal())
}

/// Returns true if the replies to these requests are printed with port names. The text of the
/// original dpctl's verbs has numbers.
pub(crate) fn are_printed(cli: &Cli, verb: &Verb, requests: &Requests) -> bool {
    let has_ports = match requests {
        Requests::Ask(_) | Requests::First(..) | Requests::Answered(..) => {
            cli.json || verb.style == TextStyle::Ofctl || verb.name == "trace"
        }
        Requests::Monitor(_) | Requests::Watch { .. } => true,
        Requests::Change(_)
        | Requests::Ping { .. }
        | Requests::Exchange(_)
        | Requests::Snoop
        | Requests::Status(_)
        | Requests::Replace(_)
        | Requests::Compare(_)
        | Requests::Text(_) => false,
    };
    has_ports && are_wanted(cli)
}

/// The names and numbers of a switch's ports; `None` without an address, or if the switch does not
/// report them.
pub(crate) async fn of_switch(
    cli: &Cli,
    command: &Command,
    verb: &'static Verb,
    address: Option<ActiveAddress>,
) -> Option<Vec<(String, PortNo)>> {
    let mut talk = talk(cli, &address?, command, verb).await.ok()?;
    let reply = talk.request(&ofctl::port_request()).await.ok()?;
    let ports = ofctl::ports_in(reply).into_iter();
    Some(
        ports
            .map(|port| (port.name.0.to_string(), port.port_no))
            .collect(),
    )
}
