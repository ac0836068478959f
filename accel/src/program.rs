//! The program in the kernel: loaded, with its maps, and attached to interfaces.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use aya::maps::Map;
use aya::programs::tc::{SchedClassifierLink, TcAttachOptions, TcAttachType};
use aya::programs::{LinkOrder, SchedClassifier, SocketFilter};
use aya::{Ebpf, EbpfLoader};

use crate::error::Unavailable;
use crate::layout::{CPUS, Cpu, Dropped, Leg, METERS, NOTED, Settings, Size, Slot, Tags, WAYS};
use crate::memory::{Shared, SharedArray};
use crate::meters::Meters;

/// The compiled program; empty if the build had no clang.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/accel.o"));

/// Has the number 1 in a kernel with PREEMPT_RT, and is not there in others.
const REAL_TIME: &str = "/sys/kernel/realtime";

/// The loaded program.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) size: Size,
    loaded: Ebpf,
    /// The filter for the packet sockets of ports.
    pub(crate) filter: Arc<OwnedFd>,
    pub(crate) slots: SharedArray<Slot>,
    pub(crate) tags: SharedArray<Tags>,
    pub(crate) legs: SharedArray<Leg>,
    pub(crate) dropped: SharedArray<Dropped>,
    /// Words of [`NOTED`] slots each.
    pub(crate) noted: SharedArray<AtomicU64>,
    pub(crate) meters: Meters,
    pub(crate) cpus: SharedArray<Cpu>,
    pub(crate) settings: SharedArray<Settings>,
}

impl Program {
    /// Loads it; it needs CAP_BPF and CAP_NET_ADMIN. Errors: why it cannot be had.
    pub(crate) fn load(size: Size) -> Result<Self, Unavailable> {
        if OBJECT.is_empty() {
            return Err(Unavailable::NotBuilt);
        }
        if is_real_time(&fs::read_to_string(REAL_TIME).unwrap_or_default()) {
            return Err(Unavailable::RealTime);
        }
        let buckets = size.slots / WAYS;
        let loaded = EbpfLoader::new()
            .map_max_entries("slots", size.slots as u32)
            .map_max_entries("tags", buckets as u32)
            .map_max_entries("legs", size.legs as u32)
            .map_max_entries("dropped", size.slots as u32)
            .map_max_entries("noted", (size.slots / NOTED) as u32)
            .load(OBJECT);
        let mut loaded = loaded.map_err(|error| Unavailable::kernel(&error))?;
        let filter: &mut SocketFilter = program(&mut loaded, "accel_decide")?;
        filter.load().map_err(|error| Unavailable::kernel(&error))?;
        let descriptor = filter
            .fd()
            .map_err(|error| Unavailable::kernel(&error))?
            .as_fd();
        let filter = descriptor.try_clone_to_owned();
        let filter = Arc::new(filter.map_err(|error| Unavailable::kernel(&error))?);
        let obeying: &mut SchedClassifier = program(&mut loaded, "accel_obey")?;
        obeying
            .load()
            .map_err(|error| Unavailable::kernel(&error))?;
        Ok(Self {
            size,
            slots: mapped(&loaded, "slots", size.slots)?,
            tags: mapped(&loaded, "tags", buckets)?,
            legs: mapped(&loaded, "legs", size.legs)?,
            dropped: mapped(&loaded, "dropped", size.slots)?,
            noted: mapped(&loaded, "noted", size.slots / NOTED)?,
            meters: Meters::new(mapped(&loaded, "meters", METERS)?),
            cpus: mapped(&loaded, "cpus", CPUS)?,
            settings: mapped(&loaded, "settings_map", 1)?,
            filter,
            loaded,
        })
    }

    /// Has the kernel obey decisions about the frames of an interface for as long as the result
    /// exists, and no longer than this process. Errors: why it does not.
    pub(crate) fn attach(&mut self, interface: &str) -> Result<SchedClassifierLink, Unavailable> {
        let obeying: &mut SchedClassifier = program(&mut self.loaded, "accel_obey")?;
        let order = TcAttachOptions::TcxOrder(LinkOrder::first());
        let attached = obeying
            .attach_with_options(interface, TcAttachType::Ingress, order)
            .map_err(|error| Unavailable::kernel(&error))?;
        obeying
            .take_link(attached)
            .map_err(|error| Unavailable::kernel(&error))
    }

    /// The program for test runs.
    #[cfg(test)]
    pub(crate) fn test(&mut self) -> Result<&mut SchedClassifier, Unavailable> {
        let test: &mut SchedClassifier = program(&mut self.loaded, "accel_test")?;
        if test.fd().is_err() {
            test.load().map_err(|error| Unavailable::kernel(&error))?;
        }
        Ok(test)
    }
}

/// Returns true if this text of the kernel says that it is a real-time one.
pub(crate) fn is_real_time(text: &str) -> bool {
    text.trim() == "1"
}

/// A part of the program. Errors: it is not there.
fn program<'a, P>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut P, Unavailable>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program, Error: std::error::Error>,
{
    let found = loaded.program_mut(name).ok_or(Unavailable::Incomplete)?;
    found
        .try_into()
        .map_err(|error| Unavailable::kernel(&error))
}

/// A map in shared memory. Errors: the system's.
fn mapped<T: Shared>(loaded: &Ebpf, name: &str, len: usize) -> Result<SharedArray<T>, Unavailable> {
    let Some(Map::Array(map)) = loaded.map(name) else {
        return Err(Unavailable::Incomplete);
    };
    SharedArray::new(map.fd().as_fd(), len)
        .map_err(|error| Unavailable::Kernel(format!("its map {name}: {error}")))
}
