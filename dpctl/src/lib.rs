//! `dpctl`: queries and changes an OpenFlow switch from the command line. As a library, it parses
//! the command lines of other programs.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]
// The help texts of options use brackets for optional parts.
#![allow(rustdoc::broken_intra_doc_links)]

mod at;
mod bofuss;
mod complete;
#[cfg(feature = "elf")]
mod elf;
mod extension;
mod failure;
mod find;
mod generate;
mod help;
mod json;
mod library;
mod monitor;
mod named_ports;
mod names;
mod ofctl;
mod output;
mod own;
mod states;
mod status;
mod talk;
mod trace;
mod verb;
mod verbs;
mod watch;
mod words;

pub use failure::Failure;
pub use library::{message_json, messages};

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bofuss_channel::{ActiveAddress, Client, ClientError, Endpoint, Reason, Tls, TlsFiles};
use bofuss_oflib::text::add_field;
use bofuss_oflib::{Catalogue, Version};
use clap::Parser;

use generate::Generate;
use ofctl::difference;
use ofctl::order::{Order, SortDirection};
use ofctl::wording::PortNames;
use output::{complain, say};
use talk::Talk;
use verb::{Command, FlowSource, Made, Requests, TextStyle, Verb};
use verbs::{BUNDLE, BUNDLE_HINT};

/// The transaction id of every message of the original dpctl.
const BOFUSS_XID: u32 = 0xf0ff_00f0;
/// The first transaction id of ovs-ofctl.
const OFCTL_XID: u32 = 2;

/// Query and change an OpenFlow switch.
///
/// ADDRESS is tcp:HOST[:PORT], ssl:HOST[:PORT], unix:FILE or the name of a running bofuss switch;
/// it may come before the verb, after it, or after the arguments. Without it, dpctl uses the only
/// running switch, of this network namespace or else of all.
#[derive(Parser)]
#[command(
    name = "dpctl",
    version,
    after_help = help::list(&verbs::list()),
    arg_required_else_help = true
)]
struct Cli {
    /// [ADDRESS] VERB [ARGUMENT...]
    #[arg(required_unless_present = "generate", value_name = "WORD")]
    words: Vec<String>,
    /// Match priority and all fields exactly, in mod-flows, del-flows and flow-mod.
    #[arg(long)]
    strict: bool,
    /// Sort the output of dump-flows and stats-flow by FIELD, or by priority; the smallest first.
    #[arg(long, value_name = "FIELD", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "priority", conflicts_with = "rsort")]
    sort: Option<String>,
    /// The same, the greatest first.
    #[arg(long, value_name = "FIELD", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "priority")]
    rsort: Option<String>,
    /// Make all changes of a verb together or none, as a bundle: no packet meets a part of them.
    #[arg(long)]
    bundle: bool,
    /// With --bundle: at TIME, seconds since 1970, or from now with a plus, as +0.5.
    #[arg(long, value_name = "TIME", requires = "bundle", value_parser = at::time)]
    at: Option<Duration>,
    /// Let replace-flows add entries even if the switch has them already.
    #[arg(long)]
    readd: bool,
    /// Print ports by name, as is the default on a terminal but not for JSON.
    #[arg(long, overrides_with = "no_names")]
    names: bool,
    /// Accept and print only port numbers.
    #[arg(long, overrides_with = "names")]
    no_names: bool,
    /// A match field that the switch was started with, as in its --field. Repeat for more.
    #[arg(long = "field", value_name = "FIELD")]
    fields: Vec<String>,
    /// Print JSON; docs/dpctl.md lists its keys.
    #[arg(long)]
    json: bool,
    /// Let trace write an HTML page that shows the packet's path, for a lecture.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The transaction id of the first message.
    #[arg(short, long, value_name = "NUMBER", value_parser = words::xid)]
    xid: Option<u32>,
    /// Print which switch answered, and in which version.
    #[arg(short, long, overrides_with = "verbose")]
    verbose: bool,
    /// Print shell completions or the manual page.
    #[arg(long, hide = true, value_name = "WHAT")]
    generate: Option<Generate>,
    /// The OpenFlow versions to offer, as OpenFlow10,OpenFlow13; the highest common one is used.
    #[arg(short = 'O', long, value_name = "VERSION,...", value_delimiter = ',')]
    protocols: Vec<Version>,
    /// The longest wait for the switch, in seconds.
    #[arg(short, long, default_value_t = 10, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// For ssl:, our private key (PEM).
    #[arg(short, long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    /// For ssl:, our certificate (PEM).
    #[arg(short, long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// For ssl:, the certificates of the CAs that sign the switch's (PEM).
    #[arg(short = 'C', long, value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Refused: a CA certificate that the switch itself sends proves nothing.
    #[arg(long, value_name = "FILE", hide = true)]
    bootstrap_ca_cert: Option<PathBuf>,
    /// Accept the switch's certificate, if a CA signed it, although it is not for the HOST of
    /// ssl:HOST.
    #[arg(long)]
    any_peer_name: bool,
}

impl Cli {
    /// The versions to offer.
    fn versions(&self) -> &[Version] {
        if self.protocols.is_empty() {
            Version::SPOKEN
        } else {
            &self.protocols
        }
    }

    /// Loads the TLS files, if they are named.
    fn tls(&self) -> Result<Option<Tls>, Failure> {
        if self.bootstrap_ca_cert.is_some() {
            let why = "a CA certificate that the switch itself sends proves nothing";
            let text = format!("--bootstrap-ca-cert: {why}; give the CA's file with --ca-cert");
            return Err(Failure::Usage(text));
        }
        match (&self.private_key, &self.certificate, &self.ca_cert) {
            (None, None, None) => Ok(None),
            (Some(private_key), Some(certificate), Some(ca_cert)) => {
                let tls = Tls::load(TlsFiles {
                    private_key: private_key.clone(),
                    certificate: certificate.clone(),
                    ca_cert: ca_cert.clone(),
                    any_peer_name: self.any_peer_name,
                });
                Ok(Some(tls?))
            }
            _ => Err(Failure::Usage(
                "TLS needs all of --private-key, --certificate and --ca-cert".into(),
            )),
        }
    }
}

/// Runs a command line.
async fn run(cli: &Cli) -> Result<(), Failure> {
    let (address, verb, arguments) = verbs::split(&cli.words)?;
    let mut catalogue = bofuss_ext::catalogue();
    for text in &cli.fields {
        let added = add_field(text, &mut catalogue);
        added.map_err(|error| format!("--field {text}: {error}"))?;
    }
    let mut command = Command {
        strict: cli.strict,
        html: cli.html.clone(),
        reads_files: true,
        catalogue: Arc::new(catalogue),
    };
    let order = wanted_order(cli, &command.catalogue)?;
    let made = requests(cli, &mut command, verb, address.as_ref(), &arguments).await;
    let may_be_switch = address.is_none() && verb.name != "help" && !verb.names_switches();
    let requests = made.map_err(|error| match arguments.first() {
        Some(word) if may_be_switch => no_switch(error, word),
        _ => error,
    })?;
    match requests {
        Requests::Text(text) => {
            print_text(cli, verb, &text);
            Ok(())
        }
        Requests::Compare(sources) => {
            let text = compare(cli, &command, verb, sources).await?;
            if cli.json {
                say(json::page(verb.name, vec![json::list(&text)]) + "\n")
            } else {
                say(&text)
            }
            if text.is_empty() {
                Ok(())
            } else {
                Err(Failure::Differs)
            }
        }
        Requests::Ask(_)
        | Requests::Change(_)
        | Requests::First(..)
        | Requests::Answered(..)
        | Requests::Ping { .. }
        | Requests::Exchange(_)
        | Requests::Monitor(_)
        | Requests::Snoop
        | Requests::Status(_)
        | Requests::Watch { .. }
        | Requests::Replace(_) => {
            let mut address = address.map_or_else(find::only, Ok)?;
            if matches!(requests, Requests::Snoop) {
                address = find::snoop(address);
            }
            let mut talk = talk(cli, &address, &command, verb).await?;
            talk.order = order;
            if names::are_printed(cli, verb, &requests) {
                talk.learn_names().await;
            }
            if let Requests::Status(key) = requests {
                return status::print(&mut talk, &key).await;
            }
            if let Requests::Watch { seconds, count } = requests {
                return watch::run(&mut talk, Duration::from_secs(seconds), count).await;
            }
            talk.run(requests).await
        }
    }
}

/// The order in which entries are printed, if one is wanted.
fn wanted_order(cli: &Cli, catalogue: &Catalogue) -> Result<Option<Order>, Failure> {
    let (name, direction) = match (&cli.sort, &cli.rsort) {
        (Some(name), _) => (name, SortDirection::Up),
        (None, Some(name)) => (name, SortDirection::Down),
        (None, None) => return Ok(None),
    };
    Ok(Some(Order::by(name, direction, catalogue)?))
}

/// Prints the text of a verb that needs no connection.
fn print_text(cli: &Cli, verb: &Verb, text: &str) {
    if cli.json {
        say(json::page(verb.name, vec![json::text(text)]) + "\n")
    } else {
        say(text)
    }
}

/// The difference between the entries of two sources, as lines.
async fn compare(
    cli: &Cli,
    command: &Command,
    verb: &'static Verb,
    sources: [FlowSource; 2],
) -> Result<String, Failure> {
    let mut sets = [Vec::new(), Vec::new()];
    let mut names = [None, None];
    let mut version = Version::V1_3;
    for ((set, names), source) in sets.iter_mut().zip(&mut names).zip(sources) {
        *set = match source {
            FlowSource::File(entries) => entries,
            FlowSource::Switch(word) => {
                let address = find::address(&word).ok_or_else(|| {
                    Failure::Usage(format!("'{word}' is neither a file nor a switch"))
                })??;
                let mut talk = talk(cli, &address, command, verb).await?;
                if names::are_wanted(cli) {
                    talk.learn_names().await;
                }
                version = version.min(talk.client.version());
                let reply = talk.request(&difference::request()).await?;
                *names = Some(talk.names);
                difference::entries_in(reply)
            }
        };
    }
    Ok(difference::lines(version, sets, &names))
}

/// Connects to a switch for a verb.
async fn talk(
    cli: &Cli,
    address: &ActiveAddress,
    command: &Command,
    verb: &'static Verb,
) -> Result<Talk, Failure> {
    let client = connect(cli, address, command).await?;
    let xid = match verb.style {
        TextStyle::Bofuss => BOFUSS_XID,
        TextStyle::Ofctl | TextStyle::Own | TextStyle::Extension => OFCTL_XID,
    };
    Ok(Talk {
        client,
        address: address.to_string(),
        verb,
        json: cli.json,
        xid: cli.xid.unwrap_or(xid),
        order: None,
        in_bundle: cli.bundle,
        at: cli.at,
        adds_all: cli.readd,
        names: PortNames::default(),
    })
}

/// Parses a verb's arguments. If that fails, a word may be the name of a port: they are parsed once
/// more with the port names that the switch reports.
async fn requests(
    cli: &Cli,
    command: &mut Command,
    verb: &'static Verb,
    address: Option<&ActiveAddress>,
    arguments: &[&str],
) -> Made {
    let made = verbs::requests(verb, command, arguments);
    let is_wrong = matches!(made, Err(Failure::Usage(_)));
    if !is_wrong || cli.no_names || verb.name == "help" {
        return made;
    }
    let address = if verb.names_switches() {
        difference::switch_among(arguments)
    } else {
        address.cloned().or_else(|| find::only().ok())
    };
    let Some(ports) = names::of_switch(cli, command, verb, address).await else {
        return made;
    };
    let catalogue = Catalogue::clone(&command.catalogue);
    command.catalogue = Arc::new(catalogue.with_ports(ports));
    verbs::requests(verb, command, arguments)
}

/// Adds to an error that no such switch runs, if `word` looks like the name of one.
fn no_switch(error: Failure, word: &str) -> Failure {
    let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match error {
        Failure::Usage(text) if is_name => {
            Failure::Usage(format!("{text}; and no switch named '{word}' runs"))
        }
        Failure::Misused | Failure::Usage(_) | Failure::Failed(_) | Failure::Differs => error,
    }
}

/// Returns advice about a connection that failed, to be appended to the error.
fn connect_hint(address: &ActiveAddress, error: &ClientError) -> &'static str {
    let ClientError::Connection(Reason::Io(error)) = error else {
        return "";
    };
    if error.kind() == io::ErrorKind::PermissionDenied {
        ": use sudo, or start the switch with --socket-group GROUP"
    } else if matches!(address.0, Endpoint::Unix(_)) && error.raw_os_error().is_some() {
        ": no switch listens there (dpctl switches lists the running ones)"
    } else {
        ""
    }
}

async fn connect(cli: &Cli, address: &ActiveAddress, command: &Command) -> Result<Client, Failure> {
    let tls = cli.tls()?;
    if matches!(address.0, Endpoint::Tls { .. }) && tls.is_none() {
        let needs = "needs --private-key, --certificate and --ca-cert";
        return Err(Failure::Usage(format!("{address} {needs}")));
    }
    let timeout = Duration::from_secs(cli.timeout);
    let versions = cli.versions();
    let catalogue = &command.catalogue;
    let connected = Client::connect(address, versions, catalogue, tls.as_ref(), timeout).await;
    let client = connected.map_err(|error| {
        let hint = connect_hint(address, &error);
        Failure::Failed(format!("{address}: {error}{hint}"))
    })?;
    if cli.verbose {
        complain(&format!("{address} speaks OpenFlow {}", client.version()));
    }
    Ok(client)
}

/// Options of ovs-ofctl that are refused, each with the reason or the alternative.
const REFUSED: &[(&str, &str)] = &[
    (
        "--flow-format",
        "dpctl uses OpenFlow's standard format; choose a version with -O",
    ),
    (
        "-F",
        "dpctl uses OpenFlow's standard format; choose a version with -O",
    ),
    (
        "--packet-in-format",
        "dpctl uses OpenFlow's standard format",
    ),
    ("-P", "dpctl uses OpenFlow's standard format"),
    ("--more", "dpctl always prints everything"),
    ("-m", "dpctl always prints everything"),
    ("--read-only", "choose a verb that changes nothing"),
    (
        "--timestamp",
        "monitor prints no times; bofuss ctl SWITCH capture openflow records them",
    ),
];

/// The words of the bundle verb of a fork of the original dpctl; options may precede it.
const BUNDLE_STEPS: &[&str] = &["open", "close", "commit", "discard", "add", "-b"];

/// The words of the command line. Leaves out `-vMODULE` and `--verbose=MODULE`, which choose what
/// the original dpctl logs and have no effect here. Errors: an option that is refused.
fn words() -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let all: Vec<String> = std::env::args().collect();
    // Its own options are not ours, so the parser would complain of these first.
    let is_bundle = |pair: &[String]| pair[0] == BUNDLE && BUNDLE_STEPS.contains(&&pair[1][..]);
    if all.windows(2).any(is_bundle) {
        return Err(Failure::Usage(format!("{BUNDLE}: {BUNDLE_HINT}")));
    }
    for word in all {
        let option = word.split('=').next().unwrap_or_default();
        if let Some((_, why)) = REFUSED.iter().find(|row| row.0 == option) {
            return Err(Failure::Usage(format!("{option}: {why}")));
        }
        let spec = word
            .strip_prefix("--verbose=")
            .or_else(|| word.strip_prefix("-v").filter(|rest| !rest.is_empty()));
        match spec {
            Some(spec) if spec.trim_start_matches('v').is_empty() => words.push("-v".into()),
            Some(spec) => complain(&format!(
                "{spec} is ignored: --verbose takes no modules here"
            )),
            None => words.push(word),
        }
    }
    Ok(words)
}

/// A runtime with one thread, for one conversation. Errors: the system's, in a sentence.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| Failure::Failed(format!("waiting for events: {error}")))
}

/// Runs the program, with the words of its command line.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [option, line, tail @ ..] = arguments.as_slice()
        && option == "--complete"
    {
        let tail = tail.first().map(String::as_str);
        if let Ok(runtime) = runtime() {
            say(runtime.block_on(complete::lines(line, tail)));
        }
        return ExitCode::SUCCESS;
    }
    let cli = match words() {
        Ok(words) => Cli::parse_from(help::asked(&verbs::list(), words)),
        Err(failure) => return failure.report(),
    };
    if let Some(what) = cli.generate {
        generate::print(what);
        return ExitCode::SUCCESS;
    }
    match runtime().and_then(|runtime| runtime.block_on(run(&cli))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
