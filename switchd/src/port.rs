//! An open port: its driver, and its description in OpenFlow's terms.

use std::hash::{BuildHasher, RandomState};
use std::mem::take;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::table_features::FieldId;
use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState};
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Mac, PortNo};
use bofuss_ports::{
    AfPacket, AfPacketOptions, Counters, Fanout, FanoutRule, Link, LinkModes, OpenError, PcapFile,
    PortDriver, PortError, Tap,
};

use crate::config::{PortKind, PortSpec};
use crate::error::{Result, context};
use crate::features;
use crate::kept;
use crate::successor::Predecessor;

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
    /// The sockets that other workers have, if there are any.
    pub group: Option<PortGroup>,
    /// The same sockets, from which the first worker takes what belongs to it.
    pub others: Vec<Box<dyn PortDriver>>,
}

/// What several workers have of a port.
pub struct PortGroup {
    /// How frames are divided among them,
    pub fanout: Fanout,
    /// and the rule by which they are now.
    pub rule: FanoutRule,
    /// The sockets of all workers but the first, each for a worker that takes it.
    pub members: Vec<AfPacket>,
}

/// A port as another worker has it.
pub struct PortMember {
    number: PortNo,
    name: String,
    driver: AfPacket,
    link: Option<Link>,
}

impl PortMember {
    /// The port, on the worker's thread.
    pub fn open(self) -> OpenPort {
        OpenPort {
            number: self.number,
            name: self.name,
            driver: Box::new(self.driver),
            link: self.link,
            rate_kbps: None,
            without_ethernet: false,
            ended: false,
            group: None,
            others: Vec::new(),
        }
    }
}

/// The name under which the service manager keeps an interface.
pub fn kept_name(interface: &str) -> String {
    format!("port-{interface}")
}

/// The wait between two attempts to open an interface that another switch has.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Opens a port. Errors: why it cannot be opened, and what to type.
pub fn open(spec: &PortSpec, workers: usize) -> Result<OpenPort> {
    open_until(spec, workers, Instant::now(), None)
}

/// Opens a port, which waits for the predecessor if that has it. If another switch has it, which
/// may be ending, tries again until `end`.
///
/// Errors: as [`open`].
pub fn open_until(
    spec: &PortSpec,
    workers: usize,
    end: Instant,
    mut predecessor: Option<&mut Predecessor>,
) -> Result<OpenPort> {
    loop {
        match try_open(spec, workers, predecessor.as_deref_mut()) {
            Err(OpenError::InUse(_)) if Instant::now() < end => sleep(RETRY_INTERVAL),
            opened => return opened.map_err(context(format_args!("port {}", spec.kind))),
        }
    }
}

fn try_open(
    spec: &PortSpec,
    workers: usize,
    predecessor: Option<&mut Predecessor>,
) -> Result<OpenPort, OpenError> {
    let mut group = None;
    let mut others: Vec<Box<dyn PortDriver>> = Vec::new();
    let interface = spec.kind.interface();
    let left = predecessor.and_then(|predecessor| predecessor.port(interface?));
    let (driver, link): (Box<dyn PortDriver>, _) = match &spec.kind {
        PortKind::Interface(name) if workers > 1 => {
            let secret = RandomState::new().hash_one(name);
            let opened = AfPacket::open_group(name, spec.options, workers, secret);
            let (mut members, fanout) = opened?;
            let first = members.remove(0);
            for member in &members {
                others.push(Box::new(member.beside()));
            }
            group = Some(PortGroup {
                fanout,
                rule: FanoutRule::Only(0),
                members,
            });
            (Box::new(first), Some(Link::by_name(name)?))
        }
        PortKind::Interface(name) => {
            let waits = left.is_some();
            let port = AfPacket::open(
                name,
                AfPacketOptions {
                    waits,
                    ..spec.options
                },
            )?;
            if !port.link().admin_up {
                bofuss_ports::set_link(name, true)?;
            }
            let link = Link::by_name(name)?;
            (Box::new(port), Some(link))
        }
        PortKind::Tap(name) => open_tap(name, false, spec.options.pad_runts, left.flatten())?,
        PortKind::Tun(name) => open_tap(name, true, false, left.flatten())?,
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
        group,
        others,
    })
}

/// Opens a TAP or TUN interface, with the descriptor that a predecessor has handed over or the
/// service manager has kept, if there is one. Errors: as [`Tap::open`].
fn open_tap(
    name: &str,
    is_tun: bool,
    pad_runts: bool,
    left: Option<OwnedFd>,
) -> Result<(Box<dyn PortDriver>, Option<Link>), OpenError> {
    let kept = kept::take(&kept_name(name));
    let adopt = |descriptor| Tap::adopt(descriptor, name, is_tun, pad_runts);
    let anew = || {
        if is_tun {
            Tap::open_tun(name)
        } else {
            Tap::open(name, pad_runts)
        }
    };
    let port = match (left, kept) {
        (Some(left), _) => adopt(left)?,
        // Its interface may be gone.
        (None, Some(kept)) => adopt(kept).or_else(|_| anew())?,
        (None, None) => anew()?,
    };
    bofuss_ports::set_link(name, true)?;
    Ok((Box::new(port), Some(Link::by_name(name)?)))
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
            group: None,
            others: Vec::new(),
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

    /// Has the service manager keep its interface while the switch restarts, if that would vanish
    /// with the process.
    pub fn keep(&self) {
        if let (Some(name), Some(descriptor)) = (self.interface(), self.driver.descriptor()) {
            kept::keep(&kept_name(name), descriptor.as_fd());
        }
    }

    /// Has the service manager keep its interface no longer.
    pub fn let_go(&self) {
        if let (Some(name), Some(_)) = (self.interface(), self.driver.descriptor()) {
            kept::let_go(&kept_name(name));
        }
    }

    /// Takes it as other workers have it, each once.
    pub fn take_members(&mut self) -> Vec<PortMember> {
        let members = self.group.as_mut().map(|group| take(&mut group.members));
        let members = members.unwrap_or_default().into_iter();
        let with_driver = members.map(|driver| PortMember {
            number: self.number,
            name: self.name.clone(),
            driver,
            link: self.link.clone(),
        });
        with_driver.collect()
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

    /// Returns true if its packets have no Ethernet header.
    pub fn is_without_ethernet(&self) -> bool {
        self.without_ethernet
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
        // None may come of a batch that was dropped whole.
        self.ended |= count == 0 && self.driver.fd().is_none() && self.driver.is_drained();
        Ok(count)
    }

    /// What the port has moved and dropped, also what was dropped when frames were taken from the
    /// sockets of other workers. These count what else they do themselves.
    pub fn counters(&mut self) -> Counters {
        let mut all = self.driver.counters();
        for other in &mut self.others {
            all.add(&other.counters());
        }
        all
    }

    /// Returns true if frames can leave, as far as is known.
    pub fn has_link(&self) -> bool {
        let link = self.link.as_ref();
        link.is_none_or(|link| link.admin_up && link.carrier)
    }

    /// The port's description for controllers. The switch adds its configuration, and `PortSet` the
    /// port by which its packets come back.
    pub fn desc(&self) -> PortDesc {
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
            state: if self.has_link() {
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

#[cfg(test)]
mod tests {
    use bofuss_ports::BATCH_FRAMES;

    use super::*;

    /// A classic capture of `empty` packets without a byte, and a frame of 60.
    fn capture(empty: usize) -> Vec<u8> {
        let packet = |bytes: u32| [0, 0, bytes, bytes];
        let mut words = vec![0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 1];
        words.extend((0..empty).flat_map(|_| packet(0)).chain(packet(60)));
        words.extend([0; 15]);
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn a_capture_goes_on_after_a_batch_that_gives_no_frame() {
        let name = format!("bofuss-port-{}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, capture(3 * BATCH_FRAMES)).unwrap();
        let spec = PortSpec {
            number: PortNo(1),
            kind: PortKind::Pcap(path.clone(), None),
            rate_kbps: None,
            options: AfPacketOptions::default(),
        };
        let mut port = open(&spec, 1).unwrap();
        std::fs::remove_file(path).unwrap();
        let (pool, mut frames) = (Pool::new(1 << 20), Vec::new());
        let mut turns = 0;
        while port.is_unpolled() {
            port.receive(&pool, &mut frames, BATCH_FRAMES).unwrap();
            turns += 1;
        }
        assert_eq!((frames.len(), turns), (1, 5));
    }
}
