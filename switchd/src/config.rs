//! What a switch is started with: the command line and the TOML file, one set of keys for both.

mod ports;
mod tables;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use bofuss_agent::FailMode;
use bofuss_channel::{
    ActiveAddress, Auxiliary, MAX_AUXILIARIES, PassiveAddress, Rate, Tls, TlsFiles,
};
use bofuss_oflib::message::multipart::Desc;
use bofuss_ports::AfPacketOptions;
use serde::{Deserialize, Serialize};

use crate::metrics::Address;
use crate::profile::Profile;
use crate::rundir;

use ports::{number_ports, port_rate, queue, ring};
use tables::table_sizes;

pub use ports::{PortKind, PortSpec, QueueConfig, add_port};

/// Options of `bofuss run`. Each is also a key of the TOML file, where a list is an array.
#[derive(Clone, Debug, Default, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Options {
    /// Read these options from a TOML file; those of the command line count before it.
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Name of the switch, and of its socket in the run-time directory [default: s0].
    #[arg(long)]
    pub name: Option<String>,
    /// Datapath id, 64 bits, as 0x1 or 000000000001 [default: the first port's address].
    #[arg(long, value_name = "ID")]
    pub dpid: Option<String>,
    /// A port: [NUMBER=]INTERFACE, tap:NAME, pcap:IN[,OUT]; NUMBER may be `local`. Repeat for more;
    /// ports without a number get their place in the list.
    #[arg(long = "port", value_name = "PORT")]
    #[serde(rename = "port")]
    pub ports: Vec<String>,
    /// The rate of a port instead of its interface's: PORT=RATE, RATE as 500k, 10M or 1G bits a
    /// second. Repeat for more.
    #[arg(long = "port-rate", value_name = "PORT=RATE")]
    #[serde(rename = "port-rate")]
    pub port_rates: Vec<String>,
    /// What a port's receive ring may grow to, in slots of 2 KiB: [PORT=]SLOTS, 0 to receive by
    /// system calls alone [default: 8192]. Repeat for more.
    #[arg(long = "ring", value_name = "RING")]
    #[serde(rename = "ring")]
    pub rings: Vec<String>,
    /// A queue: PORT:QUEUE:min=RATE,max=RATE,priority=N,weight=N; RATE is in bits a second, as 10M,
    /// or in thousandths of the port's. Repeat for more.
    #[arg(long = "queue", value_name = "QUEUE")]
    #[serde(rename = "queue")]
    pub queues: Vec<String>,
    /// A controller to connect to: tcp:HOST[:PORT], ssl:HOST[:PORT] or unix:FILE. Repeat for more.
    #[arg(long = "controller", value_name = "ADDRESS")]
    #[serde(rename = "controller")]
    pub controllers: Vec<String>,
    /// An auxiliary connection beside each one to a controller's HOST: tcp, ssl or udp, as udp:6654
    /// if the port is another. Repeat for more; the first has auxiliary id 1.
    #[arg(long = "aux", value_name = "KIND[:PORT]")]
    #[serde(rename = "aux")]
    pub auxiliaries: Vec<String>,
    /// Where to wait for controllers and tools: ptcp:[PORT][:HOST], pssl:[PORT][:HOST] or
    /// punix:FILE. Repeat for more.
    #[arg(long = "listen", value_name = "ADDRESS")]
    pub listen: Vec<String>,
    /// For ssl: and pssl:, the switch's private key (PEM). It, the certificates and the CAs' are
    /// read again when the files change; connections that are up stay.
    #[arg(short, long, value_name = "FILE")]
    pub private_key: Option<PathBuf>,
    /// For ssl: and pssl:, the switch's certificate (PEM).
    #[arg(short, long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// For ssl: and pssl:, the certificates of the CAs that sign the peers' (PEM).
    #[arg(short = 'C', long, value_name = "FILE")]
    pub ca_cert: Option<PathBuf>,
    /// Accept a controller's certificate, if a CA signed it, although it is not for the HOST of
    /// ssl:HOST; those that ovs-pki makes are for no host.
    #[arg(long)]
    pub any_peer_name: bool,
    /// What to do without a controller: secure or standalone [default: standalone if none is
    /// named].
    #[arg(long, value_name = "MODE")]
    pub fail_mode: Option<String>,
    /// Flow tables, 1 to 254 [default: 64, or those of the profile].
    #[arg(long, value_name = "COUNT")]
    pub tables: Option<u8>,
    /// The most entries of one table [default: 1000000].
    #[arg(long, value_name = "COUNT")]
    pub max_entries: Option<u32>,
    /// The most entries of all tables together [default: 4000000].
    #[arg(long, value_name = "COUNT")]
    pub max_total_entries: Option<u32>,
    /// How select groups choose a bucket: hash, round-robin or random [default: hash].
    #[arg(long, value_name = "ALGORITHM")]
    pub select: Option<String>,
    /// How one group chooses: GROUP=ALGORITHM, as 7=round-robin. Repeat for more.
    #[arg(long = "group-select", value_name = "GROUP=ALGORITHM")]
    pub group_select: Vec<String>,
    /// Seed of the switch's random choices [default: 0].
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// How packets find their entries: reference (a plain scan), tables (hashed) or cache (hashed,
    /// and ways through the tables remembered) [default: cache].
    #[arg(long, value_name = "ENGINE")]
    pub datapath: Option<String>,
    /// Take the shape of a given pipeline from a TOML file: its tables, and what each can do.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Seconds of silence after which a peer is asked whether it lives; 0 never asks [default: 5].
    #[arg(long, value_name = "SECONDS")]
    pub inactivity_probe: Option<u64>,
    /// The longest wait between two tries to reach a controller, in seconds [default: 8].
    #[arg(long, value_name = "SECONDS")]
    pub max_backoff: Option<u64>,
    /// The most messages of each connection that are served a second; more wait unread [default:
    /// as many as come].
    #[arg(long, value_name = "COUNT")]
    pub message_rate: Option<u32>,
    /// The most packet-ins that each connection gets a second; more are dropped and counted
    /// [default: as many as it takes].
    #[arg(long, value_name = "COUNT")]
    pub packet_in_rate: Option<u32>,
    /// How many packet-ins may come at once after a pause [default: a quarter of the rate].
    #[arg(long, value_name = "COUNT")]
    pub packet_in_burst: Option<u32>,
    /// Answer HTTP requests for /metrics here: [IP:]PORT, without IP on loopback alone.
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// Take interfaces although they carry an IP address or the default route.
    #[arg(long)]
    pub take_over: bool,
    /// Once everything is open, give up all rights, and all files but those that are named here:
    /// see docs/security.md. Needs a kernel with Landlock.
    #[arg(long)]
    pub lock_down: bool,
    /// The one folder for captures [default: any, and none with --lock-down].
    #[arg(long, value_name = "FOLDER")]
    pub capture_folder: Option<PathBuf>,
    /// Send frames shorter than 60 bytes as they are.
    #[arg(long)]
    pub no_pad: bool,
}

/// Everything checked, nothing opened.
#[derive(Clone, Debug)]
pub struct Config {
    /// The switch's name.
    pub name: String,
    /// Its datapath id; from the first port if `None`.
    pub datapath_id: Option<u64>,
    /// How it describes itself.
    pub desc: Desc,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    /// Their queues.
    pub queues: Vec<QueueConfig>,
    /// Its controllers.
    pub controllers: Vec<ActiveAddress>,
    /// What is beside each connection to a controller.
    pub auxiliaries: Vec<Auxiliary>,
    /// Where it listens.
    pub listen: Vec<PassiveAddress>,
    /// Its certificate and CAs, if it speaks TLS.
    pub tls: Option<Tls>,
    /// What it does without a controller.
    pub fail_mode: FailMode,
    /// How many tables it has, of how many entries.
    pub tables: bofuss_datapath::Config,
    /// What its tables can do; everything if `None`.
    pub profile: Option<Profile>,
    /// The files that all this comes from.
    pub files: Vec<PathBuf>,
    /// After how much silence a peer is asked.
    pub probe_interval: Duration,
    /// The longest wait between tries to connect.
    pub max_backoff: Duration,
    /// How many messages are served a second,
    pub message_rate: Option<Rate>,
    /// and how many packet-ins sent.
    pub packet_in_rate: Option<Rate>,
    /// Where metrics are asked for.
    pub metrics: Option<Address>,
    /// Whether interfaces with addresses are taken.
    pub take_over: bool,
    /// Whether it gives up all rights when everything is open.
    pub lock_down: bool,
    /// Where captures go.
    pub capture_folder: Option<PathBuf>,
    /// Whether short frames are padded.
    pub pad_runts: bool,
}

impl Config {
    /// How its interfaces are opened.
    pub fn port_options(&self) -> AfPacketOptions {
        AfPacketOptions {
            take_over: self.take_over,
            pad_runts: self.pad_runts,
            keeps_spares: self.lock_down,
            ..AfPacketOptions::default()
        }
    }
}

impl Options {
    /// Reads the file, if one is named, lets the command line count before it, and checks all.
    ///
    /// Errors: one sentence that says what is wrong, where, and what would be right.
    pub fn resolve(&self) -> Result<Config, String> {
        self.merge()?.check()
    }

    /// The command line over the file, if one is named. The file must be right by itself.
    ///
    /// Errors: what is wrong in the file, and in which line.
    pub fn merge(&self) -> Result<Self, String> {
        match &self.config {
            Some(path) => Ok(self.clone().over(read(path)?)),
            None => Ok(self.clone()),
        }
    }

    fn over(self, file: Self) -> Self {
        let list = |own: Vec<String>, file| if own.is_empty() { file } else { own };
        Self {
            config: self.config,
            name: self.name.or(file.name),
            dpid: self.dpid.or(file.dpid),
            ports: list(self.ports, file.ports),
            port_rates: list(self.port_rates, file.port_rates),
            rings: list(self.rings, file.rings),
            queues: list(self.queues, file.queues),
            controllers: list(self.controllers, file.controllers),
            auxiliaries: list(self.auxiliaries, file.auxiliaries),
            listen: list(self.listen, file.listen),
            private_key: self.private_key.or(file.private_key),
            certificate: self.certificate.or(file.certificate),
            ca_cert: self.ca_cert.or(file.ca_cert),
            any_peer_name: self.any_peer_name || file.any_peer_name,
            fail_mode: self.fail_mode.or(file.fail_mode),
            tables: self.tables.or(file.tables),
            max_entries: self.max_entries.or(file.max_entries),
            max_total_entries: self.max_total_entries.or(file.max_total_entries),
            datapath: self.datapath.or(file.datapath),
            select: self.select.or(file.select),
            group_select: list(self.group_select, file.group_select),
            seed: self.seed.or(file.seed),
            profile: self.profile.or(file.profile),
            inactivity_probe: self.inactivity_probe.or(file.inactivity_probe),
            max_backoff: self.max_backoff.or(file.max_backoff),
            message_rate: self.message_rate.or(file.message_rate),
            packet_in_rate: self.packet_in_rate.or(file.packet_in_rate),
            packet_in_burst: self.packet_in_burst.or(file.packet_in_burst),
            metrics: self.metrics.or(file.metrics),
            take_over: self.take_over || file.take_over,
            lock_down: self.lock_down || file.lock_down,
            capture_folder: self.capture_folder.or(file.capture_folder),
            no_pad: self.no_pad || file.no_pad,
        }
    }

    /// Checks every value.
    ///
    /// Errors: one sentence, which begins with the option.
    pub fn check(self) -> Result<Config, String> {
        let profile = self.profile.as_deref().map(Profile::read).transpose()?;
        let tables = table_sizes(&self, profile.as_ref())?;
        let tls = tls(&self)?;
        let auxiliaries = addresses("--aux", &self.auxiliaries)?;
        if auxiliaries.len() > MAX_AUXILIARIES {
            return Err(format!("--aux: at most {MAX_AUXILIARIES} of them"));
        }
        let name = self.name.unwrap_or_else(|| "s0".into());
        rundir::check_name(&name)?;
        let fail_mode = match self.fail_mode.as_deref() {
            Some("secure") => FailMode::Secure,
            Some("standalone") => FailMode::Standalone,
            Some(other) => {
                return Err(format!("--fail-mode {other}: it is secure or standalone"));
            }
            None if self.controllers.is_empty() => FailMode::Standalone,
            None => FailMode::Secure,
        };
        let mut ports = number_ports(&self.ports)?;
        self.port_rates
            .iter()
            .try_for_each(|text| port_rate(text, &mut ports))?;
        self.rings
            .iter()
            .try_for_each(|text| ring(text, &mut ports))?;
        let queues = self.queues.iter().map(|text| queue(text, &mut ports));
        let queues = queues.collect::<Result<_, _>>()?;
        let capture_folder = self.capture_folder.map(|folder| {
            let found = folder.canonicalize();
            found.map_err(|error| format!("--capture-folder {}: {error}", folder.display()))
        });
        let tls_files = [self.private_key, self.certificate, self.ca_cert];
        let files = tls_files.into_iter().chain([self.config, self.profile]);
        Ok(Config {
            desc: description(&name),
            name,
            datapath_id: self.dpid.as_deref().map(datapath_id).transpose()?,
            queues,
            ports,
            controllers: addresses("--controller", &self.controllers)?,
            auxiliaries,
            listen: addresses("--listen", &self.listen)?,
            tls,
            fail_mode,
            tables,
            profile,
            files: files.flatten().collect(),
            probe_interval: Duration::from_secs(self.inactivity_probe.unwrap_or(5)),
            max_backoff: Duration::from_secs(self.max_backoff.unwrap_or(8).max(1)),
            message_rate: rate("--message-rate", self.message_rate, None)?,
            packet_in_rate: rate(
                "--packet-in-rate",
                self.packet_in_rate,
                self.packet_in_burst,
            )?,
            metrics: addresses("--metrics", self.metrics.as_slice())?.pop(),
            take_over: self.take_over,
            lock_down: self.lock_down,
            capture_folder: capture_folder.transpose()?,
            pad_runts: !self.no_pad,
        })
    }
}

/// Options in one line, as a program tells them to another.
pub fn to_line(options: &Options) -> String {
    let table = toml::Value::try_from(options);
    table
        .expect("options are strings, numbers, booleans and lists of these")
        .to_string()
}

/// Reads such a line. Errors: what is wrong in it.
pub fn from_line(line: &str) -> Result<Options, String> {
    let table: toml::Value =
        toml::from_str(&format!("line = {line}")).map_err(|e| e.to_string())?;
    let options = table.get("line").cloned().unwrap_or(table);
    options.try_into().map_err(|error| error.to_string())
}

/// So many a second, and at once a quarter of them if nothing is said. Errors: none, or a burst
/// alone.
fn rate(option: &str, per_second: Option<u32>, burst: Option<u32>) -> Result<Option<Rate>, String> {
    let rate = |per_second| Rate {
        per_second,
        burst: burst.unwrap_or(per_second / 4),
    };
    match per_second {
        Some(0) => Err(format!("{option} 0: at least 1")),
        None if burst.is_some() => Err(format!("{option} is missing, and its burst is there")),
        given => Ok(given.map(rate)),
    }
}

fn description(name: &str) -> Desc {
    Desc {
        mfr_desc: "bofuss".into(),
        hw_desc: "user space".into(),
        sw_desc: env!("CARGO_PKG_VERSION").into(),
        serial_num: "none".into(),
        dp_desc: name.into(),
    }
}

fn read(path: &Path) -> Result<Options, String> {
    let named = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
    let options: Options = toml::from_str(&text).map_err(|error| named(&error))?;
    match options.clone().check() {
        Ok(_) => Ok(options),
        Err(error) => Err(format!("{}{}", path.display(), in_file(&text, &error))),
    }
}

/// Turns the sentence that [`Options::check`] says of an option into one about the line of `text`
/// that sets it: the one with the wrong value, as far as it can be found.
fn in_file(text: &str, error: &str) -> String {
    let (option, rest) = error.split_once(' ').unwrap_or((error, ""));
    let key = option.trim_start_matches('-');
    let sets = |line: &str| line.split('=').next().is_some_and(|k| k.trim() == key);
    let first = text.lines().position(sets).unwrap_or(0);
    // A list may have its values in lines of their own, in quotes: the longest that is told of.
    let told = |line: &str| {
        let values = line.split(['\'', '"']).skip(1).step_by(2);
        values.filter(|v| rest.contains(v)).map(str::len).max()
    };
    let lines = text.lines().enumerate().skip(first);
    let wrong = lines.max_by_key(|(_, line)| told(line));
    let at = wrong
        .filter(|(_, line)| told(line).is_some())
        .map_or(first, |(at, _)| at);
    format!(", line {}: {key} {rest}", at + 1)
}

/// What TLS needs, if its files are named.
fn tls(options: &Options) -> Result<Option<Tls>, String> {
    let files = (&options.private_key, &options.certificate, &options.ca_cert);
    match files {
        (Some(private_key), Some(certificate), Some(ca_cert)) => Tls::load(TlsFiles {
            private_key: private_key.clone(),
            certificate: certificate.clone(),
            ca_cert: ca_cert.clone(),
            any_peer_name: options.any_peer_name,
        })
        .map(Some),
        (None, None, None) => {
            let all = options.controllers.iter().chain(&options.listen);
            let mut all = all.chain(&options.auxiliaries);
            match all.find(|text| text.starts_with("ssl") || text.starts_with("pssl")) {
                Some(text) => Err(format!(
                    "{text} needs --private-key, --certificate and --ca-cert"
                )),
                None => Ok(None),
            }
        }
        _ => Err("TLS needs all of --private-key, --certificate and --ca-cert".into()),
    }
}

fn addresses<T: FromStr<Err: fmt::Display>>(
    option: &str,
    list: &[String],
) -> Result<Vec<T>, String> {
    let parse = |text: &String| text.parse().map_err(|error| format!("{option} {error}"));
    list.iter().map(parse).collect()
}

/// A datapath id: `0x` and hexadecimal, or hexadecimal digits alone, as other switches write it.
fn datapath_id(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text).replace(':', "");
    match u64::from_str_radix(&digits, 16) {
        Ok(id) if id != 0 && digits.len() <= 16 => Ok(id),
        _ => Err(format!(
            "--dpid {text}: it is 1 to 16 hexadecimal digits, not all zero, as 0x1"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_datapath::{QueueSpec, Rate};
    use bofuss_oflib::PortNo;

    fn options(ports: &[&str]) -> Options {
        Options {
            ports: ports.iter().map(|p| p.to_string()).collect(),
            ..Options::default()
        }
    }

    #[test]
    fn ports_are_numbered_by_place_unless_they_say() {
        let config = options(&["a", "7=b", "tap:c", "local=tap:d"])
            .resolve()
            .expect("is right");
        let numbers: Vec<u32> = config.ports.iter().map(|port| port.number.0).collect();
        assert_eq!(numbers, [1, 7, 3, PortNo::LOCAL.0]);
    }

    #[test]
    fn a_number_or_interface_twice_is_refused() {
        assert!(options(&["2=a", "b"]).resolve().is_err());
        assert!(options(&["a", "a"]).resolve().is_err());
    }

    #[test]
    fn without_controller_the_switch_stands_alone() {
        assert_eq!(
            options(&[]).resolve().expect("is right").fail_mode,
            FailMode::Standalone
        );
        let mut led = options(&[]);
        led.controllers.push("tcp:127.0.0.1".into());
        assert_eq!(led.resolve().expect("is right").fail_mode, FailMode::Secure);
    }

    #[test]
    fn as_many_auxiliary_connections_as_there_are_numbers() {
        for (count, right) in [(MAX_AUXILIARIES, true), (MAX_AUXILIARIES + 1, false)] {
            let mut many = options(&[]);
            many.auxiliaries = vec!["udp".into(); count];
            assert_eq!(many.resolve().is_ok(), right);
        }
        for wrong in ["dtls", "tcp:0", "udp:", "ssl"] {
            let mut one = options(&[]);
            one.auxiliaries.push(wrong.into());
            assert!(one.resolve().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rate_is_not_0_and_a_burst_is_a_quarter_of_it_unless_it_is_given() {
        let rates = |packet_in_rate, packet_in_burst| {
            let given = Options {
                message_rate: packet_in_rate,
                packet_in_rate,
                packet_in_burst,
                ..Options::default()
            };
            let config = given.resolve();
            config.map(|config| [config.message_rate, config.packet_in_rate])
        };
        let rate = |per_second, burst| Some(bofuss_channel::Rate { per_second, burst });
        let right = [rate(100, 25), rate(100, 25)];
        assert_eq!(rates(Some(100), None), Ok(right));
        let right = [rate(100, 25), rate(100, 7)];
        assert_eq!(rates(Some(100), Some(7)), Ok(right));
        assert_eq!(rates(None, None), Ok([None, None]));
        assert_eq!(
            rates(Some(0), None),
            Err("--message-rate 0: at least 1".into())
        );
        assert!(rates(None, Some(7)).is_err());
    }

    #[test]
    fn tls_needs_its_three_files() {
        for (list, key) in [("ssl:h", None), ("tcp:h", Some("k.pem"))] {
            let mut half = options(&[]);
            half.controllers.push(list.into());
            half.private_key = key.map(Into::into);
            let error = half.resolve().expect_err("files are missing");
            assert!(error.contains("--ca-cert"), "{error}");
        }
        let mut named = options(&[]);
        named.private_key = Some("/none.pem".into());
        named.certificate = named.private_key.clone();
        named.ca_cert = named.private_key.clone();
        let error = named.resolve().expect_err("they are not there");
        assert!(error.starts_with("/none.pem: "), "{error}");
    }

    #[test]
    fn the_file_takes_the_same_keys_and_the_command_line_counts_first() {
        let file: Options = toml::from_str("name = 'x'\nport = ['a', 'b']\nfail-mode = 'secure'")
            .expect("is valid");
        let merged = Options {
            name: Some("y".into()),
            ..Options::default()
        }
        .over(file);
        let config = merged.check().expect("is right");
        assert_eq!((config.name.as_str(), config.ports.len()), ("y", 2));
        assert!(
            toml::from_str::<Options>("ports = []").is_err(),
            "an unknown key is refused"
        );
    }

    #[test]
    fn rates_rings_and_queues_belong_to_ports() {
        let mut own = options(&["a", "b"]);
        own.port_rates.push("2=10M".into());
        own.queues = ["1:3:max=500k", "2:1:200", "2:0"]
            .map(String::from)
            .to_vec();
        let config = own.clone().resolve().expect("is right");
        assert_eq!(config.ports[1].rate_kbps, Some(10_000));
        assert_eq!(config.queues[0].spec.max, Some(Rate::Kbps(500)));
        assert_eq!(config.queues[1].spec.min, Some(Rate::PerMille(200)));
        assert_eq!(config.queues[2].spec, QueueSpec::default());
        for wrong in [
            "3:1:max=1M",
            "1",
            "1:x:max=1M",
            "1:1:max=1001",
            "1:1:maximum=1M",
        ] {
            let queues = vec![wrong.to_string()];
            let options = Options {
                queues,
                ..own.clone()
            };
            assert!(options.resolve().is_err(), "{wrong}");
        }
        own.rings = ["4096", "2=0"].map(String::from).to_vec();
        let config = own.clone().resolve().expect("is right");
        let slots: Vec<_> = config.ports.iter().map(|port| port.ring_slots).collect();
        assert_eq!(slots, [Some(4096), Some(0)]);
        for wrong in ["65537", "x", "3=1", "1="] {
            let rings = vec![wrong.to_string()];
            let options = Options {
                rings,
                ..own.clone()
            };
            assert!(options.resolve().is_err(), "{wrong}");
        }
        own.port_rates.push("3=10M".into());
        assert!(own.resolve().is_err(), "there is no port 3");
    }

    #[test]
    fn d16_datapath_ids_are_hexadecimal() {
        assert_eq!(datapath_id("0x1f"), Ok(0x1f));
        assert_eq!(datapath_id("000000000010"), Ok(0x10));
        assert!(datapath_id("0").is_err() && datapath_id("12345678901234567").is_err());
    }
}
