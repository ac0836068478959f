//! An open port: its driver, and its description in OpenFlow's terms.

use std::thread::sleep;
use std::time::{Duration, Instant};

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::table_features::FieldId;
use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState};
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Mac, PortNo};
use bofuss_ports::{AfPacket, Link, LinkModes, OpenError, PcapFile, PortDriver, PortError, Tap};

use crate::config::{PortKind, PortSpec};
use crate::error::{Result, context};
use crate::features;

/// An open port.
pub struct OpenPort {
    /// Its number.
    pub number: PortNo,
    /// Its name.
    pub name: String,
    /// Its driver.
    pub driver: Box<dyn PortDriver>,
    /// Its interface, if it has one.
    link: Option<Link>,
    /// Its configured rate, which replaces that of its interface.
    pub rate_kbps: Option<u32>,
    /// True if its packets have no Ethernet header.
    without_ethernet: bool,
    /// True if all frames of its capture file were read.
    ended: bool,
}

/// The wait between two attempts to open an interface that another switch has.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Opens a port. Errors: why it cannot be opened, and what to type.
pub fn open(spec: &PortSpec) -> Result<OpenPort> {
    open_until(spec, Instant::now())
}

/// Opens a port. If another switch has it, which may be ending, tries again until `end`.
///
/// Errors: as [`open`].
pub fn open_until(spec: &PortSpec, end: Instant) -> Result<OpenPort> {
    loop {
        match try_open(spec) {
            Err(OpenError::InUse(_)) if Instant::now() < end => sleep(RETRY_INTERVAL),
            opened => return opened.map_err(context(format_args!("port {}", spec.kind))),
        }
    }
}

fn try_open(spec: &PortSpec) -> Result<OpenPort, OpenError> {
    let (driver, link): (Box<dyn PortDriver>, _) = match &spec.kind {
        PortKind::Interface(name) => {
            let port = AfPacket::open(name, spec.options)?;
            if !port.link().admin_up {
                bofuss_ports::set_link(name, true)?;
            }
            let link = Link::by_name(name)?;
            (Box::new(port), Some(link))
        }
        PortKind::Tap(name) => {
            let port = Tap::open(name, spec.options.pad_runts)?;
            bofuss_ports::set_link(name, true)?;
            let link = Link::by_name(name)?;
            (Box::new(port), Some(link))
        }
        PortKind::Tun(name) => {
            let port = Tap::open_tun(name)?;
            bofuss_ports::set_link(name, true)?;
            let link = Link::by_name(name)?;
            (Box::new(port), Some(link))
        }
        PortKind::Pcap(input, output) => {
            let port = PcapFile::open(Some(input), output.as_deref())?;
            (Box::new(port), None)
        }
    };
    Ok(OpenPort {
        number: spec.number,
        name: spec.kind.name(),
        driver,
        link,
        rate_kbps: spec.rate_kbps,
        without_ethernet: matches!(spec.kind, PortKind::Tun(_)),
        ended: false,
    })
}

#[cfg(test)]
impl OpenPort {
    /// A port in memory, for a test.
    pub fn in_memory(number: PortNo, driver: bofuss_ports::Memory) -> Self {
        Self {
            number,
            name: format!("memory{number}"),
            driver: Box::new(driver),
            link: None,
            rate_kbps: None,
            without_ethernet: false,
            ended: false,
        }
    }
}

fn kbps(modes: &LinkModes) -> u32 {
    modes.speed_mbps.unwrap_or(0).saturating_mul(1000)
}

impl OpenPort {
    /// Applies another `spec` of the same port.
    pub fn adjust(&mut self, spec: &PortSpec) {
        self.number = spec.number;
        self.rate_kbps = spec.rate_kbps;
        let options = spec.options;
        self.driver.tune(options.ring_slots, options.pad_runts);
    }

    /// Its interface.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// The kernel's index of its interface.
    pub fn index(&self) -> Option<u32> {
        self.link.as_ref().map(|link| link.index)
    }

    /// The kernel's index of the interface at the other end of its cable, if that is here, too.
    pub fn peer_index(&self) -> Option<u32> {
        self.link.as_ref()?.peer
    }

    /// The name of its interface.
    pub fn interface(&self) -> Option<&str> {
        self.link.as_ref().map(|link| link.name.as_str())
    }

    /// The MAC address of its interface, if it has one.
    pub fn mac(&self) -> Option<[u8; 6]> {
        let link = self.link.as_ref()?;
        (!self.without_ethernet).then_some(link.mac)
    }

    /// Returns true if it has no descriptor to poll but still has frames.
    pub fn is_unpolled(&self) -> bool {
        self.driver.fd().is_none() && !self.ended
    }

    /// The rate of its interface in kb/s; 0 if unknown.
    pub fn interface_kbps(&self) -> u32 {
        kbps(&self.modes())
    }

    fn modes(&self) -> LinkModes {
        self.link.as_ref().map(Link::modes).unwrap_or_default()
    }

    /// Changes the features that its interface advertises, if it has one.
    pub fn advertise(&self, features: PortFeatures) -> Option<Result<(), OpenError>> {
        let link = self.link.as_ref()?;
        let modes = features::to_modes(features, link.modes().supported);
        Some(bofuss_ports::advertise(&link.name, modes))
    }

    /// Applies a link event of its interface.
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

    /// The port's description for controllers. The switch adds its configuration, and `PortSet` the
    /// port by which its packets come back.
    pub fn desc(&self) -> PortDesc {
        let up = self
            .link
            .as_ref()
            .is_none_or(|link| link.admin_up && link.carrier);
        let modes = self.modes();
        let supported = features::supported(&modes);
        let kbps = self.rate_kbps.unwrap_or(kbps(&modes));
        let packet_type = vec![FieldId::Known(PACKET_TYPE, false)];
        let pipeline_fields = self.without_ethernet.then_some(packet_type);
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
            curr: features::current(&modes),
            advertised: features::of_modes(modes.advertised),
            supported,
            peer: features::of_modes(modes.peer),
            curr_speed: kbps,
            max_speed: kbps.max(features::fastest_mbps(supported).saturating_mul(1000)),
            pipeline_input: pipeline_fields.clone(),
            pipeline_output: pipeline_fields,
            ..PortDesc::default()
        }
    }
}
