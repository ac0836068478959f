//! Captures and mirrors: what copies frames of ports into files and to other ports.

use std::fs::File;

use bofuss_oflib::{Catalogue, PortNo};
use bofuss_ports::{CaptureSource, LinkType};

use super::io::DataPlaneIo;
use super::live_switch::LiveSwitch;
use super::port_set::PortSet;
use crate::capture::{self, CaptureWriter, CopyTarget, FrameCopier, MAX_COPIERS};
use crate::config::{Config, ConfiguredCopier, PortKind, PortSpec, port_of};
use crate::error::{Result, context};

/// The kind of target that the word after the port names.
pub enum NewTarget {
    /// A file, which an operator may have opened.
    File(Option<File>),
    /// A port.
    Port,
}

/// What a capture or mirror of ports needs to know.
pub struct Copied<'a> {
    /// The number of the other captures and mirrors.
    pub others: usize,
    /// The fields by which frames can be chosen.
    pub catalogue: &'a Catalogue,
    /// The switch's name.
    pub switch: &'a str,
    /// The configured ports.
    pub ports: &'a [PortSpec],
}

/// A capture or mirror of the switch of this name, with these ports: `PORT FILE-OR-PORT [FLOW]`. It
/// has begun.
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
        others: live.io().ports.copiers.len(),
        catalogue: live.switch().datapath().catalogue(),
        switch,
        ports,
    };
    let copier = copied.copier(words, target)?;
    copier.begin()?;
    Ok(copier)
}

impl Copied<'_> {
    /// A capture or mirror, to be begun: `PORT FILE-OR-PORT [FLOW]`. Errors: what is wrong with it.
    pub fn copier(&self, words: &str, target: NewTarget) -> Result<FrameCopier> {
        let mut parts = words.splitn(3, ' ');
        let (Some(watched), Some(name)) = (parts.next(), parts.next()) else {
            return Err("PORT and FILE are required, or PORT and TO".into());
        };
        let flow = parts.next().unwrap_or_default();
        let port = port_named(self.ports, watched)?;
        if self.others >= MAX_COPIERS {
            return Err(format!("there are {MAX_COPIERS} captures and mirrors already").into());
        }
        // A wrong flow is reported before the file is created.
        let target_port = CopyTarget::Port(port);
        let made = FrameCopier::new(port, flow, self.catalogue, name, target_port);
        let mut copier = made.map_err(|error| match &target {
            NewTarget::File(_) => error.map(|text| text + " (a FILE has no blanks)"),
            NewTarget::Port => error,
        })?;
        copier.words = words.into();
        let is_tun = |spec: &PortSpec| matches!(spec.kind, PortKind::Tun(_));
        let mut specs = self.ports.iter();
        if specs.any(|spec| spec.number == port && is_tun(spec)) {
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

/// The captures and mirrors that a change of configuration ends and makes.
pub(super) struct CopierChange {
    gone: Vec<String>,
    fresh: Vec<FrameCopier>,
}

impl CopierChange {
    /// The change from `old`, if there is one, to `new`: opens files, but does not write to them.
    ///
    /// Errors: what is wrong with one.
    pub(super) fn prepare(live: &LiveSwitch, old: Option<&Config>, new: &Config) -> Result<Self> {
        let had = old.map(resolved).unwrap_or_default();
        let wanted = resolved(new);
        let gone = had.iter().filter(|copier| !wanted.contains(copier));
        let gone: Vec<String> = gone.map(|(copier, _)| copier.words().into()).collect();
        let running = live.io().ports.copiers.iter();
        let stay = running.filter(|copier| !gone.contains(&copier.words));
        let stay = stay.count();
        let fresh = wanted.iter().filter(|copier| !had.contains(copier));
        let fresh = fresh.enumerate().map(|(place, (copier, _))| {
            let copied = Copied {
                others: stay + place,
                catalogue: live.switch().datapath().catalogue(),
                switch: &new.name,
                ports: &new.ports,
            };
            copied.configured(copier)
        });
        let fresh = fresh.collect::<Result<_>>()?;
        Ok(Self { gone, fresh })
    }

    /// Makes the change. Errors: a file that cannot be written; the others are.
    pub(super) fn make(self, copiers: &mut Vec<FrameCopier>) -> Result<()> {
        let Self { gone, fresh } = self;
        copiers.retain(|copier| !gone.contains(&copier.words));
        let begun = fresh.iter().map(FrameCopier::begin);
        let begun = begun.fold(Ok(()), Result::and);
        copiers.extend(fresh);
        begun
    }
}

/// The captures and mirrors of a configuration, each with the numbers of the ports that its words
/// name, which may be others after a change.
fn resolved(config: &Config) -> Vec<(&ConfiguredCopier, [Option<PortNo>; 2])> {
    let number = |word| Some(port_of(&config.ports, word)?.number);
    let copiers = config.copiers.iter().map(|copier| {
        let mut words = copier.words().split(' ');
        let mut next = || words.next().and_then(number);
        (copier, [next(), next()])
    });
    copiers.collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Options};

    #[test]
    fn what_is_behind_a_blank_in_the_name_of_a_file_is_no_flow_and_says_why() {
        let options = Options {
            ports: vec!["tap:a".into()],
            ..Options::default()
        };
        let catalogue = Catalogue::default();
        let specs = config::ports(&options).expect("it is right");
        let copied = Copied {
            others: 0,
            catalogue: &catalogue,
            switch: "s",
            ports: &specs,
        };
        let refused = copied.copier("1 /nowhere/my file.pcap", NewTarget::File(None));
        let said = |error: crate::error::Error| error.text.contains("(a FILE has no blanks)");
        assert!(refused.is_err_and(said));
    }
}
