//! `ofdatapath`: starts a switch that waits for its `ofprotocol`, or for controllers.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::ExitCode;

use bofuss_channel::PassiveAddress;
use bofuss_oflib::PortNo;
use clap::Parser;
use tracing::warn;

use super::Common;
use crate::config::{Config, Options};
use crate::error::Result;
use crate::process::Process;
use crate::reload::ConfigSource;
use crate::runtime::{stopped, with_runtime};

const PROGRAM: &str = "ofdatapath";
/// Longest name of an interface, in bytes.
const MAX_INTERFACE_BYTES: usize = 15;
/// The device that makes TAP interfaces.
const TUN: &str = "/dev/net/tun";
/// Options of `bofuss run`, and what they are called here.
const OURS: [(&str, &str); 4] = [
    ("--dpid", "--datapath-id"),
    ("--port", "--interfaces"),
    ("--listen ", ""),
    ("--controller ", ""),
];

/// A datapath, with the command line of BOFUSS. docs/ofdatapath.md has all options.
#[derive(Parser)]
#[command(name = PROGRAM, version, infer_long_args = true, args_override_self = true)]
pub struct OfdatapathCli {
    /// The address to listen on: punix:FILE, ptcp:[PORT][:HOST] or pssl:[PORT][:HOST]; or a
    /// controller to connect to, without any ofprotocol: tcp:HOST[:PORT], ssl:HOST[:PORT] or
    /// unix:FILE.
    #[arg(required = true, value_name = "LISTEN")]
    addresses: Vec<String>,
    /// The interfaces that are ports 1 and on; tap:NAME makes one.
    #[arg(short, long, value_name = "NETDEV[,NETDEV]...", value_delimiter = ',')]
    interfaces: Vec<String>,
    /// The interface that is the LOCAL port [default: a new TAP interface, tap-NAME].
    #[arg(short = 'L', long, value_name = "NETDEV")]
    local_port: Option<String>,
    /// No LOCAL port.
    #[arg(long, conflicts_with = "local_port")]
    no_local_port: bool,
    /// The datapath id, 1 to 16 hexadecimal digits.
    #[arg(short, long, value_name = "ID")]
    datapath_id: Option<String>,
    /// Refused: the switch opens auxiliary connections itself.
    #[arg(short, long)]
    multiconn: bool,
    /// Accepted: the switch has its own queues and never uses tc.
    #[arg(long)]
    no_slicing: bool,
    /// The manufacturer in the switch's description.
    #[arg(long, value_name = "TEXT", alias = "mfr_desc")]
    mfr_desc: Option<String>,
    /// The hardware in the description.
    #[arg(long, value_name = "TEXT", alias = "hw_desc")]
    hw_desc: Option<String>,
    /// The software in the description.
    #[arg(long, value_name = "TEXT", alias = "sw_desc")]
    sw_desc: Option<String>,
    /// The name of the datapath in the description.
    #[arg(long = "dp_desc", value_name = "TEXT", alias = "dp-desc")]
    dp_desc: Option<String>,
    /// Its serial number.
    #[arg(long = "serial_num", value_name = "TEXT", alias = "serial-num")]
    serial_num: Option<String>,
    /// An extension whose experimenter ids table features list, or an option of one:
    /// EXTENSION.NAME=VALUE, as openstate.dialect=opp. Repeat for more.
    #[arg(long = "extension", value_name = "OPTION")]
    extensions: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = OfdatapathCli::parse();
    let config = match cli.config() {
        Ok(config) => config,
        Err(error) => return error.into_usage().report(PROGRAM),
    };
    match cli.common.begin(PROGRAM) {
        Ok(None) => {}
        Ok(Some(code)) => return code,
        Err(error) => return error.into_usage().report(PROGRAM),
    }
    if config.ports.iter().all(|port| port.number != PortNo::LOCAL) && !cli.no_local_port {
        warn!("there is no LOCAL port: {TUN} is missing, or not allowed");
    }
    // In a new network namespace the loopback interface, on which tools connect, is down.
    let _ = bofuss_ports::set_link("lo", true);
    let done = with_runtime(async {
        let stop = stopped();
        let source = ConfigSource::of(&config);
        let process = Process::start(vec![config], source, None).await?;
        process.run(|| cli.common.ready(PROGRAM), stop).await
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(PROGRAM),
    }
}

impl OfdatapathCli {
    /// The options of the switch. Errors: a sentence that begins with what is wrong.
    fn config(&self) -> Result<Config> {
        if self.multiconn {
            return Err(
                "--multiconn: the switch opens auxiliary connections itself; \
                        type: bofuss run --aux"
                    .into(),
            );
        }
        // Addresses to listen on begin with p: ptcp:, pssl:, punix:.
        let (listen, controllers): (Vec<_>, Vec<_>) =
            self.addresses.iter().partition(|a| a.starts_with('p'));
        let mut options = Options {
            name: self.name(),
            dpid: self.datapath_id.clone(),
            ports: numbered(&self.interfaces),
            listen: listen.into_iter().cloned().collect(),
            controllers: controllers.into_iter().cloned().collect(),
            fail_mode: Some("secure".into()),
            take_over: true,
            extensions: self.extensions.clone(),
            ..self.common.options()
        };
        options.ports.extend(self.local(options.name.as_deref()));
        let mut config = options
            .check()
            .map_err(|error| error.map(|text| super::in_our_words(&text, &OURS)))?;
        config.is_named &= !super::is_by_port(&config.name);
        let desc = &mut config.desc;
        set(&mut desc.mfr_desc, &self.mfr_desc);
        set(&mut desc.hw_desc, &self.hw_desc);
        set(&mut desc.sw_desc, &self.sw_desc);
        set(&mut desc.dp_desc, &self.dp_desc);
        set(&mut desc.serial_num, &self.serial_num);
        Ok(config)
    }

    /// The name of the switch, after the first address where it listens.
    fn name(&self) -> Option<String> {
        let mut places = self.addresses.iter();
        let first = places.find_map(|text| text.parse::<PassiveAddress>().ok());
        super::name_of(&first?.0)
    }

    /// The LOCAL port, as `--port` has it.
    fn local(&self, name: Option<&str>) -> Option<String> {
        match &self.local_port {
            _ if self.no_local_port => None,
            Some(device) if device != "tap:" => Some(format!("local={device}")),
            None if File::options().read(true).write(true).open(TUN).is_err() => None,
            Some(_) | None => {
                let name = format!("tap-{}", name.unwrap_or("dp"));
                let end = name.floor_char_boundary(MAX_INTERFACE_BYTES);
                Some(format!("local=tap:{}", &name[..end]))
            }
        }
    }
}

/// Interfaces as `--port` has them: with the numbers that Mininet means, if each is called
/// `NAME-ethN` and no number is there twice; otherwise each gets its place.
fn numbered(interfaces: &[String]) -> Vec<String> {
    let number = |name: &String| {
        let (_, digits) = name.rsplit_once("-eth")?;
        digits.parse::<u32>().ok().filter(|number| *number > 0)
    };
    let numbers: BTreeSet<u32> = interfaces.iter().filter_map(number).collect();
    if numbers.len() < interfaces.len() {
        return interfaces.to_vec();
    }
    let with_number = interfaces.iter().map(|name| match number(name) {
        Some(number) => format!("{number}={name}"),
        None => name.clone(),
    });
    with_number.collect()
}

/// Replaces a text if the user gave one.
fn set<'a, T: From<&'a str>>(place: &mut T, given: &'a Option<String>) {
    if let Some(text) = given {
        *place = text.as_str().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_oflib::Version;

    fn config(line: &str) -> Result<Config> {
        let cli = OfdatapathCli::try_parse_from(line.split(' ')).expect("the options are known");
        cli.config()
    }

    #[test]
    fn what_original_controllers_speak_is_offered_unless_versions_are_named() {
        let few = config("ofdatapath ptcp:1").expect("it is right");
        assert_eq!(
            few.versions,
            [Version::V1_0, Version::V1_1, Version::V1_2, Version::V1_3]
        );
        let line = "ofdatapath ptcp:1 --versions=1.3,1.5 --extension=openstate.dialect=beba";
        let named = config(line).expect("it is right");
        assert_eq!(named.versions, [Version::V1_3, Version::V1_5]);
        assert_eq!(named.extensions, ["openstate.dialect=beba"]);
        let wrong = config("ofdatapath ptcp:1 --versions=1.9").err();
        assert!(wrong.is_some_and(|error| error.text.starts_with("--versions 1.9: ")));
    }

    #[test]
    fn mininet_s_line_is_a_switch() {
        let line = "ofdatapath -i s1-eth1,s1-eth2 punix:/tmp/s1 -d 000000000001 --no-slicing";
        let config = config(line).expect("it is right");
        assert_eq!((config.name.as_str(), config.datapath_id), ("s1", Some(1)));
        let ports: Vec<_> = config
            .ports
            .iter()
            .map(|port| port.kind.to_string())
            .collect();
        assert!(
            ports.starts_with(&["s1-eth1".into(), "s1-eth2".into()]),
            "{ports:?}"
        );
        assert!(config.controllers.is_empty() && config.listen.len() == 1);
    }

    #[test]
    fn ports_have_the_numbers_of_mininet_s_names_or_their_places() {
        for (interfaces, wanted) in [
            ("s1-eth1,s1-eth9", [1, 9]),
            ("s1-eth2,s1-eth1", [2, 1]),
            ("s1-eth3,veth0", [1, 2]),
            ("s1-eth4,s2-eth4", [1, 2]),
            ("s1-eth0,s1-eth5", [1, 2]),
            ("s1-eth5,s1-eth6x", [1, 2]),
        ] {
            let line = format!("ofdatapath -i {interfaces} punix:/tmp/s1 --no-local-port");
            let config = config(&line).expect("it is right");
            let numbers = config.ports.iter().map(|port| port.number.0);
            assert_eq!(numbers.collect::<Vec<_>>(), wanted, "{interfaces}");
        }
    }

    #[test]
    fn what_describes_the_switch_is_told_to_controllers() {
        let config = config("ofdatapath ptcp:1 --no-local-port --dp_desc=lab --mfr-desc=we")
            .expect("it is right");
        assert_eq!(config.desc.dp_desc, "lab".into());
        assert_eq!(config.desc.mfr_desc, "we".into());
        assert!(config.ports.is_empty());
    }

    #[test]
    fn a_wrong_line_is_told_in_its_own_words() {
        for (line, wanted) in [
            ("ofdatapath punix:/tmp/x -d 0", "--datapath-id 0: it is"),
            ("ofdatapath punix:/tmp/x -m", "--multiconn: "),
            ("ofdatapath pnl:0", "begins with no kind of address"),
            (
                "ofdatapath punix:/tmp/x -i a,a",
                "--interfaces a: a is a port already",
            ),
        ] {
            let said = config(line).expect_err("it is wrong");
            assert!(said.text.contains(wanted), "{line}: {said}");
        }
    }
}
