//! Errors of ports, in words that say what, why and what to type.

use std::{io, net::IpAddr};

/// The reason for which an interface cannot be opened or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no such interface in this network namespace.
    #[error("no interface named '{0}' (ip link shows them)")]
    NoSuchInterface(String),
    /// The kernel has no room for such a name.
    #[error(
        "interface name '{0}' is too long: {len} bytes, at most 15 (ip link set dev OLD name NEW)",
        len = .0.len()
    )]
    NameTooLong(String),
    /// The process may not open it.
    #[error(
        "no permission to open '{0}': run as root, or give the program the right: \
         setcap cap_net_admin,cap_net_raw+ep FILE"
    )]
    NoPermission(String),
    /// It is not an Ethernet interface.
    #[error("'{0}' is not an Ethernet interface (ip -brief link shows which are)")]
    NotEthernet(String),
    /// It belongs to a bridge, bond or other master.
    #[error("'{name}' already belongs to '{master}': ip link set dev {name} nomaster")]
    Enslaved {
        /// The interface.
        name: String,
        /// Its bridge or bond.
        master: String,
    },
    /// It carries an IP address.
    #[error(
        "'{name}' carries the IP address {address}, and a switch would cut it off (you may lose \
         your login): pass --take-over, or ip addr flush dev {name}"
    )]
    HasAddress {
        /// The interface.
        name: String,
        /// The first of its addresses that is not link-local.
        address: IpAddr,
    },
    /// It carries the default route.
    #[error(
        "'{0}' carries the default route, and a switch would cut it off (you may lose your login): \
         pass --take-over, or move the route (ip route shows it)"
    )]
    HasDefaultRoute(String),
    /// Another switch, or another port of this switch, has it.
    #[error("'{0}' is already opened by another switch: stop that one, or remove the port there")]
    InUse(String),
    /// The name exists and is not a TAP interface.
    #[error("'{0}' exists and is not a TAP interface: choose another name, or ip link del {0}")]
    NotTap(String),
    /// The name exists and is not a TUN interface.
    #[error("'{0}' exists and is not a TUN interface: choose another name, or ip link del {0}")]
    NotTun(String),
    /// The TUN/TAP driver is not there.
    #[error("/dev/net/tun is missing: modprobe tun, or give the container that device")]
    NoTun,
    /// Something else, named.
    #[error("'{name}': {action}: {source}")]
    Io {
        /// The interface or file.
        name: String,
        /// The operation that was attempted.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl OpenError {
    /// Makes the error for `action` on `name`, telling refusals of permission and missing
    /// interfaces apart.
    pub(crate) fn new(name: &str, action: &'static str, source: io::Error) -> Self {
        let name = name.to_string();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Self::NoPermission(name),
            Some(libc::ENODEV | libc::ENXIO) => Self::NoSuchInterface(name),
            _ => Self::Io {
                name,
                action,
                source,
            },
        }
    }
}

/// The reason for which an open port stopped to work.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The interface has disappeared; one of the same name must be opened anew.
    #[error("the interface is gone")]
    Gone,
    /// Something unforeseen.
    #[error(transparent)]
    Io(#[from] io::Error),
}
