//! The facts about an interface that decide whether a switch may have it, and its link state.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::{
    OpenError,
    netlink::{attributes, dump, u16_at, u32_at},
    sys,
};

/// The longest name that the kernel gives an interface.
const NAME_BYTES: usize = libc::IFNAMSIZ - 1;
/// The sizes of the fixed headers before the attributes of links, addresses and routes.
const LINK_HEADER_BYTES: usize = 16;
const ADDRESS_HEADER_BYTES: usize = 8;
const ROUTE_HEADER_BYTES: usize = 12;
const NEXT_HOP_HEADER_BYTES: usize = 8;
/// ethtool commands and what they answer.
const ETHTOOL_GET_SETTINGS: u32 = 0x01;
const ETHTOOL_SET_SETTINGS: u32 = 0x02;
const PORT_FIBRE: u8 = 3;
const SPEED_UNKNOWN: u32 = u32::MAX;
const ETHTOOL_GET_FLAGS: u32 = 0x25;
const ETHTOOL_SET_FLAGS: u32 = 0x26;
const ETHTOOL_FLAG_LRO: u32 = 1 << 15;

/// An interface as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number for it; a new one when an interface of the same name returns.
    pub index: u32,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Its address.
    pub mac: [u8; 6],
    /// The longest packet after the Ethernet header and tags, in bytes.
    pub mtu_bytes: u32,
    /// The administrator's wish.
    pub admin_up: bool,
    /// True if there is a link to the other end.
    pub carrier: bool,
    /// True if frames pass: admin up, carrier, and no authentication or other protocol outstanding.
    pub running: bool,
    /// The index of the bridge or bond that it belongs to.
    pub master: Option<u32>,
    /// The index of the other end of a veth pair, if that is in this network namespace, too.
    pub peer: Option<u32>,
    /// The index of the interface that it lies upon, as that of a VLAN does, if that is in this
    /// network namespace, too.
    pub lower: Option<u32>,
    /// True if it is of Ethernet's kind, which the loopback interface is not.
    pub ethernet: bool,
}

impl Link {
    /// Looks up the interface `name`.
    ///
    /// Errors: [`OpenError::NoSuchInterface`], [`OpenError::NameTooLong`].
    pub fn by_name(name: &str) -> Result<Self, OpenError> {
        check_name(name)?;
        let all = Self::all().map_err(|e| OpenError::new(name, "listing interfaces", e))?;
        all.into_iter()
            .find(|link| link.name == name)
            .ok_or_else(|| OpenError::NoSuchInterface(name.to_string()))
    }

    /// Lists all interfaces of this network namespace.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut links = Vec::new();
        let header = [0; LINK_HEADER_BYTES];
        dump(libc::RTM_GETLINK, &header, |body| {
            links.extend(Self::parse(body))
        })?;
        Ok(links)
    }

    /// Reads a link message; `None` if it is about something else, such as a bridge's port, or
    /// tells of an event of a wireless interface, and nothing of the interface itself.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let flags = u32_at(body, 8);
        let mut link = Self {
            index: u32_at(body, 4),
            name: String::new(),
            mac: [0; 6],
            mtu_bytes: 0,
            admin_up: flags & libc::IFF_UP as u32 != 0,
            carrier: flags & libc::IFF_LOWER_UP as u32 != 0,
            running: flags & libc::IFF_RUNNING as u32 != 0,
            master: None,
            peer: None,
            lower: None,
            ethernet: u16_at(body, 2) == libc::ARPHRD_ETHER,
        };
        if body.first() != Some(&(libc::AF_UNSPEC as u8)) {
            return None;
        }
        let mut is_whole = false;
        let mut other = None;
        let mut is_veth = false;
        let mut is_across_namespaces = false;
        for (number, value) in attributes(body.get(LINK_HEADER_BYTES..)?) {
            match number {
                libc::IFLA_IFNAME => {
                    let name = value.strip_suffix(&[0]).unwrap_or(value);
                    link.name = String::from_utf8_lossy(name).into_owned();
                }
                libc::IFLA_ADDRESS => link.mac = value.try_into().unwrap_or_default(),
                libc::IFLA_MTU => {
                    link.mtu_bytes = u32_at(value, 0);
                    is_whole = true;
                }
                libc::IFLA_MASTER => link.master = Some(u32_at(value, 0)),
                libc::IFLA_LINK => other = Some(u32_at(value, 0)),
                libc::IFLA_LINK_NETNSID => is_across_namespaces = true,
                libc::IFLA_LINKINFO => is_veth = kind(value) == Some(b"veth"),
                _ => {}
            }
        }
        // Some kinds name themselves.
        let other = other.filter(|index| !is_across_namespaces && *index != link.index);
        if is_veth {
            link.peer = other;
        } else {
            link.lower = other;
        }
        is_whole.then_some(link)
    }

    /// Refuses what a switch must not have; with `take_over`, addresses and the default route do
    /// not matter.
    ///
    /// Errors: [`OpenError::NotEthernet`], [`OpenError::Enslaved`], [`OpenError::HasAddress`],
    /// [`OpenError::HasDefaultRoute`].
    pub fn check_suitable(&self, take_over: bool) -> Result<(), OpenError> {
        let name = self.name.clone();
        if !self.ethernet {
            return Err(OpenError::NotEthernet(name));
        }
        if let Some(index) = self.master {
            let links = Self::all().map_err(|e| OpenError::new(&name, "listing interfaces", e))?;
            let master = match links.into_iter().find(|link| link.index == index) {
                Some(link) => link.name,
                None => format!("interface {index}"),
            };
            return Err(OpenError::Enslaved { name, master });
        }
        if take_over {
            return Ok(());
        }
        let addresses = self
            .addresses()
            .map_err(|e| OpenError::new(&name, "listing addresses", e))?;
        if let Some(&address) = addresses.first() {
            return Err(OpenError::HasAddress { name, address });
        }
        let has_default_route = self.has_default_route();
        if has_default_route.map_err(|e| OpenError::new(&name, "listing routes", e))? {
            return Err(OpenError::HasDefaultRoute(name));
        }
        Ok(())
    }

    /// Its IP addresses, without the IPv6 link-local addresses that every interface gives itself.
    pub fn addresses(&self) -> io::Result<Vec<IpAddr>> {
        let mut found = Vec::new();
        dump(libc::RTM_GETADDR, &[0; ADDRESS_HEADER_BYTES], |body| {
            let address = interface_address(body);
            let own = address.filter(|(index, _)| *index == self.index);
            found.extend(own.map(|(_, address)| address));
        })?;
        Ok(found)
    }

    /// Returns true if an IPv4 or IPv6 default route leaves through it.
    pub fn has_default_route(&self) -> io::Result<bool> {
        let mut found = false;
        dump(libc::RTM_GETROUTE, &[0; ROUTE_HEADER_BYTES], |body| {
            // The default route's destination has 0 bits.
            let is_default = body.get(1) == Some(&0);
            let is_unicast = body.get(7) == Some(&libc::RTN_UNICAST);
            if !is_default || !is_unicast {
                return;
            }
            for (number, value) in attributes(body.get(ROUTE_HEADER_BYTES..).unwrap_or_default()) {
                found |= match number {
                    libc::RTA_OIF => u32_at(value, 0) == self.index,
                    libc::RTA_MULTIPATH => next_hops(value).any(|index| index == self.index),
                    _ => false,
                };
            }
        })?;
        Ok(found)
    }

    /// Returns the speed that it has, and those that it could have; nothing of what it does not
    /// know.
    pub fn modes(&self) -> LinkModes {
        let Ok(words) = sys::ethtool(&self.name, &[ETHTOOL_GET_SETTINGS]) else {
            return LinkModes::default();
        };
        // Shape: `struct ethtool_cmd` of linux/ethtool.h, word by word.
        let [low_0, low_1, duplex, port] = words[3].to_ne_bytes();
        let [_, _, autoneg, _] = words[4].to_ne_bytes();
        let [high_0, high_1, _, _] = words[7].to_ne_bytes();
        let speed_low = u16::from_ne_bytes([low_0, low_1]);
        let speed_high = u16::from_ne_bytes([high_0, high_1]);
        let speed = u32::from(speed_high) << 16 | u32::from(speed_low);
        let is_known = speed != 0 && speed != SPEED_UNKNOWN;
        LinkModes {
            speed_mbps: is_known.then_some(speed),
            half_duplex: duplex == 0,
            fibre: port == PORT_FIBRE,
            autoneg: autoneg == 1,
            supported: words[1],
            advertised: words[2],
            peer: words[8],
        }
    }
}

/// The name of a link's kind, from its nested information.
fn kind(information: &[u8]) -> Option<&[u8]> {
    let mut rows = attributes(information);
    let (_, name) = rows.find(|row| row.0 == libc::IFLA_INFO_KIND)?;
    Some(name.strip_suffix(&[0]).unwrap_or(name))
}

/// The speed of an interface. Modes are bits as in `ADVERTISED_*` of `linux/ethtool.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkModes {
    /// Its speed in Mb/s, if it knows one.
    pub speed_mbps: Option<u32>,
    /// True if only one end sends at a time.
    pub half_duplex: bool,
    /// True if it is of glass.
    pub fibre: bool,
    /// True if it came to its speed by talking with its peer.
    pub autoneg: bool,
    /// The modes that it can.
    pub supported: u32,
    /// The modes that it advertises.
    pub advertised: u32,
    /// The modes that its peer advertises.
    pub peer: u32,
}

/// Changes the modes that the interface `name` advertises.
///
/// Errors: as for opening; most interfaces that are no hardware refuse.
pub fn advertise(name: &str, modes: u32) -> Result<(), OpenError> {
    check_name(name)?;
    set_modes(name, modes).map_err(|e| OpenError::new(name, "setting what it advertises", e))
}

fn set_modes(name: &str, modes: u32) -> io::Result<()> {
    let mut words = sys::ethtool(name, &[ETHTOOL_GET_SETTINGS])?;
    words[0] = ETHTOOL_SET_SETTINGS;
    words[2] = modes;
    sys::ethtool(name, &words)?;
    Ok(())
}

/// Refuses a name that the kernel has no room for, and the empty one.
pub(crate) fn check_name(name: &str) -> Result<(), OpenError> {
    match name.len() {
        0 => Err(OpenError::NoSuchInterface(String::new())),
        1..=NAME_BYTES => Ok(()),
        _ => Err(OpenError::NameTooLong(name.to_string())),
    }
}

/// Sets the interface `name` administratively up or down.
///
/// Errors: as for opening.
pub fn set_link(name: &str, up: bool) -> Result<(), OpenError> {
    check_name(name)?;
    let flag = libc::IFF_UP as libc::c_short;
    let changed = sys::change_flags(name, |flags| if up { flags | flag } else { flags & !flag });
    changed.map_err(|e| OpenError::new(name, "setting the link", e))
}

/// Returns true if large receive offload is on; not if the interface has none.
pub(crate) fn has_lro(name: &str) -> bool {
    sys::ethtool(name, &[ETHTOOL_GET_FLAGS])
        .is_ok_and(|[_, flags, ..]| flags & ETHTOOL_FLAG_LRO != 0)
}

/// Turns large receive offload on or off. Errors: the system's.
pub(crate) fn set_lro(name: &str, on: bool) -> io::Result<()> {
    let [_, flags, ..] = sys::ethtool(name, &[ETHTOOL_GET_FLAGS])?;
    let new = if on {
        flags | ETHTOOL_FLAG_LRO
    } else {
        flags & !ETHTOOL_FLAG_LRO
    };
    sys::ethtool(name, &[ETHTOOL_SET_FLAGS, new]).map(drop)
}

/// The number of the interface in a message about an address, and the address; none if that is
/// link-local of IPv6, which every interface gives itself.
pub(crate) fn interface_address(body: &[u8]) -> Option<(u32, IpAddr)> {
    let attributes = attributes(body.get(ADDRESS_HEADER_BYTES..)?);
    // The local address comes beside the peer's on point-to-point links.
    let value = attributes
        .filter(|row| [libc::IFA_ADDRESS, libc::IFA_LOCAL].contains(&row.0))
        .max_by_key(|row| row.0);
    Some((u32_at(body, 4), address(value?.1)?))
}

/// An address attribute's value, unless it is link-local by IPv6's rule.
fn address(value: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Some(Ipv4Addr::from(octets).into());
    }
    let address = Ipv6Addr::from(<[u8; 16]>::try_from(value).ok()?);
    (!address.is_unicast_link_local()).then_some(address.into())
}

/// The interfaces of a multipath route.
fn next_hops(mut bytes: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(bytes, 0));
        let hop = bytes.get(..len).filter(|_| len >= NEXT_HOP_HEADER_BYTES)?;
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(u32_at(hop, 4))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fifteen_bytes_are_accepted_and_sixteen_refused() {
        assert!(check_name("123456789012345").is_ok());
        let error = check_name("1234567890123456").expect_err("too long");
        assert!(
            error.to_string().contains("16 bytes, at most 15"),
            "{error}"
        );
        assert!(matches!(check_name(""), Err(OpenError::NoSuchInterface(_))));
    }

    #[test]
    fn a_missing_interface_is_named_with_what_to_type() {
        let error = Link::by_name("no-such-link").expect_err("it is not there");
        let text = "no interface named 'no-such-link' (ip link shows them)";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn the_loopback_interface_is_refused() {
        let lo = Link::by_name("lo").expect("every namespace has it");
        let refusal = lo.check_suitable(true);
        assert!(matches!(refusal, Err(OpenError::NotEthernet(_))));
    }

    #[test]
    fn a_wireless_event_says_nothing_of_its_interface() {
        let attribute = |number: u16, value: &[u8; 4]| {
            [&8u16.to_ne_bytes()[..], &number.to_ne_bytes(), value].concat()
        };
        let name = attribute(libc::IFLA_IFNAME, b"wl0\0");
        let event = [vec![0; LINK_HEADER_BYTES], name].concat();
        assert_eq!(Link::parse(&event), None);
        let mtu = attribute(libc::IFLA_MTU, &1500u32.to_ne_bytes());
        let link = Link::parse(&[event, mtu].concat()).expect("it has an MTU");
        assert_eq!((link.name.as_str(), link.mtu_bytes), ("wl0", 1500));
    }

    #[test]
    fn an_interface_that_lies_upon_another_is_no_end_of_a_pair() {
        let attribute = |number: u16, value: [u8; 4]| {
            [&8u16.to_ne_bytes()[..], &number.to_ne_bytes(), &value].concat()
        };
        let kind = libc::IFLA_INFO_KIND.to_ne_bytes();
        let kind = [&9u16.to_ne_bytes()[..], &kind, b"veth\0\0\0\0"].concat();
        let information = libc::IFLA_LINKINFO.to_ne_bytes();
        let veth = [&16u16.to_ne_bytes()[..], &information, &kind].concat();
        let elsewhere = attribute(libc::IFLA_LINK_NETNSID, [0; 4]);
        let both = [&veth[..], &elsewhere].concat();
        for (more, lower, peer) in [
            (&[][..], Some(7), None),
            (&veth[..], None, Some(7)),
            (&elsewhere[..], None, None),
            (&both[..], None, None),
        ] {
            let mtu = attribute(libc::IFLA_MTU, 1500u32.to_ne_bytes());
            let other = attribute(libc::IFLA_LINK, 7u32.to_ne_bytes());
            let message = [&[0u8; LINK_HEADER_BYTES][..], &mtu, &other, more].concat();
            let link = Link::parse(&message).expect("it has an MTU");
            assert_eq!((link.lower, link.peer), (lower, peer));
        }
    }

    #[test]
    fn multipath_routes_are_walked_to_their_end() {
        let mut bytes = vec![8, 0, 0, 0];
        bytes.extend(7u32.to_ne_bytes());
        bytes.extend([12, 0, 0, 0]);
        bytes.extend(9u32.to_ne_bytes());
        bytes.extend([4, 0, 5, 0]);
        assert_eq!(next_hops(&bytes).collect::<Vec<_>>(), [7, 9]);
        assert_eq!(
            next_hops(&[0; 16]).count(),
            0,
            "a length of 0 does not loop"
        );
    }
}
