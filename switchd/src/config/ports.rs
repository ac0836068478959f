//! Ports, their rates and their queues as a configuration has them.

use std::fmt;
use std::path::PathBuf;

use bofuss_datapath::QueueSpec;
use bofuss_ext::queues;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{PortNo, text};
use bofuss_ports::AfPacketOptions;

use super::Options;
use crate::error::{Error, Result, context};

/// Most slots of a receive ring; of 2 KiB each, they take 128 MiB.
const MAX_RING_SLOTS: usize = 65_536;

/// A port that P4 programs may have, and OpenFlow has not.
const P4_FIRST: PortNo = PortNo(0);

/// The source and the sink of a port's frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// An existing network interface.
    Interface(String),
    /// A TAP interface, made if it is not there.
    Tap(String),
    /// A TUN interface, made if it is not there: its packets have no Ethernet header.
    Tun(String),
    /// Frames from a capture file, and sent ones to another.
    Pcap(PathBuf, Option<PathBuf>),
}

/// A port to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// Its number.
    pub number: PortNo,
    /// Its kind.
    pub kind: PortKind,
    /// Its rate in kb/s; `None` for that of its interface.
    pub rate_kbps: Option<u32>,
    /// The options by which it is opened, if it is an interface.
    pub options: AfPacketOptions,
}

impl PortSpec {
    /// Returns true if `word` names this port: its number, its interface, or its kind as `--port`
    /// has it.
    pub fn is_named(&self, word: &str) -> bool {
        let names = [self.number.to_string(), self.kind.to_string()];
        self.kind.interface() == Some(word) || names.iter().any(|name| name == word)
    }
}

impl PortKind {
    /// The name that controllers see: the interface's, or that of the file with received frames.
    pub fn name(&self) -> String {
        match self {
            Self::Interface(name) | Self::Tap(name) | Self::Tun(name) => name.clone(),
            Self::Pcap(input, _) => input
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        }
    }

    /// The interface that a port is or makes.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::Interface(name) | Self::Tap(name) | Self::Tun(name) => Some(name),
            Self::Pcap(..) => None,
        }
    }
}

/// A queue to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfiguredQueue {
    /// Its port.
    pub port: PortNo,
    /// Its number.
    pub id: QueueId,
    /// Its rates, priority and weight.
    pub spec: QueueSpec,
}

impl fmt::Display for PortKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Tap(name) => write!(f, "tap:{name}"),
            Self::Tun(name) => write!(f, "tun:{name}"),
            Self::Pcap(input, _) => write!(f, "pcap:{}", input.display()),
        }
    }
}

/// Reads ports with their rates and rings, and their queues.
///
/// Errors: what is wrong with one.
pub fn ports_and_queues(
    options: &Options,
    port_options: AfPacketOptions,
) -> Result<(Vec<PortSpec>, Vec<ConfiguredQueue>)> {
    let mut ports = number_ports(options.ports.iter().cloned(), port_options)?;
    if let Some(port) = ports.iter().find(|port| port.number == P4_FIRST)
        && options.p4.is_none()
        && options.p4runtime.is_none()
    {
        return Err(no_number(&format!("--port 0={}", port.kind)));
    }
    for text in &options.port_rates {
        port_rate(text, &mut ports)?;
    }
    for text in &options.rings {
        ring(text, &mut ports)?;
    }
    let mut queues = Vec::new();
    for text in &options.queues {
        queues.push(queue(text, &mut ports)?);
    }
    Ok((ports, queues))
}

/// The ports of these options, with their numbers. Errors: as they have.
pub fn ports(options: &Options) -> Result<Vec<PortSpec>> {
    number_ports(options.ports.iter().cloned(), AfPacketOptions::default())
}

/// Reads ports. A port without a number gets its place in the list, from 1 on.
///
/// Errors: what is wrong with one, or which it collides with.
pub(super) fn number_ports(
    specs: impl Iterator<Item = String>,
    options: AfPacketOptions,
) -> Result<Vec<PortSpec>> {
    let mut ports: Vec<PortSpec> = Vec::new();
    for (place, spec) in (1..).zip(specs) {
        ports.push(add_port(&ports, place, &spec, options)?);
    }
    Ok(ports)
}

/// Reads one more port. If `spec` has no number, it is `place`.
///
/// Errors: what is wrong with it, or which of `ports` it collides with.
fn add_port(
    ports: &[PortSpec],
    place: u32,
    spec: &str,
    options: AfPacketOptions,
) -> Result<PortSpec> {
    let (number, kind) = match spec.split_once('=') {
        Some(("0", kind)) => (P4_FIRST, kind),
        Some((number, kind)) => (port_number(&format!("--port {spec}"), number)?, kind),
        None => (PortNo(place), spec),
    };
    let kind = port_kind(spec, kind)?;
    if ports.iter().any(|port| port.number == number) {
        return Err(format!("--port {spec}: there is a port {number} already").into());
    }
    if ports.iter().any(|port| port.kind == kind) {
        return Err(format!("--port {spec}: {kind} is a port already").into());
    }
    Ok(PortSpec {
        number,
        kind,
        rate_kbps: None,
        options,
    })
}

/// Parses a port number or `local`. Errors: it is neither.
pub(super) fn port_number(option: &str, number: &str) -> Result<PortNo> {
    let named = if number == "local" {
        Ok(PortNo::LOCAL)
    } else {
        text::parse_port(number)
    };
    match named {
        Ok(port) if port.is_port() => Ok(port),
        _ => Err(no_number(option)),
    }
}

/// The error of a port number that is none in OpenFlow.
fn no_number(option: &str) -> Error {
    format!("{option}: a port number is 1 to {} or local", PortNo::MAX.0).into()
}

/// The port that a word names: by its number, or else by its name, so that an interface whose name
/// is a number hides no port.
pub fn port_of<'p>(ports: &'p [PortSpec], word: &str) -> Option<&'p PortSpec> {
    let number = port_number("", word).ok();
    let numbered = ports.iter().find(|port| Some(port.number) == number);
    numbered.or_else(|| ports.iter().find(|port| port.is_named(word)))
}

/// The port that a word names. Errors: there is none.
fn port_named<'a>(option: &str, word: &str, ports: &'a mut [PortSpec]) -> Result<&'a mut PortSpec> {
    let number = number_of(option, word, ports)?;
    let port = ports.iter_mut().find(|port| port.number == number);
    port.ok_or_else(|| format!("{option}: there is no port {number}").into())
}

/// This number of a port, as a wrong one would leave the port that is meant without what is set.
/// The configuration of a record names no ports: they come while it is played.
///
/// Errors: there is no such port.
pub(super) fn existing(option: &str, number: PortNo, ports: &[PortSpec]) -> Result<PortNo> {
    if ports.is_empty() || ports.iter().any(|port| port.number == number) {
        return Ok(number);
    }
    Err(format!("{option}: there is no port {number}").into())
}

/// The number of a port, which need not be there, or of the port with this name.
///
/// Errors: it is neither.
pub(super) fn number_of(option: &str, word: &str, ports: &[PortSpec]) -> Result<PortNo> {
    port_of(ports, word).map_or_else(
        || {
            let number = port_number(&format!("{option}: there is no port '{word}'"), word);
            number.map_err(|error| error.map(|text| format!("{text}, or the name of a port")))
        },
        |port| Ok(port.number),
    )
}

/// Settings of ports, as `PORT=VALUE`, with numbers instead of names.
pub(super) fn numbered(settings: &[String], ports: &[PortSpec]) -> Vec<String> {
    let numbered = settings.iter().map(|text| {
        let (word, rest) = text.split_once('=')?;
        let port = port_of(ports, word)?;
        Some(format!("{}={rest}", port.number))
    });
    numbered
        .zip(settings)
        .map(|(text, given)| text.unwrap_or_else(|| given.clone()))
        .collect()
}

/// The ports of changed options, in which a port that stays has the number that it has in `old`
/// unless it is given another one. New ports have their place, or the first number that is free.
///
/// Errors: what is wrong with a port.
pub fn with_kept_numbers(options: &Options, old: &Options) -> Result<Vec<String>> {
    let old = ports(old)?;
    let given = options.ports.iter().filter(|spec| spec.contains('='));
    let mut taken: Vec<PortNo> = number_ports(given.cloned(), AfPacketOptions::default())?
        .iter()
        .map(|port| port.number)
        .collect();
    let mut numbers = Vec::new();
    for spec in &options.ports {
        let kind = port_kind(spec, spec).ok();
        let kept = old.iter().find(|port| Some(&port.kind) == kind.as_ref());
        let kept = kept.map(|port| port.number);
        let kept = kept.filter(|number| !spec.contains('=') && !taken.contains(number));
        taken.extend(kept);
        numbers.push(kept);
    }
    let specs = (1..).zip(options.ports.iter().zip(numbers));
    let numbered = specs.map(|(place, (spec, kept))| {
        let is_free = |number: &u32| !taken.contains(&PortNo(*number));
        let number = match kept {
            _ if spec.contains('=') => return spec.clone(),
            Some(number) => number,
            None => PortNo(
                [place]
                    .into_iter()
                    .chain(1..)
                    .find(is_free)
                    .unwrap_or(place),
            ),
        };
        taken.push(number);
        if number.0 == place {
            spec.clone()
        } else {
            format!("{number}={spec}")
        }
    });
    Ok(numbered.collect())
}

/// Sets the rate of one of `ports` as `text` says. Errors: what is wrong with it.
pub(super) fn port_rate(text: &str, ports: &mut [PortSpec]) -> Result<()> {
    let option = format!("--port-rate {text}");
    let parts = text.split_once('=');
    let (number, rate) = parts.ok_or_else(|| format!("{option}: it is PORT=RATE, as 2=10M"))?;
    let kbps = queues::parse_kbps(rate).map_err(context(&option))?;
    port_named(&option, number, ports)?.rate_kbps = Some(kbps);
    Ok(())
}

/// Sets the ring of one of `ports`, or of all, as `text` says. Errors: what is wrong with it.
pub(super) fn ring(text: &str, ports: &mut [PortSpec]) -> Result<()> {
    let option = format!("--ring {text}");
    let (number, count) = match text.split_once('=') {
        Some((number, count)) => (Some(number), count),
        None => (None, text),
    };
    let slots = count
        .parse()
        .ok()
        .filter(|slots| *slots <= MAX_RING_SLOTS)
        .ok_or_else(|| format!("{option}: a ring has 0 to {MAX_RING_SLOTS} slots"))?;
    match number {
        Some(number) => port_named(&option, number, ports)?.options.ring_slots = slots,
        None => ports
            .iter_mut()
            .for_each(|port| port.options.ring_slots = slots),
    }
    Ok(())
}

/// Reads a queue of one of `ports`. Errors: what is wrong with it.
pub(super) fn queue(text: &str, ports: &mut [PortSpec]) -> Result<ConfiguredQueue> {
    let option = format!("--queue {text}");
    let mut parts = text.splitn(3, ':');
    let (Some(number), Some(id)) = (parts.next(), parts.next()) else {
        return Err(format!("{option}: it is PORT:QUEUE:max=RATE, as 2:1:max=10M").into());
    };
    let id = id
        .parse()
        .map_err(|_| format!("{option}: '{id}' is no queue number"))?;
    let spec = queues::parse(parts.next().unwrap_or_default());
    Ok(ConfiguredQueue {
        port: port_named(&option, number, ports)?.number,
        id: QueueId(id),
        spec: spec.map_err(context(option))?,
    })
}

fn port_kind(spec: &str, kind: &str) -> Result<PortKind> {
    match kind.split_once(':') {
        _ if kind.is_empty() => {
            Err(format!("--port '{spec}': no interface is named, as in --port veth1").into())
        }
        Some((kind @ ("tap" | "tun"), "")) => Err(format!(
            "--port {spec}: the interface has no name, as in --port {kind}:lan0"
        )
        .into()),
        Some(("tap", name)) => Ok(PortKind::Tap(name.into())),
        Some(("tun", name)) => Ok(PortKind::Tun(name.into())),
        Some(("pcap", files)) => {
            let (input, output) = match files.split_once(',') {
                Some((input, output)) => (input, Some(output.into())),
                None => (files, None),
            };
            Ok(PortKind::Pcap(input.into(), output))
        }
        Some((other, _)) => Err(format!(
            "--port {spec}: '{other}:' is no kind of port; \
             there are INTERFACE, tap:NAME, tun:NAME and pcap:IN[,OUT]"
        )
        .into()),
        None => Ok(PortKind::Interface(kind.into())),
    }
}
