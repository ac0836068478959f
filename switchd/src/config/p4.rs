//! `--p4`: a P4 program instead of OpenFlow tables, with its entries, and the options that do not
//! go with it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bofuss_channel::read_input;
use bofuss_embed::p4::MAX_PORT;
use bofuss_embed::record::P4Input;
use bofuss_p4::{Program, Switch};
use bofuss_p4runtime::Pipeline;

use super::copiers::is_of_messages;
use super::{Options, PortSpec, table};
use crate::error::{Result, context};

/// The keys that a switch with a P4 program has. All others are OpenFlow's.
const KEYS: &[&str] = &[
    "name",
    "port",
    "port-rate",
    "queue",
    "discipline",
    "ring",
    "seed",
    "metrics",
    "capture",
    "mirror",
    "capture-folder",
    "sflow",
    "ipfix",
    "take-over",
    "lock-down",
    "no-pad",
    "log",
    "private-key",
    "certificate",
    "ca-cert",
    "record",
    "record-frames",
    "p4",
    "p4-entries",
    "p4runtime",
    "p4info",
    "p4-device-id",
    "p4-cpu-port",
];

/// Those of them that mean nothing without `p4`.
const NEEDING_P4: &[&str] = &["p4-entries", "p4info"];
/// And those that mean nothing without `p4runtime`.
const NEEDING_P4RUNTIME: &[&str] = &["p4info", "p4-device-id", "p4-cpu-port"];
/// The files of TLS, which only controllers of P4Runtime see in a switch with a program.
const TLS: &[&str] = &["private-key", "certificate", "ca-cert"];

/// Errors: one of these keys is given, without the one that it needs.
fn refuse_without(needed: &str, keys: &[&str], options: &Options) -> Result<()> {
    let given = table(options);
    match keys.iter().find(|key| given.contains_key(**key)) {
        Some(key) => Err(format!("--{key}: it needs --{needed}").into()),
        None => Ok(()),
    }
}

/// A P4 program and its entries, read and checked.
#[derive(Clone, Debug)]
pub struct P4Program {
    /// Without one, a controller sets it.
    program: Option<PathBuf>,
    entries: Option<PathBuf>,
    /// What was made of the files, until it begins to run.
    loaded: Option<LoadedSwitch>,
    /// How controllers of P4Runtime reach it, if they may.
    pub runtime: Option<RuntimeOptions>,
}

/// A switch as the files describe it.
#[derive(Clone, Debug)]
pub struct LoadedSwitch {
    /// The program with its entries.
    pub switch: Switch,
    /// What makes it, if there is to be a record.
    pub inputs: Vec<P4Input>,
}

impl LoadedSwitch {
    /// Reads the files that the options name. `switch` has their program, which is `json`; `p4info`
    /// is encoded, and empty without one. Errors: a wrong entry.
    fn new(options: &Options, program: Program, json: String, p4info: &[u8]) -> Result<Self> {
        let seed = options.seed.unwrap_or(0).into();
        let mut switch = Switch::new(program, seed);
        let mut inputs = Vec::new();
        if options.p4.is_some() && options.record.is_some() {
            inputs.push(P4Input::Program {
                seed,
                keeps: false,
                p4info: p4info.into(),
                json: json.into(),
            });
        }
        if let Some(file) = &options.p4_entries {
            let text = load_entries("--p4-entries ", file, &mut switch)?;
            if options.record.is_some() {
                inputs.push(P4Input::Entries(text.into()));
            }
        }
        Ok(Self { switch, inputs })
    }
}

/// How controllers of P4Runtime reach a switch.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Where they connect.
    pub address: SocketAddr,
    /// By what they name the switch.
    pub device_id: u64,
    /// The port of packet-ins and packet-outs.
    pub cpu_port: Option<u32>,
    /// The program with its P4Info, if that was given.
    pub pipeline: Option<Pipeline>,
    p4info: Option<PathBuf>,
}

impl RuntimeOptions {
    /// Reads these options of a switch with this program, if it has one; `None` without an address.
    /// Errors: what is wrong with one.
    fn of(options: &Options, ports: &[PortSpec], program: &str) -> Result<Option<Self>> {
        let Some(address) = &options.p4runtime else {
            refuse_without("p4runtime", NEEDING_P4RUNTIME, options)?;
            return refuse_without("p4runtime", TLS, options).map(|()| None);
        };
        let Ok(address) = address.parse() else {
            let error = format!("--p4runtime {address}: write ADDRESS:PORT, as 127.0.0.1:9559");
            return Err(error.into());
        };
        if let Some(cpu_port) = options.p4_cpu_port {
            if cpu_port > MAX_PORT {
                return Err(format!("--p4-cpu-port {cpu_port}: write 0 to {MAX_PORT}").into());
            }
            if let Some(port) = ports.iter().find(|port| port.number.0 == cpu_port) {
                let error = format!("--p4-cpu-port {cpu_port}: that is {}", port.kind);
                return Err(error.into());
            }
        }
        let p4info = options.p4info.as_ref();
        // Without a program, P4Info was refused.
        let pipeline = p4info.map(|p4info| pipeline(program, p4info));
        Ok(Some(Self {
            address,
            device_id: options.p4_device_id.unwrap_or(1),
            cpu_port: options.p4_cpu_port,
            pipeline: pipeline.transpose()?,
            p4info: p4info.cloned(),
        }))
    }
}

impl P4Program {
    /// The program that the options name or a controller will set, and whether they fit it; `None`
    /// for a switch of OpenFlow.
    ///
    /// Errors: what is wrong with the program or its entries, and where; an option of OpenFlow.
    pub fn of(options: &Options, ports: &[PortSpec]) -> Result<Option<Self>> {
        if options.p4.is_none() {
            refuse_without("p4", NEEDING_P4, options)?;
            if options.p4runtime.is_none() {
                return refuse_without("p4runtime", NEEDING_P4RUNTIME, options).map(|()| None);
            }
        }
        let with = if options.p4.is_some() {
            "--p4"
        } else {
            "--p4runtime"
        };
        for (key, value) in table(options) {
            let is_given = match &value {
                toml::Value::Boolean(set) => *set,
                toml::Value::Array(list) => !list.is_empty(),
                toml::Value::String(_)
                | toml::Value::Integer(_)
                | toml::Value::Float(_)
                | toml::Value::Datetime(_)
                | toml::Value::Table(_) => true,
            };
            if is_given && !KEYS.contains(&key.as_str()) {
                let why = "the switch runs a P4 program instead";
                return Err(format!("--{key}: it is for OpenFlow, and with {with} {why}").into());
            }
        }
        if let Some(words) = options.captures.iter().find(|words| is_of_messages(words)) {
            let error = format!("--capture {words}: with {with} there are no OpenFlow messages");
            return Err(error.into());
        }
        if let Some(words) = options
            .record_frames
            .as_ref()
            .filter(|words| *words != "whole")
        {
            let why = "a P4 program may read any byte of a frame, so a record has them whole";
            return Err(format!("--record-frames {words}: with {with}, {why}").into());
        }
        if let Some(port) = ports.iter().find(|port| port.number.0 > MAX_PORT) {
            let kind = &port.kind;
            let error = format!("--port {kind}: with {with} a port number is 0 to {MAX_PORT}");
            return Err(error.into());
        }
        let (program, text) = match &options.p4 {
            Some(file) => read("--p4 ", file)?,
            None => (Program::default(), String::new()),
        };
        let runtime = RuntimeOptions::of(options, ports, &text)?;
        let mut pipelines = runtime.iter().flat_map(|runtime| &runtime.pipeline);
        let p4info = pipelines.next().map_or(&[][..], Pipeline::p4info);
        let loaded = LoadedSwitch::new(options, program, text, p4info)?;
        Ok(Some(Self {
            program: options.p4.clone(),
            entries: options.p4_entries.clone(),
            loaded: Some(loaded),
            runtime,
        }))
    }

    /// The file of the program, if there is one yet.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// The port of packet-ins and packet-outs of P4Runtime.
    pub fn cpu_port(&self) -> Option<u32> {
        self.runtime.as_ref()?.cpu_port
    }

    /// Its files.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let p4info = self.runtime.iter().flat_map(|runtime| &runtime.p4info);
        let files = self.program.iter().chain(&self.entries);
        files.chain(p4info)
    }

    /// The switch that the files describe, for the first who asks; without a program, one that
    /// drops all.
    pub fn take_switch(&mut self) -> Option<LoadedSwitch> {
        self.loaded.take()
    }
}

/// A program with its P4Info, as controllers of P4Runtime know it. Errors: what is wrong with it.
fn pipeline(program: &str, p4info: &Path) -> Result<Pipeline> {
    let name = format!("--p4info {}", p4info.display());
    let p4info = read_input(p4info).map_err(context(&name))?;
    let pipeline = Pipeline::new(&p4info, program.into());
    pipeline.map_err(|error| context(&name)(error.to_string()))
}

/// Reads a program, and gives its text, too. Errors: what is wrong with it, and where; after the
/// file's name and `option`.
fn read(option: &str, file: &Path) -> Result<(Program, String)> {
    let name = format!("{option}{}", file.display());
    let text = read_input(file).map_err(context(&name))?;
    match Program::load(text.as_bytes()) {
        Ok(program) => Ok((program, text)),
        Err(error) => Err(context(&name)(error.to_string())),
    }
}

/// Reads a program. Errors: what is wrong with it, and where; after the file's name.
pub fn load(file: &Path) -> Result<Program> {
    read("", file).map(|(program, _)| program)
}

/// Adds the entries of a file, and returns its text. Errors: the first that is wrong, and where;
/// after the file's name and `option`.
pub fn load_entries(option: &str, file: &Path, switch: &mut Switch) -> Result<String> {
    let name = format!("{option}{}", file.display());
    let text = read_input(file).map_err(context(&name))?;
    let loaded = switch.load_entries(text.as_bytes());
    loaded.map_err(|error| context(&name)(error.to_string()))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options of a switch with these ports, and a program if it is to have one.
    fn numbers(ports: &[&str], has_program: bool) -> Result<Vec<u32>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
        let options = Options {
            ports: ports.iter().map(ToString::to_string).collect(),
            p4: has_program.then(|| root.join("exits/exits.json")),
            ..Options::default()
        };
        let ports = options.check()?.ports;
        Ok(ports.iter().map(|port| port.number.0).collect())
    }

    #[test]
    fn only_a_program_has_a_port_0_and_none_above_510() {
        assert_eq!(numbers(&["0=a", "b", "510=c"], true), Ok(vec![0, 2, 510]));
        for (ports, has_program, wrong) in [
            ("0=a", false, "--port 0=a: a port number is 1 to"),
            (
                "511=a",
                true,
                "--port a: with --p4 a port number is 0 to 510",
            ),
            (
                "local=a",
                true,
                "--port a: with --p4 a port number is 0 to 510",
            ),
        ] {
            let refused = numbers(&[ports], has_program).expect_err("it is wrong");
            assert!(refused.text.starts_with(wrong), "{refused}");
        }
    }
}
