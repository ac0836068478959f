//! `simple_switch` and `simple_switch_grpc`: a switch with a P4 program, as bmv2 is started.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use tracing::warn;

use crate::config::{Config, Options, device_ids};
use crate::error::{Result, context};
use crate::log::{self, LogFormat};
use crate::p4_switch;
use crate::reload::ConfigSource;
use crate::runtime::{stopped, with_runtime};

/// The program without P4Runtime, and the one with it.
pub const PROGRAMS: [&str; 2] = ["simple_switch", "simple_switch_grpc"];
/// Where bmv2 serves P4Runtime unless told otherwise.
const GRPC_ADDRESS: &str = "0.0.0.0:9559";
/// The port that means a drop.
const DROP_PORT: u32 = 511;
/// Options of `bofuss run`, and what they are called here.
const OURS: [(&str, &str); 10] = [
    ("--p4 ", ""),
    ("--p4runtime", "--grpc-server-addr"),
    ("--p4-device-id", "--device-id"),
    ("--p4-cpu-port", "--cpu-port"),
    ("--private-key", "--grpc-server-key"),
    ("--certificate", "--grpc-server-cert"),
    ("--ca-cert", "--grpc-server-cacert"),
    ("--port", "--interface"),
    ("--capture", "--pcap"),
    ("--log ", "--log-level "),
];

/// A switch with a P4 program, with the command line of bmv2. docs/p4.md has all options.
#[derive(Debug, Parser)]
#[command(version, disable_version_flag = true, infer_long_args = true)]
pub struct SimpleSwitchCli {
    /// The program: the JSON that `p4c-bm2-ss` writes.
    #[arg(value_name = "JSON", required_unless_present = "no_p4")]
    program: Option<PathBuf>,
    /// An interface that is a port, with its number. Repeat for more.
    #[arg(short, long = "interface", value_name = "PORT@INTERFACE")]
    interfaces: Vec<String>,
    /// Capture the frames of each port in DIR/INTERFACE.pcap, both directions in one file.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pcap: Option<String>,
    /// The number of the switch for controllers, and in its name, below 2^63.
    #[arg(long, value_name = "ID", default_value_t = 0, value_parser = device_ids())]
    device_id: u64,
    /// Start without a program: a controller sets it.
    #[arg(long)]
    no_p4: bool,
    /// Log from the level debug on, to standard error.
    #[arg(long)]
    log_console: bool,
    /// Log from the level debug on, to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "log_console")]
    log_file: Option<PathBuf>,
    /// Log from another level on: trace, debug, info, warn, error or off.
    #[arg(short = 'L', long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Accepted: each line is written at once.
    #[arg(long)]
    log_flush: bool,
    /// Warned: the file is not rotated.
    #[arg(long, value_name = "BYTES")]
    log_file_max_size: Option<u64>,
    /// Warned: the file is not rotated.
    #[arg(long, value_name = "COUNT")]
    log_file_max_files: Option<u64>,
    /// Accepted: there may be as many ports as have numbers.
    #[arg(long, value_name = "COUNT")]
    max_port_count: Option<u32>,
    /// Warned: there is no Thrift.
    #[arg(long, value_name = "PORT")]
    thrift_port: Option<u16>,
    /// Warned: events are not published.
    #[arg(long, value_name = "ADDRESS")]
    nanolog: Option<String>,
    /// Warned: notifications are those of P4Runtime.
    #[arg(long, value_name = "ADDRESS")]
    notifications_addr: Option<String>,
    /// Warned: traces explain packets.
    #[arg(long)]
    debugger: bool,
    /// Warned: traces explain packets.
    #[arg(long, value_name = "ADDRESS")]
    debugger_addr: Option<String>,
    /// Warned: frames are not logged.
    #[arg(long, value_name = "BYTES")]
    dump_packet_data: Option<u64>,
    /// Refused: frames come from the ports.
    #[arg(long, value_name = "ADDRESS")]
    packet_in: Option<String>,
    /// Refused: `bofuss p4 stf` plays packets, and a port of `bofuss run` may be capture files.
    #[arg(long, value_name = "SECONDS")]
    use_files: Option<u64>,
    /// Refused: the state is not saved.
    #[arg(long, value_name = "FILE")]
    restore_state: Option<PathBuf>,
    /// Print the version.
    #[arg(short, long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    /// Options of the target, after two dashes.
    #[arg(last = true, value_name = "OPTION")]
    target: Vec<String>,
}

/// The options of the target, which bmv2 has after two dashes.
#[derive(Debug, Default, Parser)]
#[command(
    name = "--",
    no_binary_name = true,
    disable_help_flag = true,
    infer_long_args = true
)]
struct Target {
    /// Where controllers of P4Runtime connect.
    #[arg(long, value_name = "HOST:PORT")]
    grpc_server_addr: Option<String>,
    /// The port of packet-ins and packet-outs.
    #[arg(long, value_name = "PORT")]
    cpu_port: Option<u32>,
    /// The port that means a drop: only 511.
    #[arg(long, value_name = "PORT")]
    drop_port: Option<u32>,
    /// Warned if it is below 8, which a port has always.
    #[arg(long, value_name = "COUNT")]
    priority_queues: Option<u32>,
    /// Serve P4Runtime with TLS.
    #[arg(long)]
    grpc_server_ssl: bool,
    #[arg(long, value_name = "FILE")]
    grpc_server_cacert: Option<PathBuf>,
    #[arg(long, value_name = "FILE")]
    grpc_server_cert: Option<PathBuf>,
    #[arg(long, value_name = "FILE")]
    grpc_server_key: Option<PathBuf>,
    /// Controllers show a certificate.
    #[arg(long)]
    grpc_server_with_client_auth: bool,
    /// Refused: a controller may set another program.
    #[arg(long)]
    disable_swap: bool,
    /// Warned: `bofuss ctl NAME reload` is there without it.
    #[arg(long)]
    enable_swap: bool,
    /// Refused: a program begins with `egress_spec` 0.
    #[arg(long)]
    egress_spec_init_to_drop: bool,
    /// Refused: frames come from the ports.
    #[arg(long, value_name = "HOST:PORT")]
    dp_grpc_server_addr: Option<String>,
    /// Refused: v1model has no modules.
    #[arg(long, value_name = "FILES")]
    load_modules: Option<String>,
}

/// Runs one of [`PROGRAMS`].
pub fn main(program: &'static str) -> ExitCode {
    let matches = SimpleSwitchCli::command().name(program).get_matches();
    let cli = SimpleSwitchCli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let target = Target::try_parse_from(&cli.target).unwrap_or_else(|error| error.exit());
    let has_grpc = program == PROGRAMS[1];
    let config = match cli.config(&target, has_grpc) {
        Ok(config) => config,
        Err(error) => return error.into_usage().report(program),
    };
    let logged = cli.log_file.as_ref().map(|file| super::log_to(file));
    let logged = logged.transpose().map(drop);
    if let Err(error) = logged.and_then(|()| log::start(&config.log, LogFormat::Text)) {
        return error.into_usage().report(program);
    }
    for text in cli.warnings(&target) {
        warn!("{text}");
    }
    // In a new network namespace the loopback interface, to which controllers connect, is down.
    let _ = bofuss_ports::set_link("lo", true);
    let source = ConfigSource::of(&config);
    match with_runtime(async { p4_switch::serve(source, config, stopped()).await }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(program),
    }
}

impl SimpleSwitchCli {
    /// The configuration of the switch. Errors: a sentence that begins with what is wrong.
    fn config(&self, target: &Target, has_grpc: bool) -> Result<Config> {
        self.refuse(target, has_grpc)?;
        let ports = self.ports()?;
        let options = Options {
            name: Some(self.name(&ports)),
            ports: ports
                .iter()
                .map(|(n, name)| format!("{n}={name}"))
                .collect(),
            captures: self.captures(&ports)?,
            p4: self.program.clone().filter(|_| !self.no_p4),
            log: Some(self.level()),
            take_over: true,
            ..Options::default()
        };
        let options = if has_grpc {
            Options {
                p4runtime: Some(target.address()),
                p4_device_id: Some(self.device_id),
                p4_cpu_port: target.cpu_port,
                private_key: target.grpc_server_key.clone(),
                certificate: target.grpc_server_cert.clone(),
                ca_cert: target.grpc_server_cacert.clone(),
                ..options
            }
        } else {
            options
        };
        let checked = options.check();
        let mut config =
            checked.map_err(|error| error.map(|text| super::in_our_words(&text, &OURS)))?;
        // Another number follows the name if a switch has it.
        config.is_named = false;
        Ok(config)
    }

    /// Errors: an option that would be missed if it were ignored.
    fn refuse(&self, target: &Target, has_grpc: bool) -> Result<()> {
        let grpc = target.grpc_server_addr.is_some() || target.grpc_server_ssl;
        let has_tls_file = target.tls_files().contains(&true);
        let odd_drop = target.drop_port.is_some_and(|port| port != DROP_PORT);
        let refused = [
            (
                self.packet_in.is_some(),
                "--packet-in: frames come from the ports",
            ),
            (
                self.use_files.is_some(),
                "--use-files: type bofuss p4 stf, or bofuss run --port pcap:IN,OUT",
            ),
            (
                self.restore_state.is_some(),
                "--restore-state: the state of a program is not saved",
            ),
            (
                self.no_p4 && !has_grpc,
                "--no-p4: only controllers of simple_switch_grpc set one",
            ),
            (
                !has_grpc && (grpc || target.cpu_port.is_some()),
                "--grpc-server-addr, --cpu-port: only simple_switch_grpc has controllers",
            ),
            (target.cpu_port == Some(0), "--cpu-port 0: write 1 to 510"),
            (odd_drop, "--drop-port: only 511 means a drop"),
            (
                target.egress_spec_init_to_drop,
                "--egress-spec-init-to-drop: egress_spec begins with 0",
            ),
            (
                target.disable_swap,
                "--disable-swap: controllers may set another program",
            ),
            (
                target.dp_grpc_server_addr.is_some(),
                "--dp-grpc-server-addr: frames come from the ports",
            ),
            (
                target.load_modules.is_some(),
                "--load-modules: v1model has no modules",
            ),
            (
                has_tls_file && !target.grpc_server_ssl,
                "--grpc-server-cert, --grpc-server-key, --grpc-server-cacert: \
                 they need --grpc-server-ssl",
            ),
            (
                target.grpc_server_ssl && target.tls_files().contains(&false),
                "--grpc-server-ssl: it needs --grpc-server-cert, --grpc-server-key and \
                 --grpc-server-cacert",
            ),
            (
                target.grpc_server_ssl && !target.grpc_server_with_client_auth,
                "--grpc-server-ssl: it needs --grpc-server-with-client-auth, because controllers \
                 must show a certificate",
            ),
        ];
        match refused.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, why)) => Err(why.into()),
            None => Ok(()),
        }
    }

    /// What options that are accepted do not do, a sentence each.
    fn warnings(&self, target: &Target) -> Vec<&'static str> {
        let rotates = self.log_file_max_size.is_some() || self.log_file_max_files.is_some();
        let debugs = self.debugger || self.debugger_addr.is_some();
        let has_fewer = target.priority_queues.is_some_and(|count| count < 8);
        let warnings = [
            (
                self.no_p4 && self.program.is_some(),
                "JSON: with --no-p4 it is not read; a controller sets the program",
            ),
            (
                self.thrift_port.is_some(),
                "--thrift-port: there is no Thrift, and no simple_switch_CLI; use P4Runtime, or \
                 type bofuss ctl NAME p4",
            ),
            (
                self.nanolog.is_some(),
                "--nanolog: events are not published; bofuss ctl NAME p4 trace explains packets",
            ),
            (
                self.notifications_addr.is_some(),
                "--notifications-addr: digests and idle entries are told by P4Runtime only",
            ),
            (
                debugs,
                "--debugger: there is none; bofuss ctl NAME p4 trace explains packets",
            ),
            (
                self.dump_packet_data.is_some_and(|bytes| bytes > 0),
                "--dump-packet-data: frames are not logged; --pcap captures them",
            ),
            (
                rotates,
                "--log-file-max-size, --log-file-max-files: the file is not rotated",
            ),
            (
                has_fewer,
                "--priority-queues: a port has 8 priorities, and none is dropped",
            ),
            (
                target.enable_swap,
                "--enable-swap: bofuss ctl NAME reload reads the program again",
            ),
        ];
        let given = warnings.into_iter().filter(|(is_given, _)| *is_given);
        given.map(|(_, text)| text).collect()
    }

    /// The ports with their interfaces. Errors: what is not PORT@INTERFACE.
    fn ports(&self) -> Result<Vec<(u32, &str)>> {
        let ports = self.interfaces.iter().map(|text| {
            let port = text.split_once('@');
            let port = port.and_then(|(number, name)| Some((number.parse().ok()?, name)));
            port.filter(|(_, name)| !name.is_empty())
                .ok_or_else(|| format!("--interface {text}: write PORT@INTERFACE").into())
        });
        ports.collect()
    }

    /// The name of the switch: that of its interfaces, if all are called `NAME-ethN` as Mininet's
    /// are, or its number.
    fn name(&self, ports: &[(u32, &str)]) -> String {
        let stem = |(_, name): &(u32, &str)| Some(name.rsplit_once("-eth")?.0.to_owned());
        let mut stems = ports.iter().map(stem);
        match stems.next().flatten() {
            Some(first) if stems.all(|other| other.as_ref() == Some(&first)) => first,
            Some(_) | None => format!("bmv2-{}", self.device_id),
        }
    }

    /// The captures of all ports. Errors: the folder does not exist, or has blanks in its path.
    fn captures(&self, ports: &[(u32, &str)]) -> Result<Vec<String>> {
        let Some(folder) = &self.pcap else {
            return Ok(Vec::new());
        };
        if !Path::new(folder).is_dir() {
            return Err(format!("--pcap {folder}: there is no such folder").into());
        }
        let absolute = std::path::absolute(folder).map_err(context(format!("--pcap {folder}")))?;
        let folder = absolute.display().to_string();
        if folder.contains(char::is_whitespace) {
            return Err(format!("--pcap {folder}: a folder without blanks is needed").into());
        }
        let captures = ports.iter();
        let captures = captures.map(|(number, name)| format!("{number} {folder}/{name}.pcap"));
        Ok(captures.collect())
    }

    /// The level of the log: without an option, what an operator should know.
    fn level(&self) -> String {
        let wants_log = self.log_console || self.log_file.is_some();
        let level = if wants_log { "debug" } else { "info" };
        self.log_level.as_deref().unwrap_or(level).into()
    }
}

impl Target {
    /// Where controllers connect.
    fn address(&self) -> String {
        let address = self.grpc_server_addr.as_deref().unwrap_or(GRPC_ADDRESS);
        match address.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}"),
            None => address.into(),
        }
    }

    /// Which files of TLS are named.
    fn tls_files(&self) -> [bool; 3] {
        let files = [
            &self.grpc_server_cert,
            &self.grpc_server_key,
            &self.grpc_server_cacert,
        ];
        files.map(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testdata/p4/exits/exits.json"
    );

    /// The configuration of a line, and its warnings; `JSON` in it is a program.
    fn read(line: &str) -> Result<(Config, Vec<&'static str>)> {
        let line = line.replace("JSON", JSON);
        let cli = SimpleSwitchCli::try_parse_from(line.split(' ')).expect("the options are known");
        let target = Target::try_parse_from(&cli.target).expect("the target's are known");
        let config = cli.config(&target, line.starts_with("simple_switch_grpc"))?;
        Ok((config, cli.warnings(&target)))
    }

    #[test]
    fn the_tutorials_line_is_a_switch_without_a_program() {
        let line = "simple_switch_grpc -i 1@s1-eth1 -i 2@s1-eth2 --pcap /tmp \
                    --nanolog ipc:///tmp/bm-0-log.ipc --device-id 0 --no-p4 --thrift-port 9090 \
                    -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255";
        let (config, warnings) = read(line).expect("it is right");
        assert_eq!((config.name.as_str(), config.is_named), ("s1", false));
        let ports = config.ports.iter();
        let ports: Vec<_> = ports.map(|p| (p.number.0, p.kind.to_string())).collect();
        assert_eq!(ports, [(1, "s1-eth1".into()), (2, "s1-eth2".into())]);
        let words: Vec<_> = config.copiers.iter().map(|copier| copier.words()).collect();
        assert_eq!(words, ["1 /tmp/s1-eth1.pcap", "2 /tmp/s1-eth2.pcap"]);
        let p4 = config.p4.expect("it has a program one day");
        assert_eq!(p4.program(), None);
        let runtime = p4.runtime.expect("it has controllers");
        assert_eq!(runtime.address.to_string(), "0.0.0.0:50051");
        assert_eq!((runtime.device_id, runtime.cpu_port), (0, Some(255)));
        let named: Vec<_> = warnings
            .iter()
            .filter_map(|text| text.split(':').next())
            .collect();
        assert_eq!(named, ["--thrift-port", "--nanolog"]);
    }

    #[test]
    fn without_p4runtime_the_program_runs_alone() {
        let line = "simple_switch --log-console -i 0@veth0 -i 1@veth1 JSON --thrift-port 9090";
        let (config, warnings) = read(line).expect("it is right");
        assert_eq!(
            (config.name.as_str(), config.log.as_str()),
            ("bmv2-0", "debug")
        );
        let p4 = config.p4.expect("it has a program");
        assert_eq!(p4.program(), Some(Path::new(JSON)));
        assert!(p4.runtime.is_none() && warnings.len() == 1);
        let line = "simple_switch_grpc --log-level off --device-id 7 JSON";
        let (config, _) = read(line).expect("it is right");
        let runtime = config
            .p4
            .and_then(|p4| p4.runtime)
            .expect("it has controllers");
        assert_eq!(runtime.address.to_string(), GRPC_ADDRESS);
        assert_eq!((runtime.device_id, runtime.cpu_port), (7, None));
        assert_eq!(
            (config.name.as_str(), config.log.as_str()),
            ("bmv2-7", "off")
        );
        let line = "simple_switch_grpc --device-id 9223372036854775808 JSON";
        let refused = SimpleSwitchCli::try_parse_from(line.split(' '));
        assert!(refused.is_err(), "TOML has no such number");
    }

    #[test]
    fn each_option_that_does_less_than_in_bmv2_is_told() {
        let line = "simple_switch_grpc --no-p4 --debugger --nanolog x --notifications-addr x \
                    --dump-packet-data 64 --log-file /tmp/x --log-file-max-size 5 --thrift-port 1 \
                    --log-flush --max-port-count 8 JSON -- --priority-queues 2 --enable-swap \
                    --drop-port 511";
        let (_, warnings) = read(line).expect("it is right");
        assert_eq!(warnings.len(), 9, "{warnings:?}");
    }

    #[test]
    fn the_folder_of_captures_is_this_one_unless_it_is_named() {
        let (config, _) = read("simple_switch --pcap -i 1@a JSON").expect("it is right");
        let here = std::env::current_dir().expect("there is one");
        let wanted = format!("1 {}/a.pcap", here.display());
        assert_eq!(config.copiers[0].words(), wanted);
    }

    #[test]
    fn what_cannot_be_done_is_refused_in_its_own_words() {
        for (line, wanted) in [
            ("simple_switch --no-p4", "--no-p4: "),
            (
                "simple_switch JSON -- --cpu-port 5",
                "--grpc-server-addr, --cpu-port: ",
            ),
            (
                "simple_switch JSON -- --grpc-server-addr x",
                "--grpc-server-addr, --cpu-port: ",
            ),
            ("simple_switch JSON -- --drop-port 5", "--drop-port: "),
            ("simple_switch JSON -- --load-modules x", "--load-modules: "),
            (
                "simple_switch JSON -- --egress-spec-init-to-drop",
                "--egress-spec-init-to-drop: ",
            ),
            ("simple_switch --use-files 0 JSON", "--use-files: "),
            ("simple_switch --packet-in x JSON", "--packet-in: "),
            ("simple_switch --restore-state x JSON", "--restore-state: "),
            (
                "simple_switch -i s1-eth1 JSON",
                "--interface s1-eth1: write PORT@INTERFACE",
            ),
            ("simple_switch -i 600@a JSON", "--interface a: "),
            (
                "simple_switch --pcap /none JSON",
                "--pcap /none: there is no such folder",
            ),
            ("simple_switch --log-level loud JSON", "--log-level loud: "),
            ("simple_switch /none.json", "/none.json: "),
            (
                "simple_switch_grpc --no-p4 -- --cpu-port 0",
                "--cpu-port 0: ",
            ),
            (
                "simple_switch_grpc --no-p4 -- --cpu-port 511",
                "--cpu-port 511: ",
            ),
            (
                "simple_switch_grpc --no-p4 -- --disable-swap",
                "--disable-swap: ",
            ),
            (
                "simple_switch_grpc --no-p4 -- --dp-grpc-server-addr x",
                "--dp-grpc-server-addr: ",
            ),
            (
                "simple_switch_grpc --no-p4 -- --grpc-server-addr x",
                "--grpc-server-addr x: write",
            ),
            (
                "simple_switch_grpc --no-p4 -- --grpc-server-ssl",
                "--grpc-server-ssl: it needs",
            ),
            (
                "simple_switch_grpc --no-p4 -- --grpc-server-key x",
                "--grpc-server-cert, ",
            ),
        ] {
            let said = read(line).map(drop).expect_err("it is wrong");
            assert!(said.text.starts_with(wanted), "{line}: {said}");
        }
        let missing = SimpleSwitchCli::try_parse_from(["simple_switch", "-i", "1@a"]);
        assert!(missing.is_err_and(|error| error.to_string().contains("<JSON>")));
    }
}
