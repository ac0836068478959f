//! A switch's configuration: its options, checked, and the files that they name, read. Ports and
//! sockets are not opened yet.

mod accelerate;
mod addresses;
mod copiers;
mod exports;
pub mod extensions;
mod file;
mod options;
pub mod p4;
mod ports;
mod state;
mod tables;
mod vlans;
mod workers;
mod written;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bofuss_agent::FailMode;
use bofuss_channel::{
    ActiveAddress, Auxiliary, MAX_AUXILIARIES, PassiveAddress, RateLimit, Tls, TlsFiles, shortened,
};
use bofuss_datapath::DispatchBy;
use bofuss_embed::record::FrameDetail;
use bofuss_oflib::message::multipart::Desc;
use bofuss_oflib::text::add_field;
use bofuss_oflib::{Catalogue, Version};
use bofuss_ports::AfPacketOptions;

use crate::dataplane::BundleClock;
use crate::error::{Error, Result, context};
use crate::export::ExportSpec;
use crate::metrics::Address;
use crate::past::PastMoment;
use crate::profile::Profile;
use crate::{log, rundir};

use addresses::{addresses, controllers};
use copiers::{capture_folder, copiers};
use ports::{numbered, ports_and_queues};
use tables::datapath_config;

pub use accelerate::{Accelerate, AccelerateOptions};
pub use copiers::{ConfiguredCopier, OF_MESSAGES, is_of_messages};
pub use file::{
    OF_ALL, each, from_line, from_table, in_file, over, parsed, read, table, to_line, unknown_key,
};
pub use options::{Options, device_ids};
pub use p4::P4Program;
pub use ports::{ConfiguredQueue, PortKind, PortSpec, port_of, ports, with_kept_numbers};
pub use state::StateOptions;
pub use tables::{address, station};
pub use written::written;

/// Why a switch of the past takes no ports, no controllers, and no successor.
pub const STANDS_STILL: &str = "the switch stands still at a moment of the past";
/// A switch's name unless it is given one.
pub const DEFAULT_NAME: &str = "s0";
/// The default log level.
pub const DEFAULT_LEVEL: &str = "info";

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The switch's name.
    pub name: String,
    /// True if the name was configured. Otherwise the switch takes the next name that is free.
    pub is_named: bool,
    /// Its datapath id; `None` takes the MAC address of the first port.
    pub datapath_id: Option<u64>,
    /// The description of itself for controllers.
    pub desc: Desc,
    /// Its ports.
    pub ports: Vec<PortSpec>,
    /// The queues of its ports.
    pub queues: Vec<ConfiguredQueue>,
    /// Captures and mirrors of ports.
    pub copiers: Vec<ConfiguredCopier>,
    /// Where its ports' traffic is told, by sFlow and IPFIX.
    pub exports: Vec<ExportSpec>,
    /// Files for captured messages.
    pub message_files: Vec<String>,
    /// Its controllers.
    pub controllers: Vec<ActiveAddress>,
    /// The auxiliary connections to each controller.
    pub auxiliaries: Vec<Auxiliary>,
    /// The addresses where it listens.
    pub listen: Vec<PassiveAddress>,
    /// The group whose members may use its socket in the run-time directory.
    pub socket_group: Option<u32>,
    /// Its certificate and CAs, if it speaks TLS.
    pub tls: Option<Tls>,
    /// Its behaviour without a connection to a controller.
    pub fail_mode: FailMode,
    /// True if the fail mode was configured. Otherwise it follows from whether there are
    /// controllers.
    pub has_fail_mode: bool,
    /// The fields and experimenter values that it knows.
    pub catalogue: Arc<Catalogue>,
    /// The options of its extensions, which have been checked.
    pub extensions: Vec<String>,
    /// Its tables, groups, disciplines and NORMAL: sizes and algorithms.
    pub tables: bofuss_datapath::Config,
    /// The features of its tables; `None` for all that the switch can do.
    pub profile: Option<Profile>,
    /// The files that were read, and may be read again.
    pub files: Vec<PathBuf>,
    /// The versions that it offers.
    pub versions: Vec<Version>,
    /// The time that a peer may be silent before an echo request is sent.
    pub probe_interval: Duration,
    /// The longest wait between attempts to connect.
    pub max_backoff: Duration,
    /// The number of messages of each connection that are handled per second; `None` for no limit.
    pub message_rate: Option<RateLimit>,
    /// The number of packet-ins that each connection gets per second; `None` for no limit.
    pub packet_in_rate: Option<RateLimit>,
    /// The address of the metrics.
    pub metrics: Option<Address>,
    /// The clock of scheduled commits.
    pub bundle_clock: BundleClock,
    /// The options of forwarding in the kernel.
    pub accelerate: AccelerateOptions,
    /// The number of threads that forward packets.
    pub workers: usize,
    /// By what frames are divided among them.
    pub dispatch: DispatchBy,
    /// True if it gives up all rights once everything is open.
    pub lock_down: bool,
    /// The folder for captures.
    pub capture_folder: Option<PathBuf>,
    /// Where and how often it saves its state.
    pub state: StateOptions,
    /// True if it takes the place of a running switch.
    pub replaces: bool,
    /// The past moment at which it stands still, if it does not run.
    pub past: Option<Arc<dyn PastMoment>>,
    /// The file that records the switch.
    pub record: Option<PathBuf>,
    /// The part of each frame that the record has.
    pub record_frames: FrameDetail,
    /// The P4 program that it runs instead of OpenFlow tables.
    pub p4: Option<P4Program>,
    /// The options that this configuration was made of.
    pub options: Box<Options>,
    /// The log level.
    pub log: String,
}

impl Config {
    /// Renames the switch, also in its description.
    pub fn rename(&mut self, name: String) {
        if self.desc.dp_desc == self.name.as_str().into() {
            self.desc.dp_desc = name.as_str().into();
        }
        self.name = name;
    }

    /// The options that a record has, each with its value: those that decide what the switch does
    /// with its inputs. The profile is missing: a record has it as the tables' features.
    pub fn recorded_options(&self) -> Options {
        let options = &self.options;
        Options {
            name: Some(self.name.clone()),
            fail_mode: Some(self.fail_mode.to_string()),
            tables: Some(self.tables.n_tables),
            max_entries: Some(self.tables.max_entries),
            max_total_entries: Some(self.tables.max_total_entries),
            select: options.select.clone(),
            group_select: options.group_select.clone(),
            mac_limits: numbered(&options.mac_limits, &self.ports),
            macs: numbered(&options.macs, &self.ports),
            tags: numbered(&options.tags, &self.ports),
            trunks: numbered(&options.trunks, &self.ports),
            vlan_modes: numbered(&options.vlan_modes, &self.ports),
            disciplines: numbered(&options.disciplines, &self.ports),
            fields: options.fields.clone(),
            extensions: options.extensions.clone(),
            seed: options.seed,
            datapath: options.datapath.clone(),
            ..Options::default()
        }
    }

    /// Why it cannot take the place of a running switch, nor another one its place; `None` if it
    /// can.
    pub fn why_not_handed_over(&self) -> Option<&'static str> {
        if self.past.is_some() {
            return Some(STANDS_STILL);
        }
        if self.p4.is_some() {
            return Some("a switch with a P4 program has no state that another goes on from");
        }
        if self.record.is_some() {
            return Some("a record has everything from the start of a switch without a state");
        }
        if self.workers > 1 {
            return Some("a switch with several workers is not handed over");
        }
        let mut ports = self.ports.iter();
        let is_file = |port: &PortSpec| matches!(port.kind, PortKind::Pcap(..));
        ports
            .any(is_file)
            .then_some("a port that is a capture file would begin anew")
    }

    /// Checks that this switch shares nothing with `others` of the same process. Errors: the first
    /// conflict, as a sentence that begins with the key.
    pub fn check_conflicts(&self, others: &[Self]) -> Result<()> {
        for other in others {
            let name = &other.name;
            if self.p4.is_some() || other.p4.is_some() {
                let why = "a switch with a P4 program has a process of its own";
                return Err(format!("p4: {why}: several switches of a file speak OpenFlow").into());
            }
            if self.name == *name {
                return Err(format!("--name {name}: another switch has this name already").into());
            }
            if self.datapath_id == other.datapath_id
                && let Some(id) = self.datapath_id
            {
                return Err(format!("--dpid {id:#x}: switch {name} has it already").into());
            }
            if let Some(PortSpec { kind, .. }) = self
                .ports
                .iter()
                .find(|port| other.ports.iter().any(|had| had.kind == port.kind))
            {
                return Err(format!("--port {kind}: it is a port of switch {name} already").into());
            }
            if self.record == other.record
                && let Some(record) = &self.record
            {
                let record = record.display();
                return Err(format!("--record {record}: switch {name} writes it").into());
            }
        }
        Ok(())
    }
}

impl Options {
    /// Checks all options.
    ///
    /// Errors: one sentence, which begins with the option.
    pub fn check(self) -> Result<Config> {
        // What files say may be quoted.
        let config = self.checked().map_err(|error| error.map(shortened))?;
        match config.why_not_handed_over() {
            Some(why) if config.replaces => Err(format!("--replace: {why}").into()),
            Some(_) | None => Ok(config),
        }
    }

    fn checked(self) -> Result<Config> {
        let options = Box::new(self.clone());
        let catalogue = extensions::announced(catalogue(&self.fields)?, &self.extensions)?;
        let profile = profile(self.profile.as_deref(), &catalogue)?;
        let tables = datapath_config(&self, profile.as_ref())?;
        let tls = tls(&self)?;
        let state = StateOptions::of(&self)?;
        let (ports, queues) = ports_and_queues(&self, port_options(&self))?;
        let p4 = P4Program::of(&self, &ports)?;
        let exports = exports::exports(&self, &ports)?;
        let name = self.name.unwrap_or_else(|| DEFAULT_NAME.into());
        rundir::check_name(&name)?;
        let fail_mode = fail_mode(self.fail_mode.as_deref(), !self.controllers.is_empty())?;
        let log = self.log.unwrap_or_else(|| DEFAULT_LEVEL.into());
        log::check(&log)?;
        let folder = self.capture_folder.as_deref();
        let capture_folder = folder.map(capture_folder).transpose()?;
        let (message_files, copiers) =
            copiers(&self.captures, &self.mirrors, capture_folder.as_deref())?;
        let tls_files = [self.private_key, self.certificate, self.ca_cert];
        let files = tls_files.into_iter().chain([self.config, self.profile]);
        let p4_files = p4.iter().flat_map(P4Program::files).cloned();
        Ok(Config {
            desc: description(&name),
            name,
            is_named: options.name.is_some(),
            datapath_id: self.dpid.as_deref().map(datapath_id).transpose()?,
            queues,
            ports,
            copiers,
            exports,
            message_files,
            controllers: controllers(&self.controllers)?,
            auxiliaries: auxiliaries(&self.auxiliaries)?,
            listen: addresses("--listen", &self.listen)?,
            socket_group: socket_group(self.socket_group.as_deref())?,
            tls,
            fail_mode,
            has_fail_mode: options.fail_mode.is_some(),
            catalogue: catalogue.into(),
            extensions: self.extensions,
            tables,
            profile,
            files: files.flatten().chain(p4_files).collect(),
            versions: versions(&self.versions)?,
            probe_interval: Duration::from_secs(self.inactivity_probe.unwrap_or(5).into()),
            max_backoff: Duration::from_secs(self.max_backoff.unwrap_or(8).max(1).into()),
            message_rate: rate("--message-rate", self.message_rate, None)?,
            packet_in_rate: rate(
                "--packet-in-rate",
                self.packet_in_rate,
                self.packet_in_burst,
            )?,
            metrics: addresses("--metrics", self.metrics.as_slice())?.pop(),
            bundle_clock: bundle_clock(self.bundle_clock.as_deref())?,
            accelerate: AccelerateOptions::of(self.accelerate.as_deref(), self.accelerated_flows)?,
            workers: workers::count(self.workers.as_ref(), self.record.is_some())?,
            dispatch: workers::dispatch(self.dispatch.as_deref())?,
            lock_down: self.lock_down,
            capture_folder,
            state,
            replaces: self.replace,
            past: None,
            record: self.record,
            record_frames: record_frames(self.record_frames.as_deref())?,
            p4,
            options,
            log,
        })
    }
}

/// The options of ports that are interfaces.
fn port_options(options: &Options) -> AfPacketOptions {
    AfPacketOptions {
        take_over: options.take_over,
        pad_runts: !options.no_pad,
        keeps_spares: options.lock_down,
        ..AfPacketOptions::default()
    }
}

/// The auxiliary connections. Errors: one that is wrong, or too many.
fn auxiliaries(texts: &[String]) -> Result<Vec<Auxiliary>> {
    let auxiliaries = addresses("--aux", texts)?;
    if auxiliaries.len() > MAX_AUXILIARIES {
        return Err(format!("--aux: at most {MAX_AUXILIARIES} of them").into());
    }
    Ok(auxiliaries)
}

/// The catalogue of a switch with these additional fields. Errors: a field that is wrong or
/// clashes.
pub fn catalogue(fields: &[String]) -> Result<Catalogue> {
    let mut catalogue = bofuss_ext::try_catalogue()?;
    for text in fields {
        let added = add_field(text, &mut catalogue);
        added.map_err(context(format_args!("--field {text}")))?;
    }
    Ok(catalogue)
}

/// Reads the profile. Errors: what is wrong with it.
fn profile(path: Option<&Path>, catalogue: &Catalogue) -> Result<Option<Profile>> {
    let read = path.map(|path| Profile::read(path, catalogue));
    read.transpose()
        .map_err(|error| error.map(|text| format!("--profile {text}")))
}

/// Resolves the name of a group. Errors: there is no such group.
fn socket_group(name: Option<&str>) -> Result<Option<u32>> {
    name.map(rundir::group).transpose()
}

/// Parses a fail mode. Errors: an unknown one.
fn fail_mode(name: Option<&str>, has_controllers: bool) -> Result<FailMode> {
    match name {
        Some(name) => {
            let row = FailMode::NAMES.iter().find(|row| row.1 == name);
            Ok(row
                .ok_or_else(|| format!("--fail-mode {name}: it is secure, standalone or arp-path"))?
                .0)
        }
        None if has_controllers => Ok(FailMode::Secure),
        None => Ok(FailMode::Standalone),
    }
}

/// Parses the clock of scheduled commits. Errors: an unknown name.
fn bundle_clock(name: Option<&str>) -> Result<BundleClock> {
    let clock = name.map_or(Ok(BundleClock::default()), str::parse);
    clock.map_err(context("--bundle-clock"))
}

/// Parses how much of each frame is recorded. Errors: an unknown word.
fn record_frames(name: Option<&str>) -> Result<FrameDetail> {
    let Some(name) = name else {
        return Ok(FrameDetail::default());
    };
    let row = FrameDetail::NAMES.iter().find(|row| row.1 == name);
    let found = row.ok_or_else(|| format!("--record-frames {name}: it is whole or headers"))?;
    Ok(found.0)
}

/// A rate limit; the default burst is a quarter of what it allows per second. Errors: a rate of
/// zero, or a burst without a rate.
fn rate(option: &str, per_second: Option<u32>, burst: Option<u32>) -> Result<Option<RateLimit>> {
    match per_second {
        Some(0) => Err(format!("{option} 0: at least 1").into()),
        None if burst.is_some() => Err(format!("a burst is given, but {option} is missing").into()),
        given => Ok(given.map(|per_second| RateLimit {
            per_second,
            burst: burst.unwrap_or(per_second / 4),
        })),
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

/// Loads the TLS files, if they are named.
fn tls(options: &Options) -> Result<Option<Tls>> {
    let named = [
        ("--private-key", &options.private_key),
        ("--certificate", &options.certificate),
        ("--ca-cert", &options.ca_cert),
    ];
    let files = named.map(|(_, file)| file.clone());
    let [Some(private_key), Some(certificate), Some(ca_cert)] = files else {
        let mut users = [
            ("--controller", &options.controllers),
            ("--listen", &options.listen),
            ("--aux", &options.auxiliaries),
        ]
        .into_iter()
        .flat_map(|(key, list)| list.iter().map(move |text| (key, text)));
        let user = users.find(|(_, text)| text.starts_with("ssl") || text.starts_with("pssl"));
        let half = named.iter().find(|(_, file)| file.is_some());
        return match (user, half) {
            (Some((key, text)), _) => Err(format!(
                "{key} {text}: it needs --private-key, --certificate and --ca-cert"
            )
            .into()),
            (None, Some((key, _))) => Err(format!(
                "{key}: TLS needs all of --private-key, --certificate and --ca-cert"
            )
            .into()),
            (None, None) => Ok(None),
        };
    };
    let loaded = Tls::load(TlsFiles {
        private_key,
        certificate,
        ca_cert,
        any_peer_name: options.any_peer_name,
    });
    loaded.map(Some).map_err(|error| {
        let mut named = named.iter();
        let key = named.find(|(_, file)| file.as_deref() == error.path());
        let key = key.map_or("--private-key", |(key, _)| key);
        Error::from(error).map(|text| format!("{key} {text}"))
    })
}

/// The versions of these names; all if there are none. Errors: the wrong name.
fn versions(names: &[String]) -> Result<Vec<Version>> {
    if names.is_empty() {
        return Ok(Version::SPOKEN.into());
    }
    let mut versions = Vec::new();
    for name in names {
        let version = name.parse();
        versions.push(version.map_err(context(format_args!("--versions {name}")))?);
    }
    Ok(versions)
}

/// Parses a datapath id: hexadecimal digits, with `0x` or colons as other switches write it.
fn datapath_id(text: &str) -> Result<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text).replace(':', "");
    match u64::from_str_radix(&digits, 16) {
        Ok(id) if id != 0 && digits.len() <= 16 => Ok(id),
        _ => Err(
            format!("--dpid {text}: it is 1 to 16 hexadecimal digits, not all zero, as 0x1").into(),
        ),
    }
}

#[cfg(test)]
mod tests;
