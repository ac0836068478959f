//! Captures and mirrors: what copies frames of ports into files and to other ports.

use std::fs::File;

use bofuss_oflib::{Catalogue, PortNo};
use bofuss_ports::{CaptureSource, LinkType};

use super::io::DataPlaneIo;
use super::live_switch::LiveSwitch;
use super::port_set::PortSet;
use crate::capture::{self, CaptureWriter, CopyTarget, FrameCopier, MAX_COPIERS};
use crate::config::{Config, ConfiguredCopier, PortSpec, port_of};
use crate::error::{Result, context};

/// The kind of target that the word after the port names.
pub enum NewTarget {
    /// A file, which an operator may have opened.
    File(Option<File>),
    /// A port.
    Port,
}

/// The open ports, and what a capture or mirror of theirs needs to know.
pub struct Copied<'a> {
    /// The open ports.
    pub open: &'a PortSet,
    /// The fields by which frames can be chosen.
    pub catalogue: &'a Catalogue,
    /// The switch's name.
    pub switch: &'a str,
    /// The configured ports.
    pub ports: &'a [PortSpec],
}

/// A capture or mirror of the switch of this name, with these ports: `PORT FILE-OR-PORT [FLOW]`.
///
/// Errors: what is wrong with it.
pub(super) fn new(
    live: &LiveSwitch,
    switch: &str,
    ports: &[PortSpec],
    words: &str,
    target: NewTarget,
) -> Result<FrameCopier> {
    let copied = Copied {
        open: &live.io().ports,
        catalogue: live.switch().datapath().catalogue(),
        switch,
        ports,
    };
    copied.copier(words, target)
}

impl Copied<'_> {
    /// A capture or mirror: `PORT FILE-OR-PORT [FLOW]`. Errors: what is wrong with it.
    pub fn copier(&self, words: &str, target: NewTarget) -> Result<FrameCopier> {
        let mut parts = words.splitn(3, ' ');
        let (Some(watched), Some(name)) = (parts.next(), parts.next()) else {
            return Err("PORT and FILE are required, or PORT and TO".into());
        };
        let flow = parts.next().unwrap_or_default();
        let port = port_named(self.ports, watched)?;
        if self.open.copiers.len() >= MAX_COPIERS {
            return Err(format!("there are {MAX_COPIERS} captures and mirrors already").into());
        }
        // A wrong flow is reported before the file is created.
        let target_port = CopyTarget::Port(port);
        let mut copier = FrameCopier::new(port, flow, self.catalogue, name, target_port)?;
        copier.words = words.into();
        let copied = self.open.get(port);
        if copied.is_some_and(|copied| copied.is_without_ethernet()) {
            copier.leave_ethernet();
        }
        copier.to = match target {
            NewTarget::File(file) => {
                let source = source_of(port, self.ports, flow, self.switch);
                CopyTarget::File(CaptureWriter::create(name, file, source)?)
            }
            NewTarget::Port => {
                let to = port_named(self.ports, name)?;
                if to == port {
                    return Err("a port cannot mirror itself".into());
                }
                CopyTarget::Port(to)
            }
        };
        Ok(copier)
    }

    /// The capture or mirror of a configuration. Errors: what is wrong with it.
    pub fn configured(&self, copier: &ConfiguredCopier) -> Result<FrameCopier> {
        let (key, target) = match copier {
            ConfiguredCopier::Capture(_) => ("--capture", NewTarget::File(None)),
            ConfiguredCopier::Mirror(_) => ("--mirror", NewTarget::Port),
        };
        let words = copier.words();
        let copier = self.copier(words, target);
        copier.map_err(context(format_args!("{key} {words}")))
    }
}

/// The description of a port in a capture file.
fn source_of(port: PortNo, ports: &[PortSpec], flow: &str, switch: &str) -> CaptureSource {
    let spec = ports.iter().find(|spec| spec.number == port);
    let name = match spec.map(|spec| &spec.kind) {
        Some(kind) => kind
            .interface()
            .map_or_else(|| kind.to_string(), String::from),
        None => port.to_string(),
    };
    let frames = if flow.is_empty() { "all frames" } else { flow };
    CaptureSource {
        name,
        link_type: LinkType::Ethernet,
        comment: format!("port {port} of switch {switch}, {frames}"),
    }
}

/// The captures and mirrors of `new` that are not among `old`. Errors: what is wrong with one.
pub(super) fn configured(
    live: &LiveSwitch,
    new_config: &Config,
    old: &[ConfiguredCopier],
) -> Result<Vec<FrameCopier>> {
    let copied = Copied {
        open: &live.io().ports,
        catalogue: live.switch().datapath().catalogue(),
        switch: &new_config.name,
        ports: &new_config.ports,
    };
    let all = new_config.copiers.iter();
    let fresh = all.filter(|copier| !old.contains(copier));
    fresh.map(|copier| copied.configured(copier)).collect()
}

/// Ends the capture or mirror with this file or port. Errors: there is none.
pub fn end(ports: &mut PortSet, name: &str) -> Result<String> {
    let copiers = &mut ports.copiers;
    let before = copiers.len();
    copiers.retain(|copier| !capture::is_named(&copier.name, name));
    if copiers.len() < before {
        Ok(String::new())
    } else {
        Err(format!("nothing goes to {name} ('captures' lists them)").into())
    }
}

/// Lists the captures and mirrors, and the record.
pub(super) fn list(io: &DataPlaneIo) -> String {
    let copiers = io.ports.copiers.iter();
    let mut text: String = copiers.map(FrameCopier::to_string).collect();
    if let Some(recorder) = &io.recorder {
        text += &recorder.to_string();
    }
    text
}

/// The number of the port that a word names. Errors: there is none.
fn port_named(ports: &[PortSpec], word: &str) -> Result<PortNo> {
    let found = port_of(ports, word);
    found.map_or_else(|| no_port(word), |spec| Ok(spec.number))
}

/// Errors: there is no port of this name.
pub(super) fn no_port<T>(word: &str) -> Result<T> {
    Err(format!("there is no port {word} ('ports' lists them)").into())
}
