//! The claim on an interface while it is a port.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use super::options::AfPacketOptions;
use crate::{Link, OpenError, interface_settings::InterfaceSettings};

/// What an interface is a port by; given back with the last of those that share it.
pub(super) struct Claim {
    pub(super) settings: InterfaceSettings,
    /// `None` while another switch has the interface.
    lock: Option<UnixDatagram>,
}

impl Claim {
    /// Claims a suitable interface and changes its settings; if it waits, another switch has it
    /// and has changed them, and it is claimed by [`Self::take_over`].
    ///
    /// Errors: each unsuitable interface has its own.
    pub(super) fn new(link: &Link, options: AfPacketOptions) -> Result<Self, OpenError> {
        link.check_suitable(options.take_over)?;
        let waits = options.waits;
        let lock = (!waits).then(|| lock(link)).transpose()?;
        let keeps_host_out = options.keep_host_out && !has_addresses(link)?;
        let settings = if waits {
            InterfaceSettings::left(link, keeps_host_out)
        } else {
            InterfaceSettings::of(link, keeps_host_out)
        };
        Ok(Self { settings, lock })
    }

    /// Returns true if another switch has the interface.
    pub(super) fn is_waiting(&self) -> bool {
        self.lock.is_none()
    }

    /// Claims the interface that another switch has left. Errors: somebody else has claimed it.
    pub(super) fn take_over(&mut self, link: &Link) -> Result<(), OpenError> {
        if self.is_waiting() {
            self.lock = Some(lock(link)?);
            self.settings.take_over();
        }
        Ok(())
    }

    /// Leaves the interface and its settings to another switch.
    pub(super) fn leave(&mut self) {
        self.settings.leave();
        self.lock = None;
    }
}

/// Returns true if the interface has addresses. Errors: the system's.
fn has_addresses(link: &Link) -> Result<bool, OpenError> {
    let addresses = link
        .addresses()
        .map_err(|e| OpenError::new(&link.name, "listing addresses", e))?;
    Ok(!addresses.is_empty())
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
