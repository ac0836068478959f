//! An open port: its driver, and its description as OpenFlow wants it.

use std::path::Path;

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState};
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Mac, PortNo};
use bofuss_ports::{AfPacket, AfPacketOptions, Link, OpenError, PcapFile, Port, PortError, Tap};

use crate::config::{PortKind, PortSpec};

/// Link speeds in Mb/s and what OpenFlow calls them, the slowest first.
const SPEEDS: &[(u32, PortFeatures)] = &[
    (10, PortFeatures::FD_10MB),
    (100, PortFeatures::FD_100MB),
    (1_000, PortFeatures::FD_1GB),
    (10_000, PortFeatures::FD_10GB),
    (40_000, PortFeatures::FD_40GB),
    (100_000, PortFeatures::FD_100GB),
    (1_000_000, PortFeatures::FD_1TB),
];

/// A port that works.
pub struct OpenPort {
    /// Its number.
    pub number: PortNo,
    /// What it is called.
    pub name: String,
    /// What moves its frames.
    pub driver: Box<dyn Port>,
    /// Its interface, if it has one.
    link: Option<Link>,
    /// Its configured rate, which counts instead of the interface's.
    pub rate_kbps: Option<u32>,
    /// Whether a file's frames are at their end.
    ended: bool,
}

/// The interface that a port is or makes.
pub fn interface_name(kind: &PortKind) -> Option<&String> {
    match kind {
        PortKind::Interface(name) | PortKind::Tap(name) => Some(name),
        PortKind::Pcap(..) => None,
    }
}

/// Opens a port. Errors: why it cannot be had, and what to type.
pub fn open(spec: &PortSpec, options: AfPacketOptions) -> Result<OpenPort, OpenError> {
    let (driver, link, name): (Box<dyn Port>, _, _) = match &spec.kind {
        PortKind::Interface(name) => {
            let ring_slots = spec.ring_slots.unwrap_or(options.ring_slots);
            let options = AfPacketOptions {
                ring_slots,
                ..options
            };
            let port = AfPacket::open(name, options)?;
            if !port.link().admin_up {
                bofuss_ports::set_link(name, true)?;
            }
            let link = Link::by_name(name)?;
            (Box::new(port), Some(link), name.clone())
        }
        PortKind::Tap(name) => {
            let port = Tap::open(name, options.pad_runts)?;
            bofuss_ports::set_link(name, true)?;
            let link = Link::by_name(name)?;
            (Box::new(port), Some(link), name.clone())
        }
        PortKind::Pcap(input, output) => {
            let port = PcapFile::open(Some(input), output.as_deref())?;
            (Box::new(port), None, file_name(input))
        }
    };
    Ok(OpenPort {
        number: spec.number,
        name,
        driver,
        link,
        rate_kbps: spec.rate_kbps,
        ended: false,
    })
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

impl OpenPort {
    /// The kernel's number of its interface.
    pub fn index(&self) -> Option<u32> {
        self.link.as_ref().map(|link| link.index)
    }

    /// The name of its interface.
    pub fn interface(&self) -> Option<&str> {
        self.link.as_ref().map(|link| link.name.as_str())
    }

    /// The address of its interface.
    pub fn mac(&self) -> Option<[u8; 6]> {
        self.link.as_ref().map(|link| link.mac)
    }

    /// Whether it has no descriptor to poll and still frames to give.
    pub fn is_unpolled(&self) -> bool {
        self.driver.fd().is_none() && !self.ended
    }

    /// The rate of its interface in kb/s, 0 if it knows none.
    pub fn interface_kbps(&self) -> u32 {
        let mbps = self.link.as_ref().and_then(Link::speed_mbps);
        mbps.unwrap_or(0).saturating_mul(1000)
    }

    /// Notes what the kernel says of its interface.
    pub fn update(&mut self, link: &Link) {
        self.driver.set_mtu(link.mtu_bytes);
        self.link = Some(link.clone());
    }

    /// Receives a batch.
    pub fn receive(
        &mut self,
        pool: &Pool,
        frames: &mut Vec<Frame>,
        max: usize,
    ) -> Result<usize, PortError> {
        let count = self.driver.recv(pool, frames, max)?;
        self.ended |= count == 0 && self.driver.fd().is_none();
        Ok(count)
    }

    /// The port as controllers see it; the configuration is the switch's to fill in.
    pub fn desc(&self) -> PortDesc {
        let up = self
            .link
            .as_ref()
            .is_none_or(|link| link.admin_up && link.carrier);
        let kbps = self.interface_kbps();
        let speed = SPEEDS
            .iter()
            .rev()
            .find(|(at_least, _)| kbps / 1000 >= *at_least);
        let features = speed.map_or(PortFeatures(0), |row| row.1 | PortFeatures::COPPER);
        let kbps = self.rate_kbps.unwrap_or(kbps);
        PortDesc {
            port_no: self.number,
            hw_addr: Mac(self.mac().unwrap_or_default()),
            name: FixedStr(self.name.clone()),
            config: PortConfig(0),
            state: if up {
                PortState(0)
            } else {
                PortState::LINK_DOWN
            },
            curr: features,
            supported: features,
            curr_speed: kbps,
            max_speed: kbps,
            ..PortDesc::default()
        }
    }
}
