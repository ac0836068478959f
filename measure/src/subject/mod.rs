//! The subject of measurements: a set-up that the meter starts between two hosts of its own, or a
//! switch that is there, with the interfaces of this machine that are connected to it.

pub mod address;
pub mod controller;
pub mod faults;
pub mod forward;
pub mod installed;
pub mod passage;
pub mod probe;
pub mod reflector;
pub mod template;
pub mod time_stamps;
pub mod truth;

use std::path::{Path, PathBuf};

use bofuss_ports::{AfPacket, NetNs, StampOffer, StampSource, StampedSocket};

use crate::error::Result;
use crate::subject::address::SwitchAddress;
use crate::subject::faults::Faults;
use crate::subject::forward::READY;
use crate::subject::probe::FrameProbe;
use crate::subject::reflector::{FarEnd, Reflector};
use crate::subject::time_stamps::{StampedEnds, TimeStamps};
use crate::subject::truth::TrueDelays;
use crate::testbed::foreign::{kernel_datapath, original_is_in};
use crate::testbed::forwarder::{Forwarder, OPENFLOW_PORT, SwitchPlan};
use crate::testbed::held::held;
use crate::testbed::net::{Bed, HOST_PORT, SWITCH_PORTS, context, offloads_on, run};
use crate::testbed::setup::Setup;
use crate::testbed::traffic::{open, open_whole};

/// A set-up by its name.
#[derive(Clone, Debug, PartialEq)]
pub enum SetupName {
    /// One that the bench has, too.
    Known(Setup),
    /// A forwarder with faults, and their text.
    Faulty(String),
    /// The original BOFUSS: `ofdatapath` and `ofprotocol` of a folder.
    Original,
}

/// The name of the original's set-up.
const ORIGINAL: &str = "bofuss-original";

impl SetupName {
    /// The set-up of a name: `wire` is two hosts on one cable, `forwarder:FAULTS` the yardstick
    /// with faults.
    ///
    /// Errors: there is none of that name.
    pub fn of(name: &str) -> Result<Self> {
        if let Some(faults) = name.strip_prefix("forwarder:") {
            faults.parse::<Faults>()?;
            return Ok(Self::Faulty(faults.into()));
        }
        if name == ORIGINAL {
            return Ok(Self::Original);
        }
        let known = match name {
            "wire" => Some(Setup::Direct),
            name => Setup::ALL.into_iter().find(|setup| setup.name() == name),
        };
        known.map(Self::Known).ok_or_else(|| {
            let names = Setup::ALL.map(Setup::name).join(", ");
            format!(
                "no set-up is called {name}; there are wire, {names}, {ORIGINAL}, forwarder:FAULTS"
            )
            .into()
        })
    }

    /// Returns true if this machine has what it needs; `original` is the folder of the original
    /// BOFUSS.
    pub fn is_here(&self, programs: &Path, original: &Path) -> bool {
        match self {
            Self::Known(setup) => setup.is_here(programs),
            Self::Faulty(_) => true,
            Self::Original => original_is_in(original),
        }
    }

    /// Says why it is not here, or which option names its folder, if that is known.
    pub fn hint(&self) -> String {
        match self {
            Self::Known(Setup::OvsKernel) => {
                let why = kernel_datapath().err();
                why.map_or_else(String::new, |why| format!(": {why}"))
            }
            Self::Known(_) | Self::Faulty(_) => String::new(),
            Self::Original => ": name the folder of ofdatapath and ofprotocol by --original".into(),
        }
    }

    /// Returns true if it speaks OpenFlow.
    pub fn is_switch(&self) -> bool {
        match self {
            Self::Known(setup) => setup.is_switch(),
            Self::Faulty(_) => false,
            Self::Original => true,
        }
    }

    fn start(&self, programs: &Path, original: &Path) -> Result<Forwarder> {
        let own = std::env::current_exe().map_err(|e| format!("own path: {e}"))?;
        match self {
            Self::Known(Setup::Yardstick) => {
                Forwarder::of(held(own).arg("forward").args(SWITCH_PORTS), READY)
            }
            Self::Faulty(faults) => Forwarder::faulty(&own, faults, READY),
            Self::Known(setup) => setup.start(programs),
            Self::Original => Forwarder::original(original, &SwitchPlan::usual()),
        }
    }
}

/// The interfaces by which frames go in and come out.
enum SubjectEnds {
    /// Hosts of our own.
    Bed(Bed),
    /// Interfaces of this network namespace; without the second, frames come back to the first.
    Here(String, Option<String>),
}

/// A set-up that the meter started, and can start again.
pub struct OwnSetup {
    /// Its name.
    pub setup: SetupName,
    /// The folder of bofuss, and that of the original.
    pub programs: PathBuf,
    /// See `programs`.
    pub original: PathBuf,
}

/// Something to measure.
pub struct TestSubject {
    /// Its name in results.
    pub name: String,
    /// Its OpenFlow side, if it has one.
    pub address: Option<SwitchAddress>,
    /// True if the meter started it.
    pub is_own: bool,
    /// The set-up that it was started from, if it was.
    pub own: Option<OwnSetup>,
    /// The running set-up; it stops before its hosts vanish.
    pub forwarder: Option<Forwarder>,
    /// The clock that stamps the frames of loads.
    pub stamps: TimeStamps,
    places: SubjectEnds,
}

impl TestSubject {
    /// Starts a set-up in this network namespace, which should be one of its own.
    ///
    /// Errors: what does not start.
    pub fn start(name: &str, programs: &Path, original: &Path) -> Result<Self> {
        let setup = SetupName::of(name)?;
        run("ip link set lo up")?;
        let is_wire = setup == SetupName::Known(Setup::Direct);
        let bed = Bed::new(is_wire, false)?;
        let forwarder = setup.start(programs, original)?;
        let mut address = None;
        if setup.is_switch() {
            address = Some(format!("tcp:127.0.0.1:{OPENFLOW_PORT}").parse()?);
        }
        Ok(Self {
            name: name.into(),
            address,
            is_own: true,
            own: Some(OwnSetup {
                setup,
                programs: programs.into(),
                original: original.into(),
            }),
            forwarder: Some(forwarder),
            stamps: TimeStamps::default(),
            places: SubjectEnds::Bed(bed),
        })
    }

    /// A switch that is there.
    pub fn existing(address: SwitchAddress, near: &str, far: Option<&str>) -> Self {
        Self {
            name: address.to_string(),
            address: Some(address),
            is_own: false,
            own: None,
            forwarder: None,
            stamps: TimeStamps::default(),
            places: SubjectEnds::Here(near.into(), far.map(Into::into)),
        }
    }

    /// Two interfaces of this machine that are connected with each other.
    pub fn cable(near: &str, far: &str) -> Self {
        Self {
            name: "wire".into(),
            address: None,
            is_own: true,
            own: None,
            forwarder: None,
            stamps: TimeStamps::default(),
            places: SubjectEnds::Here(near.into(), Some(far.into())),
        }
    }

    /// The capabilities of the interfaces of this machine, with their names.
    fn offers(&self) -> Result<Vec<(&str, StampOffer)>> {
        match &self.places {
            SubjectEnds::Bed(bed) => {
                let offer = bed.host(false, || Ok(StampOffer::of(HOST_PORT)))?;
                Ok(vec![(HOST_PORT, offer)])
            }
            SubjectEnds::Here(near, far) => {
                let mut offers = vec![(&near[..], StampOffer::of(near))];
                offers.extend(far.as_deref().map(|far| (far, StampOffer::of(far))));
                Ok(offers)
            }
        }
    }

    /// Chooses who stamps frames: what was asked for, or the best that the interfaces offer.
    ///
    /// Errors: they do not offer what was asked for.
    pub fn choose_stamps(&mut self, wanted: Option<TimeStamps>) -> Result<()> {
        let chosen = TimeStamps::choose(wanted, &self.offers()?)?;
        self.stamps = chosen;
        Ok(())
    }

    /// Checks that the interfaces are there, usable and up.
    ///
    /// Errors: the first that is not, and what to do.
    pub fn check_interfaces(&self) -> Result<()> {
        let SubjectEnds::Here(near, far) = &self.places else {
            return Ok(());
        };
        for interface in [Some(near), far.as_ref()].into_iter().flatten() {
            if !open(interface)?.link().admin_up {
                return Err(format!("{interface} is down: ip link set {interface} up").into());
            }
        }
        Ok(())
    }

    /// Sentences on whose clock the time stamps of frames are, and on the user's interfaces.
    pub fn time_stamps(&self) -> Vec<String> {
        let mut said = vec![format!("time stamps: {}", self.stamps.words())];
        if let SubjectEnds::Bed(_) = &self.places {
            said.push("interfaces: virtual, without time stamps of a network card".into());
            return said;
        }
        for (interface, offer) in self.offers().unwrap_or_default() {
            said.push(match offer.card {
                Some(clock) => {
                    format!("interface {interface}: its network card stamps frames, clock {clock}")
                }
                None => format!("interface {interface}: offers no time stamps of a network card"),
            });
            let on = offloads_on(interface);
            said.push(format!("interface {interface}: offloads that are on: {on}"));
        }
        said
    }

    /// Returns true if frames come back to the interface that they left from, reflected by another
    /// machine.
    pub fn is_reflected_elsewhere(&self) -> bool {
        matches!(self.places, SubjectEnds::Here(_, None))
    }

    /// The hosts, if they are our own.
    pub fn bed(&self) -> Option<&Bed> {
        match &self.places {
            SubjectEnds::Bed(bed) => Some(bed),
            SubjectEnds::Here(..) => None,
        }
    }

    /// Opens the interface where frames go in, or that where they come out.
    ///
    /// Errors: the interface's.
    fn port(&self, far: bool) -> Result<AfPacket> {
        match &self.places {
            SubjectEnds::Bed(bed) => bed.host(far, || open_whole(HOST_PORT)),
            SubjectEnds::Here(near, None) => open_whole(near),
            SubjectEnds::Here(near, Some(other)) => open_whole(if far { other } else { near }),
        }
    }

    /// A probe from one side to the other, or to the side that it sends from if `echo`. This
    /// program stamps its frames, which costs least.
    ///
    /// Errors: the interfaces'.
    pub fn probe(&self, echo: bool) -> Result<FrameProbe> {
        let near = Box::new(self.port(false)?);
        if echo || self.is_reflected_elsewhere() {
            return Ok(FrameProbe::new(near, None));
        }
        Ok(FrameProbe::new(near, Some(Box::new(self.port(true)?))))
    }

    /// The same for delays: the chosen clock stamps its frames.
    ///
    /// Errors: the interfaces'.
    pub fn stamped_probe(&self, echo: bool) -> Result<FrameProbe> {
        let has_far = !echo && !self.is_reflected_elsewhere();
        Ok(self.probe(echo)?.stamped_by(self.stamped(has_far)?))
    }

    /// The true delays of what is forwarded from now on, if it is a forwarder with faults.
    pub fn true_delays(&self) -> Option<TrueDelays> {
        let path = self.forwarder.as_ref()?.truth.as_ref()?;
        Some(TrueDelays::from_now(path))
    }

    /// The sockets that stamp, if this program does not.
    fn stamped(&self, has_far: bool) -> Result<Option<StampedEnds>> {
        let Some(source) = self.stamps.source() else {
            return Ok(None);
        };
        let mut far = None;
        if has_far {
            far = Some(self.stamped_socket(true, source)?);
        }
        Ok(Some(StampedEnds {
            near: self.stamped_socket(false, source)?,
            far,
        }))
    }

    /// A socket at the far side whose frames the kernel stamps when they arrive.
    ///
    /// Errors: the interface's.
    pub fn arrivals(&self) -> Result<StampedSocket> {
        self.stamped_socket(true, StampSource::Kernel)
    }

    fn stamped_socket(&self, far: bool, source: StampSource) -> Result<StampedSocket> {
        match &self.places {
            SubjectEnds::Bed(bed) => bed.host(far, || stamped_socket(HOST_PORT, source)),
            SubjectEnds::Here(_, Some(other)) if far => stamped_socket(other, source),
            SubjectEnds::Here(near, _) => stamped_socket(near, source),
        }
    }

    /// Reflects frames at the far side, if another machine does not. The chosen clock stamps
    /// them if asked to, but for those of a run that warm up.
    ///
    /// Errors: the interface's.
    pub fn reflector(&self, stamped: bool, warm_up: u32) -> Result<Option<Reflector>> {
        if self.is_reflected_elsewhere() {
            return Ok(None);
        }
        let mut far_end = None;
        if let Some(source) = self.stamps.source().filter(|_| stamped) {
            let socket = self.stamped_socket(true, source)?;
            far_end = Some(FarEnd::new(socket, warm_up));
        }
        Ok(Some(Reflector::start(self.port(true)?, far_end)))
    }
}

/// The stamps on interfaces that this program makes: those that were asked for, or the best that
/// they offer.
///
/// Errors: they do not offer what was asked for.
pub fn virtual_stamps(wanted: Option<TimeStamps>) -> Result<TimeStamps> {
    if wanted == Some(TimeStamps::Card) {
        return Err("the interfaces of set-ups are virtual: they have no network card".into());
    }
    isolated(true, || {
        let bed = Bed::new(true, false)?;
        let offer = bed.host(false, || Ok(StampOffer::of(HOST_PORT)))?;
        TimeStamps::choose(wanted, &[(HOST_PORT, offer)])
    })
}

fn stamped_socket(interface: &str, source: StampSource) -> Result<StampedSocket> {
    StampedSocket::open(interface, source).map_err(context(interface))
}

/// Runs `work` in a network namespace of its own if there is a set-up to start, otherwise here.
///
/// Errors: those of `work`, or of making a namespace.
pub fn isolated<T: Send>(isolate: bool, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if !isolate {
        return work();
    }
    let namespace = NetNs::new().map_err(|e| {
        format!("a network namespace: {e}; a set-up needs the rights of root (sudo)")
    })?;
    namespace
        .run(work)
        .map_err(|e| format!("a network namespace: {e}"))?
}

/// The folder of the programs next to this one.
pub fn own_folder() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().map(Path::to_path_buf).unwrap_or_default()
}
