//! The collectors of sFlow and IPFIX, each with its settings as words.

use std::net::IpAddr;
use std::time::Duration;

use bofuss_oflib::PortNo;

use super::Options;
use super::ports::{PortSpec, number_of};
use crate::error::{Error, Result, context};
use crate::export::{
    Collector, ExportFormat, ExportSpec, IpfixSettings, MAX_EXPORTS, Rate, SflowSettings,
};

/// The usual ports of collectors: IANA's `sflow` and `ipfix`.
const SFLOW_PORT: u16 = 6343;
const IPFIX_PORT: u16 = 4739;
/// The longest time that may be set.
const MAX_SECONDS: u64 = 24 * 3600;
/// The fewest and most bytes of a sampled header: below these there is no IP address, above them
/// no datagram.
const HEADER_BYTES: std::ops::RangeInclusive<usize> = 64..=1024;
/// The most flows of one cache, which take some 300 MB.
const MAX_FLOWS: u64 = 1 << 20;

/// Reads all exports. Errors: what is wrong with one.
pub(super) fn exports(options: &Options, ports: &[PortSpec]) -> Result<Vec<ExportSpec>> {
    let mut exports: Vec<ExportSpec> = Vec::new();
    let sflows = options.sflows.iter().map(|text| ("--sflow", text));
    let ipfixes = options.ipfixes.iter().map(|text| ("--ipfix", text));
    for (option, text) in sflows.chain(ipfixes) {
        let within = || format!("{option} {text}");
        let export = export(option, text, options, ports).map_err(context(within()))?;
        if exports
            .iter()
            .any(|other| other.to_string() == export.to_string())
        {
            return Err(format!("{}: this collector is named twice", within()).into());
        }
        if exports.len() == MAX_EXPORTS {
            let most = format!("at most {MAX_EXPORTS} collectors");
            return Err(format!("{}: {most}", within()).into());
        }
        exports.push(export);
    }
    Ok(exports)
}

/// Reads an export. Errors: what is wrong.
fn export(option: &str, text: &str, options: &Options, ports: &[PortSpec]) -> Result<ExportSpec> {
    let mut words = text.split_whitespace();
    let collector = words.next().unwrap_or_default();
    let is_sflow = option == "--sflow";
    let (usual_port, usual_rate) = if is_sflow {
        (SFLOW_PORT, 512)
    } else {
        (IPFIX_PORT, 1)
    };
    let mut spec = ExportSpec {
        collector: Collector::read(collector, usual_port)?,
        rate: Rate::new(usual_rate).expect("the usual rates are such"),
        ports: Vec::new(),
        seed: options.seed,
        format: if is_sflow { sflow() } else { ipfix() },
    };
    let mut given = Vec::new();
    for word in words {
        let setting = word.split_once('=');
        let (key, value) = setting.ok_or_else(|| format!("'{word}' is no SETTING=VALUE"))?;
        if given.contains(&key) {
            return Err(format!("{word}: {key} is there twice").into());
        }
        given.push(key);
        match (key, &mut spec.format) {
            ("rate", _) => {
                let rate = value.parse().ok().and_then(Rate::new);
                let most = Rate::MAX;
                spec.rate = rate.ok_or_else(|| format!("{word}: one in 1 to {most}"))?;
            }
            ("ports", _) => spec.ports = port_list(word, value, ports)?,
            (_, ExportFormat::Sflow(settings)) => set_sflow(settings, key, value, word)?,
            (_, ExportFormat::Ipfix(settings)) => set_ipfix(settings, key, value, word)?,
        }
    }
    Ok(spec)
}

fn sflow() -> ExportFormat {
    ExportFormat::Sflow(SflowSettings {
        header_bytes: 128,
        poll: Some(Duration::from_secs(20)),
        agent: None,
        sub_agent: None,
    })
}

fn ipfix() -> ExportFormat {
    ExportFormat::Ipfix(IpfixSettings {
        active: Duration::from_secs(60),
        idle: Duration::from_secs(15),
        max_flows: 65_536,
        templates: Duration::from_secs(60),
        domain: None,
    })
}

fn set_sflow(settings: &mut SflowSettings, key: &str, value: &str, word: &str) -> Result<()> {
    match key {
        "poll" if value == "0" => settings.poll = None,
        "poll" => settings.poll = Some(seconds(word, value, 0)?),
        "header" => {
            let bytes = value
                .parse()
                .ok()
                .filter(|count| HEADER_BYTES.contains(count));
            let (least, most) = (HEADER_BYTES.start(), HEADER_BYTES.end());
            settings.header_bytes =
                bytes.ok_or_else(|| format!("{word}: {least} to {most} bytes"))?;
        }
        "agent" => {
            let address = value.parse().ok();
            let address = address.filter(|address: &IpAddr| !address.is_unspecified());
            let wrong = || format!("{word}: it is not the IP address of an agent");
            settings.agent = Some(address.ok_or_else(wrong)?);
        }
        "sub-agent" => settings.sub_agent = Some(number(word, value)?),
        _ => {
            let known = "rate, poll, header, ports, agent and sub-agent";
            return Err(unknown(key, known));
        }
    }
    Ok(())
}

fn set_ipfix(settings: &mut IpfixSettings, key: &str, value: &str, word: &str) -> Result<()> {
    match key {
        "active" => settings.active = seconds(word, value, 1)?,
        "idle" => settings.idle = seconds(word, value, 1)?,
        "templates" => settings.templates = seconds(word, value, 1)?,
        "domain" => settings.domain = Some(number(word, value)?),
        "flows" => {
            let count = value.parse().ok();
            let count = count.filter(|count| (1..=MAX_FLOWS).contains(count));
            settings.max_flows = count.ok_or_else(|| format!("{word}: 1 to {MAX_FLOWS} flows"))?;
        }
        _ => {
            let known = "active, idle, flows, templates, rate, ports and domain";
            return Err(unknown(key, known));
        }
    }
    Ok(())
}

/// The ports that a list names. Errors: there is no such port, or one is there twice.
fn port_list(setting: &str, list: &str, ports: &[PortSpec]) -> Result<Vec<PortNo>> {
    let mut numbers = Vec::new();
    for word in list.split(',') {
        let number = number_of(setting, word, ports)?;
        if !ports.iter().any(|port| port.number == number) {
            return Err(format!("{setting}: there is no port {number}").into());
        }
        if numbers.contains(&number) {
            return Err(format!("{setting}: port {number} is there twice").into());
        }
        numbers.push(number);
    }
    Ok(numbers)
}

fn unknown(key: &str, known: &str) -> Error {
    format!("there is no setting '{key}'; there are {known}").into()
}

/// A number of 32 bits. Errors: it is none.
fn number(word: &str, value: &str) -> Result<u32> {
    let number = value.parse();
    number.map_err(|_| format!("{word}: it is not a number from 0 to {}", u32::MAX).into())
}

/// A time of whole seconds. Errors: fewer than `least`, or too many.
fn seconds(word: &str, value: &str, least: u64) -> Result<Duration> {
    let seconds = value.parse().ok();
    let seconds = seconds.filter(|seconds| (least..=MAX_SECONDS).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("{word}: {least} to {MAX_SECONDS} seconds"))?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sflow: &str, ipfix: &str) -> Result<Vec<ExportSpec>> {
        let list = |text: &str| Vec::from_iter((!text.is_empty()).then(|| text.to_string()));
        let options = Options {
            ports: vec!["veth1".into(), "veth2".into()],
            sflows: list(sflow),
            ipfixes: list(ipfix),
            ..Options::default()
        };
        options.check().map(|config| config.exports)
    }

    #[test]
    fn collectors_are_names_and_addresses_of_both_versions() {
        for (text, wanted) in [
            ("here", "sflow here:6343"),
            ("192.0.2.1:9", "sflow 192.0.2.1:9"),
            ("2001:db8::1", "sflow [2001:db8::1]:6343"),
            ("[2001:db8::1]:9 rate=1", "sflow [2001:db8::1]:9"),
        ] {
            assert_eq!(read(text, "").unwrap()[0].to_string(), wanted);
        }
        let both = read("::1 ports=2,veth1", "::1 active=1 idle=2 flows=3 domain=4").unwrap();
        assert_eq!(both[0].ports, [PortNo(2), PortNo(1)]);
        assert_eq!(both[1].to_string(), "ipfix [::1]:4739");
        assert_eq!((both[0].rate.packets(), both[1].rate.packets()), (512, 1));
    }

    #[test]
    fn wrong_settings_are_named() {
        for (text, wanted) in [
            ("", "'' is no HOST[:PORT]"),
            ("a:b", "'a:b' is no HOST[:PORT]"),
            ("a:0", "'a:0' is no HOST[:PORT]"),
            ("rate=1", "'rate=1' is no HOST[:PORT]"),
            ("[::1", "'[::1' is no HOST[:PORT]"),
            ("a quick", "'quick' is no SETTING=VALUE"),
            ("a rate=0", "rate=0: one in 1 to 16777216"),
            ("a poll=x", "poll=x: 0 to 86400 seconds"),
            ("a poll=86401", "poll=86401: 0 to 86400 seconds"),
            ("a rate=1 poll=2 rate=2", "rate=2: rate is there twice"),
            ("0.0.0.0", "'0.0.0.0' is no address of a collector"),
            ("::", "'::' is no address of a collector"),
            ("[::]:9", "'[::]:9' is no address of a collector"),
            ("a header=63", "header=63: 64 to 1024 bytes"),
            ("a agent=b", "agent=b: it is not the IP address of an agent"),
            (
                "a agent=::",
                "agent=::: it is not the IP address of an agent",
            ),
            (
                "a sub-agent=4294967296",
                "sub-agent=4294967296: it is not a number from 0 to 4294967295",
            ),
            (
                "a active=1",
                "there is no setting 'active'; there are rate, poll",
            ),
            ("a ports=3", "there is no port 3"),
            (
                "a ports=veth7",
                "ports=veth7: there is no port 'veth7': a port number is 1 to",
            ),
            ("a ports=1,1", "ports=1,1: port 1 is there twice"),
        ] {
            let options = Options {
                sflows: vec![text.into()],
                ports: vec!["veth1".into()],
                ..Options::default()
            };
            let said = options.check().unwrap_err().text;
            assert!(
                said.starts_with("--sflow") && said.contains(wanted),
                "{said}"
            );
        }
        for (text, wanted) in [
            ("a flows=0", "flows=0: 1 to 1048576 flows"),
            ("a idle=0", "idle=0: 1 to 86400 seconds"),
            ("a idle=1 idle=1", "idle=1: idle is there twice"),
            (
                "a domain=4294967296",
                "domain=4294967296: it is not a number from 0 to 4294967295",
            ),
        ] {
            let said = read("", text).unwrap_err().text;
            assert!(said.contains(wanted), "{said}");
        }
        let twice = Options {
            sflows: vec!["a".into(), "a:6343 rate=1".into()],
            ..Options::default()
        };
        let said = twice.check().unwrap_err().text;
        assert!(said.contains("this collector is named twice"), "{said}");
    }
}
