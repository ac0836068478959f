//! `ofprotocol`: gives a running switch its controllers, for as long as it runs itself.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use bofuss_channel::ActiveAddress;
use clap::Parser;
use tracing::{info, warn};

use super::{Common, is_here, name_of};
use crate::config::{Options, to_line};
use crate::{ctl, usage};

const PROGRAM: &str = "ofprotocol";
/// The wait between two tries to reach the switch.
const PAUSE: Duration = Duration::from_millis(50);
/// The most listeners for tools, as in BOFUSS.
const MAX_LISTENERS: usize = 8;

/// Connects a datapath to controllers, as BOFUSS does. docs/ofdatapath.md has all options.
#[derive(Parser)]
#[command(name = PROGRAM, version, infer_long_args = true, args_override_self = true)]
pub struct Cli {
    /// The switch, on this machine: where its ofdatapath waits, as unix:FILE or tcp:HOST[:PORT],
    /// or its name.
    datapath: String,
    /// Controllers: tcp:HOST[:PORT], ssl:HOST[:PORT] or unix:FILE.
    #[arg(value_name = "CONTROLLER[,CONTROLLER]...", value_delimiter = ',')]
    controllers: Vec<String>,
    /// What to do without a controller: closed drops what no flow matches, open forwards as a
    /// learning switch.
    #[arg(
        short = 'F',
        long,
        value_name = "open|closed",
        default_value = "closed"
    )]
    fail: String,
    /// Seconds of silence after which a controller is asked whether it lives.
    #[arg(long, value_name = "SECONDS")]
    inactivity_probe: Option<u32>,
    /// The longest wait between two tries to reach a controller, in seconds.
    #[arg(long, value_name = "SECONDS")]
    max_backoff: Option<u32>,
    /// Where to wait for tools, up to 8 times: punix:FILE, ptcp:[PORT][:HOST], pssl:[PORT][:HOST].
    #[arg(short, long, value_name = "METHOD")]
    listen: Vec<String>,
    /// Refused: dpctl monitor shows messages, and tcpdump those of controllers.
    #[arg(short, long, value_name = "METHOD")]
    monitor: Option<String>,
    /// The most packet-ins that each controller gets a second [default: 1000 if given without].
    #[arg(
        long,
        value_name = "PACKETS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1000"
    )]
    rate_limit: Option<u32>,
    /// How many may come at once after a pause [default: a quarter of the rate].
    #[arg(long, value_name = "PACKETS")]
    burst_limit: Option<u32>,
    /// Ignored with a warning: NORMAL keeps what it learns for 300 seconds.
    #[arg(long, value_name = "SECONDS|permanent")]
    max_idle: Option<String>,
    /// Refused: there is no spanning tree protocol.
    #[arg(long)]
    stp: bool,
    /// As always.
    #[arg(long)]
    no_stp: bool,
    /// Refused: controllers are reached by the host's own routes.
    #[arg(long)]
    in_band: bool,
    /// As always.
    #[arg(long)]
    out_of_band: bool,
    /// Ignored with a warning: no controller is discovered.
    #[arg(long, value_name = "REGEX")]
    accept_vconn: Option<String>,
    /// As always.
    #[arg(long)]
    no_resolv_conf: bool,
    #[command(flatten)]
    common: Common,
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let wanted = cli.wanted();
    let (name, line, controllers) = match wanted {
        Ok(wanted) => wanted,
        Err(error) => return usage(PROGRAM, &error),
    };
    match cli.common.begin(PROGRAM) {
        Ok(None) => {}
        Ok(Some(code)) => return code,
        Err(error) => return usage(PROGRAM, &error),
    }
    cli.ignored().for_each(|text| warn!("{text}"));
    // It goes with the process: a signal ends this program at once, and that is right.
    let _pid_file = match cli.common.ready(PROGRAM) {
        Ok(pid_file) => pid_file,
        Err(error) => return usage(PROGRAM, &error),
    };
    let mut told = String::new();
    loop {
        let said = match attach(&name, &line, &controllers) {
            Ok(()) => format!("switch {name} ended; waiting for it"),
            Err(error) => format!("waiting for switch {name}: {error}"),
        };
        if said != told {
            warn!("{said}");
        }
        told = said;
        std::thread::sleep(PAUSE);
    }
}

/// Brings `line` to the switch, and stays until the switch ends. Errors: why it does not take it.
fn attach(name: &str, line: &str, controllers: &str) -> Result<(), String> {
    let connect = || {
        let socket = match super::is_by_port(name) {
            true => ctl::find_near(name),
            false => ctl::find(Some(name)),
        };
        let mut stream = UnixStream::connect(socket?).map_err(|e| e.to_string())?;
        let command = format!("attach {line}\n");
        stream
            .write_all(command.as_bytes())
            .map_err(|e| e.to_string())?;
        Ok::<_, String>(BufReader::new(stream))
    };
    let mut stream = connect()?;
    let mut answer = String::new();
    let read = stream.read_line(&mut answer);
    read.map_err(|error| error.to_string())?;
    if answer != "ok\n" {
        return Err(answer.trim_start_matches("error ").trim_end().into());
    }
    info!("switch {name} has its controllers: {controllers}");
    // Nothing more comes but the end, however the switch ends.
    let _ = stream.read_line(&mut answer);
    Ok(())
}

impl Cli {
    /// The switch's name, what it is to be told, and its controllers for the log.
    ///
    /// Errors: a sentence that begins with the option.
    fn wanted(&self) -> Result<(String, String, String), String> {
        let fail_mode = match self.fail.as_str() {
            "open" => "standalone",
            "closed" => "secure",
            other => return Err(format!("--fail={other}: it is open or closed")),
        };
        for (refused, reason) in [
            (
                self.monitor.is_some(),
                "--monitor: dpctl SWITCH monitor shows messages, and tcpdump \
                                      those of controllers",
            ),
            (self.stp, "--stp: there is no spanning tree protocol"),
            (
                self.in_band,
                "--in-band: controllers are reached by the host's own routes \
                            (--out-of-band)",
            ),
            (
                self.listen.len() > MAX_LISTENERS,
                "--listen: at most 8 times",
            ),
        ] {
            if refused {
                return Err(reason.into());
            }
        }
        let (name, controllers) = self.ends()?;
        let options = Options {
            controllers,
            listen: self.listen.clone(),
            fail_mode: Some(fail_mode.into()),
            inactivity_probe: self.inactivity_probe,
            max_backoff: self.max_backoff,
            packet_in_rate: self.rate_limit,
            packet_in_burst: self.rate_limit.and(self.burst_limit),
            ..self.common.tls()
        };
        let line = to_line(&options);
        let told = format!("{}, fail mode {fail_mode}", options.controllers.join(", "));
        options.check()?;
        Ok((name, line, told))
    }

    /// The switch's name and the controllers. The two ends may be swapped, as in scripts that have
    /// the controller in front: the one on this machine is the switch.
    fn ends(&self) -> Result<(String, Vec<String>), String> {
        let parse = |text: &String| text.parse::<ActiveAddress>();
        let Ok(datapath) = parse(&self.datapath) else {
            return Ok((self.datapath.clone(), self.controllers.clone()));
        };
        let mut ends = (datapath.0, self.controllers.clone());
        if !is_here(&ends.0)
            && let [only] = &self.controllers[..]
            && let Ok(other) = parse(only)
        {
            ends = (other.0, vec![self.datapath.clone()]);
        }
        if !is_here(&ends.0) {
            return Err(format!(
                "{}: the datapath must run on this machine; there, type: bofuss run \
                 --controller ADDRESS",
                self.datapath
            ));
        }
        let name = name_of(&ends.0);
        Ok((name.ok_or("the datapath's file has no name")?, ends.1))
    }

    /// What the user should know of options that do nothing here.
    fn ignored(&self) -> impl Iterator<Item = &'static str> {
        let none = self.controllers.is_empty();
        let texts = [
            (
                none,
                "no controller is named, and none is discovered by DHCP",
            ),
            (
                self.max_idle.is_some(),
                "--max-idle: ignored; NORMAL keeps what it learns for 300 s",
            ),
            (
                self.accept_vconn.is_some(),
                "--accept-vconn: ignored; no controller is discovered",
            ),
        ];
        texts
            .into_iter()
            .filter(|(is_given, _)| *is_given)
            .map(|(_, text)| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::from_line;

    fn wanted(line: &str) -> Result<(String, String, String), String> {
        Cli::try_parse_from(line.split(' '))
            .expect("the options are known")
            .wanted()
    }

    #[test]
    fn mininet_s_lines_name_a_switch_and_its_controllers() {
        let line = "ofprotocol unix:/tmp/s1 tcp:127.0.0.1:6653,tcp:127.0.0.1:6654 --fail=closed \
                    --listen=ptcp:6655";
        let (name, line, told) = wanted(line).expect("it is right");
        assert_eq!(
            told,
            "tcp:127.0.0.1:6653, tcp:127.0.0.1:6654, fail mode secure"
        );
        let options = from_line(&line).expect("it was written by us");
        assert_eq!((name.as_str(), options.controllers.len()), ("s1", 2));
        assert_eq!(options.fail_mode.as_deref(), Some("secure"));
        assert_eq!(options.listen, ["ptcp:6655"]);
        let twice =
            wanted("ofprotocol unix:/tmp/s1 --fail=closed --fail=open").expect("it is right");
        assert!(twice.1.contains("standalone"), "the last one counts");
        let none = wanted("ofprotocol unix:/tmp/s20 --fail=closed --listen=punix:/tmp/s20.listen");
        assert_eq!(none.expect("it is right").0, "s20");
    }

    #[test]
    fn the_switch_is_the_end_on_this_machine() {
        let (name, line, _) =
            wanted("ofprotocol tcp:192.0.2.1 tcp:localhost").expect("it is right");
        assert!(
            name.starts_with("dp-6653") && line.contains("tcp:192.0.2.1"),
            "{line}"
        );
        assert!(wanted("ofprotocol tcp:192.0.2.1 tcp:192.0.2.2").is_err());
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_its_reason() {
        for (line, wanted_text) in [
            ("ofprotocol unix:/tmp/s1 --stp", "--stp: there is no"),
            ("ofprotocol unix:/tmp/s1 --in-band", "--out-of-band"),
            ("ofprotocol unix:/tmp/s1 --monitor=ptcp:", "--monitor: "),
            ("ofprotocol unix:/tmp/s1 --fail=maybe", "open or closed"),
            ("ofprotocol unix:/tmp/s1 nl:0", "no kind of address"),
            (
                "ofprotocol unix:/tmp/s1 ssl:192.0.2.1",
                "needs --private-key",
            ),
        ] {
            let said = wanted(line).expect_err("it is refused");
            assert!(said.contains(wanted_text), "{line}: {said}");
        }
    }
}
