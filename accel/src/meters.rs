//! The meters that judge frames in the kernel.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bofuss_fastpath::{BucketPlace, DropBand};
use bofuss_oflib::types::MeterId;

use crate::layout::{METERS, Meter};
use crate::memory::SharedArray;

/// Numbers that no meter has.
type Free = Arc<Mutex<Vec<u16>>>;

/// Where the bucket of a meter is, as long as somebody needs it.
#[derive(Debug)]
struct Place {
    array: Arc<SharedArray<Meter>>,
    number: u16,
    free: Free,
}

impl BucketPlace for Place {
    fn until(&self) -> &AtomicI64 {
        &self.array[usize::from(self.number)].until
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let free = self.free.lock();
        free.unwrap_or_else(PoisonError::into_inner)
            .push(self.number);
    }
}

/// The meters that flows pass.
#[derive(Debug)]
pub(crate) struct Meters {
    array: Arc<SharedArray<Meter>>,
    known: BTreeMap<MeterId, (Weak<Place>, DropBand)>,
    free: Free,
}

impl Meters {
    /// Begins without meters.
    pub(crate) fn new(array: SharedArray<Meter>) -> Self {
        Self {
            array: Arc::new(array),
            known: BTreeMap::new(),
            free: Arc::new(Mutex::new((1..METERS as u16).rev().collect())),
        }
    }

    /// The place of the bucket of a meter with this band; `None` if there is no room. No flow may
    /// pass it while it has another.
    pub(crate) fn place(&mut self, id: MeterId, band: DropBand) -> Option<Arc<dyn BucketPlace>> {
        if let Some((place, known)) = self.known.get(&id)
            && let Some(place) = place.upgrade()
            && *known == band
        {
            return Some(place);
        }
        let free = self.free.lock();
        let number = free.unwrap_or_else(PoisonError::into_inner).pop()?;
        let meter = &self.array[usize::from(number)];
        meter.depth.store(band.depth_ns as i64, Relaxed);
        meter.per_packet.store(band.per_packet, Relaxed);
        meter.per_byte.store(band.per_byte, Relaxed);
        meter.rate.store(band.rate, Relaxed);
        meter.deepens.store(band.deepens.into(), Relaxed);
        let place = Arc::new(Place {
            array: Arc::clone(&self.array),
            number,
            free: Arc::clone(&self.free),
        });
        self.known.retain(|_, (place, _)| place.strong_count() > 0);
        self.known.insert(id, (Arc::downgrade(&place), band));
        Some(place)
    }

    /// Returns true if a meter has a place, or might have one.
    pub(crate) fn have_room(&self, id: Option<MeterId>) -> bool {
        self.number(id).is_some() || {
            let free = self.free.lock();
            !free.unwrap_or_else(PoisonError::into_inner).is_empty()
        }
    }

    /// The number of a meter that has a place; 0 for none.
    pub(crate) fn number(&self, id: Option<MeterId>) -> Option<u16> {
        let Some(id) = id else { return Some(0) };
        let (place, _) = self.known.get(&id)?;
        place.upgrade().map(|place| place.number)
    }
}
