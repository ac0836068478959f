//! The address of the switch, and how it is reached.

use std::time::{Duration, Instant};

use bofuss_channel::{ActiveAddress, Endpoint, PassiveAddress};
use bofuss_oflib::Version;
use tokio::net::TcpStream;

use crate::error::{Error, Result};

/// The time that something may take that is there to take a connection.
const GLIMPSE: Duration = Duration::from_secs(2);
/// The pause before a switch that was not reached is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// The address of the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchAddress {
    /// The address on which the switch listens.
    Active(ActiveAddress),
    /// The address to which the switch connects, over TCP.
    Passive(String),
}

impl std::str::FromStr for SwitchAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if !text.starts_with("ptcp:") {
            return text
                .parse()
                .map(Self::Active)
                .map_err(|e| format!("{e}").into());
        }
        let passive: PassiveAddress = text.parse().map_err(|e| format!("{e}"))?;
        match passive.0 {
            Endpoint::Tcp { host, port } => Ok(Self::Passive(format!("{host}:{port}"))),
            Endpoint::Tls { .. } | Endpoint::Unix(_) => {
                Err(format!("{text:?}: a switch connects over TCP").into())
            }
        }
    }
}

impl std::fmt::Display for SwitchAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Active(address) => address.fmt(f),
            Self::Passive(address) => write!(f, "the switch that connects to {address}"),
        }
    }
}

/// The versions to offer: the named one, or all.
///
/// Errors: there is none of that name.
pub fn offered_versions(named: Option<&str>) -> Result<Vec<Version>> {
    let Some(name) = named else {
        return Ok(Version::SPOKEN.to_vec());
    };
    let mut all = Version::ALL.iter();
    let found = all.find(|version| version.to_string() == name);
    found.map(|version| vec![*version]).ok_or_else(|| {
        let names: Vec<String> = Version::ALL.iter().map(Version::to_string).collect();
        format!("no version {name}; there are {}", names.join(", ")).into()
    })
}

/// Tries to reach a switch until it succeeds, the time is over, or the user wants an end.
///
/// Errors: those of the last attempt.
pub fn patiently<T, E>(
    patience: Duration,
    over: &(dyn Fn() -> bool + Sync),
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let until = Instant::now() + patience;
    loop {
        let reached = attempt();
        if reached.is_ok() || Instant::now() > until || over() {
            return reached;
        }
        std::thread::sleep(RETRY);
    }
}

/// Returns true if something takes connections at an address: then it is a switch that does not
/// answer, and not one that is not there.
pub(super) async fn takes_connections(address: &SwitchAddress) -> bool {
    let SwitchAddress::Active(ActiveAddress(endpoint)) = address else {
        return false;
    };
    match endpoint {
        Endpoint::Tcp { host, port } | Endpoint::Tls { host, port } => {
            let connecting = TcpStream::connect((&host[..], *port));
            let connected = tokio::time::timeout(GLIMPSE, connecting).await;
            connected.is_ok_and(|stream| stream.is_ok())
        }
        Endpoint::Unix(path) => path.exists(),
    }
}
