//! What an embedded switch is made with, and what is wrong with a call.

use alloc::{boxed::Box, format, string::String, sync::Arc, vec::Vec};
use core::fmt;

use bofuss_agent::{ConnId, FailMode, Identity, Switch};
use bofuss_datapath::{Config, Datapath, Hook, Time};
use bofuss_frame::Pool;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::{Desc, TableFeatures};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Catalogue, Mac, PortNo, Version};

/// Bytes of frames that a switch with a pool of its own holds at most.
pub const POOL_BYTES: usize = 4 << 20;
/// Flows that the cache knows at most, unless configured: those of a small network.
const CACHE_FLOWS: u32 = 1 << 14;

/// What an embedded switch is made with. The default is small, so that a thousand fit in 1 GB.
pub struct EmbeddedConfig {
    /// Its datapath id.
    pub datapath_id: u64,
    /// Its description.
    pub desc: Desc,
    /// Tables and their limits, engine, cache, seeds.
    pub tables: Config,
    /// What the tables can do at first; empty for everything.
    pub profile: Vec<TableFeatures>,
    /// The fields and messages that it knows. Many switches share one: its rows live as long as
    /// the process.
    pub catalogue: Arc<Catalogue>,
    /// The behaviour of extensions, as [`bofuss_ext::hooks`] makes it.
    pub hooks: Vec<Box<dyn Hook>>,
    /// Where its frames come from. Switches of one thread may share one.
    pub pool: Pool,
    /// What it does while no controller is connected.
    pub fail_mode: FailMode,
    /// The versions that it offers; not empty.
    pub versions: Vec<Version>,
    /// Whether controllers may not set links up and down.
    pub links_fixed: bool,
}

impl EmbeddedConfig {
    /// A configuration with a catalogue that other switches share, and all its extensions.
    pub fn with_catalogue(catalogue: Arc<Catalogue>) -> Self {
        Self {
            datapath_id: 1,
            desc: Desc::default(),
            tables: Config {
                cache_flows: CACHE_FLOWS,
                ..Config::default()
            },
            profile: Vec::new(),
            hooks: bofuss_ext::hooks(&catalogue),
            catalogue,
            pool: Pool::new(POOL_BYTES),
            fail_mode: FailMode::Secure,
            versions: Version::SPOKEN.into(),
            links_fixed: false,
        }
    }

    /// Builds the switch, without ports. Errors: the value that cannot be.
    pub(crate) fn build(self, now: Time) -> Result<Switch, EmbedError> {
        if !(1..=TableId::MAX.0).contains(&self.tables.n_tables) {
            let text = format!("{} tables: 1 to {}", self.tables.n_tables, TableId::MAX);
            return Err(EmbedError::Config(text));
        }
        let tables = Config {
            datapath_id: self.datapath_id,
            ..self.tables
        };
        let mut datapath = Datapath::new(tables, self.catalogue, self.pool);
        if !self.profile.is_empty() {
            let done = datapath.set_profile(&self.profile);
            done.map_err(|error| EmbedError::Config(format!("profile: {error}")))?;
        }
        for hook in self.hooks {
            datapath.add_hook(hook);
        }
        let identity = Identity {
            datapath_id: self.datapath_id,
            desc: self.desc,
        };
        Ok(Switch::new(now, datapath, identity, self.fail_mode))
    }
}

impl Default for EmbeddedConfig {
    fn default() -> Self {
        Self::with_catalogue(Arc::new(bofuss_ext::catalogue()))
    }
}

/// A port with its link up, with a name and a hardware address made of its number.
pub fn port(number: u32) -> PortDesc {
    let [a, b, c, d] = number.to_be_bytes();
    PortDesc {
        port_no: PortNo(number),
        hw_addr: Mac([2, 0xbf, a, b, c, d]),
        name: FixedStr(format!("port{number}")),
        ..PortDesc::default()
    }
}

/// What is wrong with a call; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbedError {
    /// The configuration: a sentence.
    Config(String),
    /// No connection has this number, or has it any more.
    NoConnection(ConnId),
    /// The connection takes messages, and not bytes, or the other way round.
    WrongKind(ConnId),
    /// No port has this number.
    NoPort(PortNo),
    /// No port can have this number: 0, or one that the specification reserves.
    BadPortNumber(PortNo),
    /// A frame that cannot be traced: a sentence.
    Trace(String),
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(text) | Self::Trace(text) => f.write_str(text),
            Self::NoConnection(conn) => write!(f, "there is no connection {}", conn.0),
            Self::WrongKind(conn) => write!(f, "connection {} is of the other kind", conn.0),
            Self::NoPort(port) => write!(f, "there is no port {port}"),
            Self::BadPortNumber(port) => write!(f, "{port} is no port's number"),
        }
    }
}

impl core::error::Error for EmbedError {}
