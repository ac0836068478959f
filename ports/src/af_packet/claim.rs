//! The claim on an interface while it is a port.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::{Link, OpenError, interface_settings::InterfaceSettings};

/// What an interface is a port by; given back with the last of those that share it.
pub(super) struct Claim {
    pub(super) settings: InterfaceSettings,
    _lock: UnixDatagram,
}

impl Claim {
    /// Claims a suitable interface and changes its settings. Errors: each unsuitable interface has
    /// its own.
    pub(super) fn new(
        link: &Link,
        take_over: bool,
        keep_host_out: bool,
    ) -> Result<Self, OpenError> {
        link.check_suitable(take_over)?;
        let lock = lock(link)?;
        let mut keeps_host_out = false;
        if keep_host_out {
            let addresses = link
                .addresses()
                .map_err(|e| OpenError::new(&link.name, "listing addresses", e))?;
            keeps_host_out = addresses.is_empty();
        }
        Ok(Self {
            settings: InterfaceSettings::of(link, keeps_host_out),
            _lock: lock,
        })
    }
}

/// Claims the interface: an abstract socket belongs to the network namespace and ends with the
/// process.
fn lock(link: &Link) -> Result<UnixDatagram, OpenError> {
    let address = SocketAddr::from_abstract_name(format!("bofuss-port-{}", link.index))
        .expect("a short name fits");
    UnixDatagram::bind_addr(&address).map_err(|error| {
        if error.kind() == io::ErrorKind::AddrInUse {
            OpenError::InUse(link.name.clone())
        } else {
            OpenError::new(&link.name, "claiming the interface", error)
        }
    })
}
