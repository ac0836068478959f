//! The configuration of an embedded switch, and the errors of its calls.

use alloc::{boxed::Box, format, string::String, sync::Arc, vec::Vec};
use core::fmt;

use bofuss_agent::{ConnId, FailMode, Identity};
use bofuss_datapath::{Config, Hook, Time};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::Pool;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::{Desc, TableFeatures};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Catalogue, Mac, PortNo, Version};

/// The limit, in bytes, of the frame pool of a switch that does not share one.
pub const POOL_BYTES: usize = 4 << 20;
/// The most flows in the cache, unless configured: enough for a small network.
const CACHE_FLOWS: u32 = 1 << 14;

/// The configuration of an embedded switch. With the default, a thousand switches take less than
/// 1 GB.
pub struct EmbeddedConfig {
    /// Its datapath id.
    pub datapath_id: u64,
    /// Its description.
    pub desc: Desc,
    /// Tables and their limits, engine, cache, seeds.
    pub tables: Config,
    /// The features of the tables at first, which are also the most that controllers may request;
    /// empty for all features.
    pub profile: Vec<TableFeatures>,
    /// The fields and messages that it knows. Switches should share one: its rows are never freed.
    pub catalogue: Arc<Catalogue>,
    /// The behaviour of extensions, as [`bofuss_ext::hooks`] makes it.
    pub hooks: Vec<Box<dyn Hook>>,
    /// The pool of its frames. Switches of one thread may share one.
    pub pool: Pool,
    /// The fail mode: the behaviour while no controller is connected.
    pub fail_mode: FailMode,
    /// The OpenFlow versions that it offers; at least one.
    pub versions: Vec<Version>,
    /// True if controllers are forbidden to set links up and down and to change what they
    /// advertise.
    pub links_fixed: bool,
}

impl EmbeddedConfig {
    /// The default configuration, with this catalogue and all extensions that are compiled in.
    pub fn with_catalogue(catalogue: Arc<Catalogue>) -> Self {
        Self {
            datapath_id: 1,
            desc: Desc::default(),
            tables: Config {
                cache_flows: CACHE_FLOWS,
                ..bofuss_disciplines::config()
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

    /// Builds the switch, without ports. Errors: [`EmbedError::Config`].
    pub(crate) fn build(self, now: Time) -> Result<Switch, EmbedError> {
        if !(1..=TableId::MAX.0).contains(&self.tables.n_tables) {
            let text = format!("{} tables: 1 to {}", self.tables.n_tables, TableId::MAX.0);
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

/// Describes a port whose link is up. Its name and hardware address are derived from its number.
pub fn port(number: u32) -> PortDesc {
    let [a, b, c, d] = number.to_be_bytes();
    PortDesc {
        port_no: PortNo(number),
        hw_addr: Mac([2, 0xbf, a, b, c, d]),
        name: FixedStr(format!("port{number}")),
        ..PortDesc::default()
    }
}

/// The reason for which a call is refused. Then nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbedError {
    /// The configuration is invalid; the sentence says why.
    Config(String),
    /// No connection has this number: there never was one, or it was closed.
    NoConnection(ConnId),
    /// The connection takes messages as values instead of bytes, or bytes instead of values; or it
    /// has no version yet, and cannot have auxiliary connections.
    WrongKind(ConnId),
    /// No port has this number.
    NoPort(PortNo),
    /// No port can have this number: it is 0, or the specification reserves it.
    BadPortNumber(PortNo),
    /// The frame cannot be traced; the sentence says why.
    Trace(String),
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(text) | Self::Trace(text) => f.write_str(text),
            Self::NoConnection(conn) => write!(f, "there is no connection {}", conn.0),
            Self::WrongKind(conn) => {
                write!(f, "connection {} is not of the kind for this call", conn.0)
            }
            Self::NoPort(port) => write!(f, "there is no port {port}"),
            Self::BadPortNumber(port) => write!(f, "{port} is no port's number"),
        }
    }
}

impl core::error::Error for EmbedError {}
