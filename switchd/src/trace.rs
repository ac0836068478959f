//! `bofuss trace`: explains what a switch does with a packet, a running one or one that files
//! describe.

use std::collections::BTreeMap;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bofuss_channel::{ActiveAddress, Client, ClientError, Endpoint};
use bofuss_datapath::Time;
use bofuss_ext::openstate::{AskedStates, drawing};
use bofuss_ext::trace::{PortNames, Trace, names_port, parse_packet};
use bofuss_frame::Pool;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::text::{parse_match, parse_port_named};
use bofuss_oflib::{Catalogue, PortNo, Version};
use bofuss_packet::{KeyMatch, Packet};
use bofuss_ports::{BATCH_FRAMES, PcapFile, PortDriver};
use tokio::runtime::Builder;

use crate::config::Config;
use crate::error::{Result, context};
use crate::output::print;
use crate::runtime::POOL_BYTES;
use crate::{ctl, offline};

/// The time that the switch may take to answer about its entries and states.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Options of `bofuss trace`: the packet, the switch and the form of the output.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct TraceOptions {
    /// The packet: in_port=1,tcp,nw_dst=10.0.0.2 as for ovs-appctl ofproto/trace, or HEX.
    #[arg(group = "what", conflicts_with_all = ["pcap", "next"])]
    packet: Option<String>,
    /// Take the packet from a capture.
    #[arg(long, group = "what", value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// The number of the packet in the capture; of those that match --next, if that is given.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "pcap")]
    number: usize,
    /// The next packet that matches: of the capture, or of those that the switch receives.
    #[arg(long, group = "what", value_name = "FLOW")]
    next: Option<String>,
    /// The ingress port of a packet in hexadecimal or of a capture; with --config also its
    /// interface's name.
    #[arg(long, value_name = "PORT", default_value = "1")]
    in_port: String,
    /// The name of the running switch, or of one in the file [default: the only one].
    #[arg(long, value_name = "NAME")]
    switch: Option<String>,
    /// Use the switch that this TOML file describes instead of a running one; no port is opened.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Its flows, groups (group_id=...) and meters (meter=...), a line each, as for ovs-ofctl.
    #[arg(long, value_name = "FILE")]
    flows: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print ports by name [default: on a terminal, unless JSON; in a page always].
    #[arg(long, overrides_with = "no_names")]
    names: bool,
    /// Print ports by number.
    #[arg(long, overrides_with = "names", conflicts_with = "html")]
    no_names: bool,
    /// Write an HTML page that shows the packet's path, for a lecture.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
}

/// A choice among the packets of a capture.
struct PacketFilter {
    rule: KeyMatch,
    /// The port that they come in through.
    in_port: PortNo,
    /// The fields and headers that the switch's catalogue adds.
    additions: &'static Additions,
}

/// A trace, and what an HTML page shows with it.
struct Explained {
    trace: Trace,
    /// The packet's description.
    title: String,
    /// The drawings of state machines, by table.
    drawings: BTreeMap<u8, String>,
}

impl TraceOptions {
    /// Traces and prints. Errors: a sentence for the user.
    pub fn run(&self) -> Result<()> {
        let Explained {
            trace,
            title,
            drawings,
        } = self.trace()?;
        if let Some(path) = &self.html {
            let page = trace.html(&format!("The path of a packet: {title}"), &drawings);
            return fs::write(path, page).map_err(context(path.display()));
        }
        if self.json {
            print(&(serde_json::to_string_pretty(&trace)? + "\n"))
        } else {
            print(&trace.to_string())
        }
    }

    /// Traces. Errors: a sentence for the user.
    fn trace(&self) -> Result<Explained> {
        let offline = self.config.is_some() || self.flows.is_some();
        let described = offline.then(|| self.described()).transpose()?;
        let catalogue = match &described {
            Some(config) => Catalogue::clone(&config.catalogue),
            None => bofuss_ext::catalogue(),
        };
        let default_port =
            parse_port_named(&self.in_port, &catalogue).map_err(context("--in-port"))?;
        let (in_port, frame, title) = match (&self.packet, &self.pcap, &self.next) {
            (Some(text), ..) => {
                let (named, frame) = match parse_packet(text, &catalogue) {
                    Ok(packet) => packet,
                    // The text may have port names that only the switch knows.
                    Err(_) if !offline => return self.ask("trace", text, text),
                    Err(error) => return Err(error.into()),
                };
                let has_port = names_port(text, &catalogue);
                let in_port = if has_port { named } else { default_port };
                (in_port, frame, text.clone())
            }
            (None, Some(path), next) => {
                let flow = next.as_deref().unwrap_or("");
                let wanted = PacketFilter {
                    rule: KeyMatch::from(&parse_match(flow, &catalogue)?),
                    in_port: default_port,
                    additions: catalogue.additions(),
                };
                let frame = self.captured(path, &wanted)?;
                let title = format!("packet {} of {}", self.number, path.display());
                (default_port, frame, title)
            }
            (None, None, Some(flow)) if !offline => {
                return self.ask("trace-next", flow, &format!("the next of {flow}"));
            }
            (None, None, _) => return Err("--next needs a running switch, or --pcap".into()),
        };
        let Some(config) = described else {
            let digits: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
            return self.ask("trace", &format!("{in_port} {digits}"), &title);
        };
        let mut switch = offline::switch(&config, self.flows.as_deref(), in_port)?;
        let mut trace = Trace::of(&mut switch, Time(0), in_port, 0, &frame)?;
        if self.has_names() {
            let ports = switch.datapath().ports().values();
            trace = trace.with_names(&PortNames::of(ports.map(|port| &port.desc)));
        }
        let drawings = drawing::of_trace(&trace, &offline::states(&mut switch));
        Ok(Explained {
            trace,
            title,
            drawings,
        })
    }

    /// The configuration of the switch that files describe.
    fn described(&self) -> Result<Config> {
        offline::described(self.config.as_deref(), self.switch.as_deref())
    }

    /// Returns true if ports are printed by name.
    fn has_names(&self) -> bool {
        let is_for_people = !self.json && std::io::stdout().is_terminal();
        self.names || self.html.is_some() || (is_for_people && !self.no_names)
    }

    /// Lets a running switch trace, by a command to its control socket.
    fn ask(&self, command: &str, argument: &str, title: &str) -> Result<Explained> {
        let mut words = vec![command, "--json"];
        if self.has_names() {
            words.push("--names");
        }
        words.push(argument);
        let words: Vec<String> = words.into_iter().map(String::from).collect();
        let text = ctl::ask(self.switch.as_deref(), &words)?;
        let trace = serde_json::from_str(&text).map_err(context("the switch's answer"))?;
        let is_drawn = self.html.is_some() && !drawing::marked_states(&trace).is_empty();
        let asked = if is_drawn {
            states(&ctl::find(self.switch.as_deref())?)?
        } else {
            AskedStates::default()
        };
        Ok(Explained {
            drawings: drawing::of_trace(&trace, &asked),
            trace,
            title: title.into(),
        })
    }

    /// Reads a capture up to the frame that is meant: number `self.number` of those that match.
    fn captured(&self, path: &Path, wanted: &PacketFilter) -> Result<Vec<u8>> {
        let pool = Pool::new(POOL_BYTES);
        let mut file = PcapFile::open(Some(path), None)?;
        let mut frames = Vec::new();
        let mut seen = 0;
        loop {
            file.recv(&pool, &mut frames, BATCH_FRAMES)?;
            if frames.is_empty() && file.at_end() {
                let name = path.display();
                let number = self.number;
                return Err(format!("{name}: only {seen} packets match, not {number}").into());
            }
            for frame in frames.drain(..) {
                let packet = Packet::with_additions(frame, wanted.in_port, wanted.additions);
                seen += usize::from(packet.key().matches(&wanted.rule, &mut ()));
                if seen == self.number {
                    return Ok(packet.frame.bytes().to_vec());
                }
            }
        }
    }
}

/// Asks the running switch with this control socket for its entries and states, over its OpenFlow
/// socket. Errors: a sentence for the user.
pub fn states(control: &Path) -> Result<AskedStates> {
    let path = control.with_extension("sock");
    let name = path.display().to_string();
    let address = ActiveAddress(Endpoint::Unix(path));
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let conversation = async {
        let versions = [Version::V1_3];
        let mut client =
            Client::connect(&address, &versions, &catalogue, None, ANSWER_TIMEOUT).await?;
        let mut asked = AskedStates::default();
        for question in AskedStates::questions() {
            asked.add(client.request(&question).await?);
        }
        Ok(asked)
    };
    let built = Builder::new_current_thread().enable_all().build();
    let runtime = built.map_err(context("a connection to the switch"))?;
    let answered = runtime.block_on(conversation);
    answered.map_err(|error: ClientError| format!("{name}: {error}").into())
}
