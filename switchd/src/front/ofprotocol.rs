//! `ofprotocol`: adds controllers to a running switch, for as long as it runs itself.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use bofuss_channel::ActiveAddress;
use clap::Parser;
use tracing::{info, warn};

use super::{Common, is_here, name_of};
use crate::config::{Options, to_line};
use crate::ctl;
use crate::error::Result;

const PROGRAM: &str = "ofprotocol";
/// The wait between two attempts to reach the switch.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// The most listeners for tools, as in BOFUSS.
const MAX_LISTENERS: usize = 8;

/// Connects a datapath to controllers, as BOFUSS does. docs/ofdatapath.md has all options.
#[derive(Parser)]
#[command(name = PROGRAM, version, infer_long_args = true, args_override_self = true)]
pub struct OfprotocolCli {
    /// The switch, on this machine: where its ofdatapath listens, as unix:FILE or tcp:HOST[:PORT],
    /// or its name.
    datapath: String,
    /// Controllers: tcp:HOST[:PORT], ssl:HOST[:PORT] or unix:FILE.
    #[arg(value_name = "CONTROLLER[,CONTROLLER]...", value_delimiter = ',')]
    controllers: Vec<String>,
    /// The behaviour without a controller: closed drops packets that no flow matches, open forwards
    /// as a learning switch.
    #[arg(
        short = 'F',
        long,
        value_name = "open|closed",
        default_value = "closed"
    )]
    fail: String,
    /// Seconds of silence after which an echo request is sent to a controller.
    #[arg(long, value_name = "SECONDS")]
    inactivity_probe: Option<u32>,
    /// The longest wait between two attempts to connect to a controller, in seconds.
    #[arg(long, value_name = "SECONDS")]
    max_backoff: Option<u32>,
    /// An address to listen on for tools, up to 8 times: punix:FILE, ptcp:[PORT][:HOST],
    /// pssl:[PORT][:HOST].
    #[arg(short, long, value_name = "METHOD")]
    listen: Vec<String>,
    /// Refused: dpctl monitor shows messages, and tcpdump those of controllers.
    #[arg(short, long, value_name = "METHOD")]
    monitor: Option<String>,
    /// The most packet-ins for each controller per second [default: 1000 if no number is given].
    #[arg(
        long,
        value_name = "PACKETS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1000"
    )]
    rate_limit: Option<u32>,
    /// The number that may be sent at once after a pause [default: a quarter of the rate].
    #[arg(long, value_name = "PACKETS")]
    burst_limit: Option<u32>,
    /// Ignored with a warning: NORMAL keeps what it learns for 300 seconds.
    #[arg(long, value_name = "SECONDS|permanent")]
    max_idle: Option<String>,
    /// Refused: there is no spanning tree protocol.
    #[arg(long)]
    stp: bool,
    /// Accepted: this is always so.
    #[arg(long)]
    no_stp: bool,
    /// Refused: controllers are reached over the host's own routes.
    #[arg(long)]
    in_band: bool,
    /// Accepted: this is always so.
    #[arg(long)]
    out_of_band: bool,
    /// Ignored with a warning: controllers are not discovered.
    #[arg(long, value_name = "REGEX")]
    accept_vconn: Option<String>,
    /// Accepted: this is always so.
    #[arg(long)]
    no_resolv_conf: bool,
    #[command(flatten)]
    common: Common,
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = OfprotocolCli::parse();
    let request = match cli.request() {
        Ok(request) => request,
        Err(error) => return error.into_usage().report(PROGRAM),
    };
    match cli.common.begin(PROGRAM) {
        Ok(None) => {}
        Ok(Some(code)) => return code,
        Err(error) => return error.into_usage().report(PROGRAM),
    }
    cli.ignored().for_each(|text| warn!("{text}"));
    // No signal handler: the pidfile is left if a signal ends this program.
    let _pid_file = match cli.common.ready(PROGRAM) {
        Ok(pid_file) => pid_file,
        Err(error) => return error.into_usage().report(PROGRAM),
    };
    let mut logged = String::new();
    loop {
        let name = &request.switch;
        let said = match request.attach() {
            Ok(()) => format!("switch {name} ended; waiting for it"),
            Err(error) => format!("waiting for switch {name}: {error}"),
        };
        if said != logged {
            warn!("{said}");
        }
        logged = said;
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// A message to a switch.
#[derive(Debug)]
struct AttachRequest {
    /// The name of the switch.
    switch: String,
    /// The options, in one line.
    line: String,
    /// The controllers and the fail mode, for the log.
    summary: String,
}

impl AttachRequest {
    /// Sends the line, and waits until the switch ends. Errors: why the switch refuses it.
    fn attach(&self) -> Result<()> {
        let name = &self.switch;
        let socket = if super::is_by_port(name) {
            ctl::find_near(name)
        } else {
            ctl::find(Some(name))
        };
        let mut stream = UnixStream::connect(socket?)?;
        let command = format!("attach {}\n", self.line);
        stream.write_all(command.as_bytes())?;
        let mut answers = BufReader::new(stream);
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        if answer != "ok\n" {
            return Err(answer.trim_start_matches("error ").trim_end().into());
        }
        info!("switch {name} took over its controllers: {}", self.summary);
        // The switch writes nothing more: the read ends when the connection does.
        let _ = answers.read_line(&mut answer);
        Ok(())
    }
}

impl OfprotocolCli {
    /// Returns the message for the switch. Errors: a sentence that begins with the option.
    fn request(&self) -> Result<AttachRequest> {
        let fail_mode = match self.fail.as_str() {
            "open" => "standalone",
            "closed" => "secure",
            other => return Err(format!("--fail={other}: it is open or closed").into()),
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
                "--in-band: controllers are reached over the host's own routes \
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
        let (switch, controllers) = self.ends()?;
        let options = Options {
            controllers,
            listen: self.listen.clone(),
            fail_mode: Some(fail_mode.into()),
            inactivity_probe: self.inactivity_probe,
            max_backoff: self.max_backoff,
            packet_in_rate: self.rate_limit,
            packet_in_burst: self.rate_limit.and(self.burst_limit),
            ..self.common.options()
        };
        let line = to_line(&options);
        let summary = format!("{}, fail mode {fail_mode}", options.controllers.join(", "));
        options.check()?;
        Ok(AttachRequest {
            switch,
            line,
            summary,
        })
    }

    /// The switch's name and the controllers. Some scripts name the controller first: the end on
    /// this machine is the switch.
    fn ends(&self) -> Result<(String, Vec<String>)> {
        let Ok(datapath) = self.datapath.parse::<ActiveAddress>() else {
            return Ok((self.datapath.clone(), self.controllers.clone()));
        };
        let mut ends = (datapath.0, self.controllers.clone());
        if !is_here(&ends.0)
            && let [only] = &self.controllers[..]
            && let Ok(other) = only.parse::<ActiveAddress>()
        {
            ends = (other.0, vec![self.datapath.clone()]);
        }
        if !is_here(&ends.0) {
            return Err(format!(
                "{}: the datapath must run on this machine; otherwise, type there: bofuss run \
                 --controller ADDRESS",
                self.datapath
            )
            .into());
        }
        let name = name_of(&ends.0);
        Ok((name.ok_or("the datapath's file has no name")?, ends.1))
    }

    /// Warnings about options that do nothing here.
    fn ignored(&self) -> impl Iterator<Item = &'static str> {
        let none = self.controllers.is_empty();
        let texts = [
            (
                none,
                "no controller is given, and discovery by DHCP does not exist",
            ),
            (
                self.max_idle.is_some(),
                "--max-idle: ignored; NORMAL keeps what it learns for 300 s",
            ),
            (
                self.accept_vconn.is_some(),
                "--accept-vconn: ignored; controllers are not discovered",
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

    fn request(line: &str) -> Result<AttachRequest> {
        OfprotocolCli::try_parse_from(line.split(' '))
            .expect("the options are known")
            .request()
    }

    #[test]
    fn mininet_s_lines_name_a_switch_and_its_controllers() {
        let line = "ofprotocol unix:/tmp/s1 tcp:127.0.0.1:6653,tcp:127.0.0.1:6654 --fail=closed \
                    --listen=ptcp:6655";
        let AttachRequest {
            switch,
            line,
            summary,
        } = request(line).expect("it is right");
        assert_eq!(
            summary,
            "tcp:127.0.0.1:6653, tcp:127.0.0.1:6654, fail mode secure"
        );
        let options = from_line(&line).expect("it was written by us");
        assert_eq!((switch.as_str(), options.controllers.len()), ("s1", 2));
        assert_eq!(options.fail_mode.as_deref(), Some("secure"));
        assert_eq!(options.listen, ["ptcp:6655"]);
        let twice =
            request("ofprotocol unix:/tmp/s1 --fail=closed --fail=open").expect("it is right");
        assert!(twice.line.contains("standalone"), "the last one counts");
        let none = request("ofprotocol unix:/tmp/s20 --fail=closed --listen=punix:/tmp/s20.listen");
        assert_eq!(none.expect("it is right").switch, "s20");
    }

    #[test]
    fn the_switch_is_the_end_on_this_machine() {
        let AttachRequest { switch, line, .. } =
            request("ofprotocol tcp:192.0.2.1 tcp:localhost").expect("it is right");
        assert!(
            switch.starts_with("dp-6653") && line.contains("tcp:192.0.2.1"),
            "{line}"
        );
        assert!(request("ofprotocol tcp:192.0.2.1 tcp:192.0.2.2").is_err());
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_its_reason() {
        for (line, reason) in [
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
            let said = request(line).expect_err("it is refused");
            assert!(said.text.contains(reason), "{line}: {said}");
        }
    }
}
