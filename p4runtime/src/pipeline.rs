//! A program with its P4Info, as a controller gives them.

use std::sync::Arc;

use bofuss_p4::Program;
use prost::Message;

use crate::error::{Refusal, Result};
use crate::info::Info;
use crate::text;
use crate::wire::messages::ForwardingPipelineConfig;

/// What other switches want around the JSON: `p4.tmp.P4DeviceConfig`.
#[derive(Clone, PartialEq, Message)]
struct DeviceConfig {
    #[prost(bool, tag = "1")]
    reassign: bool,
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// A forwarding pipeline that was checked.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub(crate) config: Arc<ForwardingPipelineConfig>,
    pub(crate) info: Arc<Info>,
}

impl Pipeline {
    /// Checks a program in p4c's JSON against its P4Info in text form, as `--p4runtime-files` of
    /// p4c writes it. Errors: what is wrong, with its place.
    pub fn new(p4info: &str, program: Vec<u8>) -> Result<Self> {
        let p4info = text::encode(p4info)?;
        let config = ForwardingPipelineConfig {
            p4info,
            p4_device_config: program,
            cookie: None,
        };
        Self::check(config).map(|(pipeline, _)| pipeline)
    }

    /// The P4Info, encoded.
    pub fn p4info(&self) -> &[u8] {
        &self.config.p4info
    }

    /// Checks what a controller sends, and gives the program, too.
    pub(crate) fn check(config: ForwardingPipelineConfig) -> Result<(Self, Program)> {
        let program = load(&config.p4_device_config)?;
        let info = Info::new(&config.p4info, &program)?;
        let pipeline = Self {
            config: Arc::new(config),
            info: Arc::new(info),
        };
        Ok((pipeline, program))
    }

    /// The program once more.
    pub(crate) fn program(&self) -> Result<Program> {
        load(&self.config.p4_device_config)
    }
}

fn load(bytes: &[u8]) -> Result<Program> {
    let wrong = |error: bofuss_p4::LoadError| {
        Refusal::invalid(format!("the program cannot be loaded: {error}"))
    };
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        return Program::load(bytes).map_err(wrong);
    }
    match DeviceConfig::decode(bytes) {
        Ok(config) => Program::load(&config.device_data).map_err(wrong),
        Err(_) => {
            let what = "the device configuration is neither JSON nor a P4DeviceConfig with it";
            Err(Refusal::invalid(what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_come_within_a_device_config() {
        let wrap = |device_data: &[u8]| {
            let device_data = device_data.to_vec();
            let config = DeviceConfig {
                reassign: true,
                device_data,
            };
            load(&config.encode_to_vec()).map_err(|refusal| refusal.message)
        };
        let wrong = wrap(b"{}").expect_err("it has no version");
        assert_eq!(wrong, "the program cannot be loaded: /: has no __meta__");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/p4/controlled");
        let json = std::fs::read(format!("{folder}/controlled.json")).expect("it is there");
        wrap(&json).expect("p4c wrote it");
        let wrong = load(b"\xff").expect_err("it is neither");
        assert!(
            wrong
                .message
                .starts_with("the device configuration is neither")
        );
    }
}
