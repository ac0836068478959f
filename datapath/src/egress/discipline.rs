//! The egress of one port, and the contract of the discipline that orders its frames.

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};
use core::fmt::Debug;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

use crate::egress::classes::WaitingClasses;
use crate::egress::queue::{Queue, QueueSpec};
use crate::qos::QueueClass;
use crate::{DropReason, Time};

/// Orders the frames of one port. The caller passes the time; a discipline knows neither ports nor
/// sinks. It gives back each accepted frame exactly once, through [`Discipline::dequeue`], `remove`
/// or `take_frames`.
pub trait Discipline: Debug {
    /// Checks whether the port may have such a queue. Errors: why not, in words.
    fn check(&self, _id: QueueId, _spec: &QueueSpec) -> Result<(), &'static str> {
        Ok(())
    }

    /// Adds a frame to the queue of its class, or to the default queue if none has this number.
    /// `has_room` is false if the switch has no memory for it.
    ///
    /// Errors: QueueFull, QueuesFull or TooEarly; the frame is dropped, and counted as an error of
    /// its queue.
    fn enqueue(
        &mut self,
        now: Time,
        class: &QueueClass,
        frame: Frame,
        has_room: bool,
    ) -> Result<(), DropReason>;

    /// Takes the frame that leaves at `now`, with its queue, and counts it; `None` if none is due.
    fn dequeue(&mut self, now: Time) -> Option<(QueueId, Frame)>;

    /// The time when `dequeue` has a frame next; `None` if nothing waits.
    fn next_wakeup(&self) -> Option<Time>;

    /// Returns true if a super-frame may wait whole. Otherwise its segments wait.
    fn takes_whole(&self, id: QueueId, frame: &Frame) -> bool;

    /// Its queues by number, with configuration and statistics. The first is the default queue.
    fn queues(&self) -> &[Queue];

    /// Sets the port's rate in kb/s; 0 if it is not known.
    fn set_rate(&mut self, now: Time, kbps: u32);

    /// Creates or changes a queue; its frames stay.
    fn modify(&mut self, now: Time, id: QueueId, spec: QueueSpec);

    /// Removes a queue. Returns its frames.
    fn remove(&mut self, id: QueueId) -> Option<VecDeque<Frame>>;

    /// Removes and returns all frames.
    fn take_frames(&mut self) -> Vec<Frame>;

    /// The standing of a microflow; `None` if the discipline does not distinguish microflows, or
    /// does not know this one.
    #[cfg(feature = "microflows")]
    fn standing(&self, _now: Time, _microflow: &crate::Microflow) -> Option<crate::Standing> {
        None
    }

    /// The guarantees that it has granted; `None` if it ignores QoS records.
    #[cfg(feature = "microflows")]
    fn guarantees(&self) -> Option<crate::Guarantees> {
        None
    }
}

/// A discipline that a port can have.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineRow {
    /// Its name.
    pub name: &'static str,
    /// Makes it for a port with this rate in kb/s; 0 if that is not known.
    pub new: fn(Time, PortNo, u32) -> Box<dyn Discipline>,
}

/// The egress of a port that has queues.
#[derive(Debug)]
pub struct Egress {
    /// The row of the discipline.
    pub(crate) row: &'static DisciplineRow,
    pub(crate) discipline: Box<dyn Discipline>,
    /// The queueing class of each waiting frame, by its tag.
    classes: WaitingClasses,
    /// True if the port accepts no frames now.
    pub(crate) blocked: bool,
}

/// A waiting frame with its class.
pub(crate) type ClassedFrame = (QueueClass, Frame);

impl Egress {
    /// Makes the egress of a port with a rate of `kbps`; 0 if that is not known.
    pub(crate) fn new(row: &'static DisciplineRow, now: Time, port: PortNo, kbps: u32) -> Self {
        Self {
            row,
            discipline: (row.new)(now, port, kbps),
            classes: WaitingClasses::default(),
            blocked: false,
        }
    }

    /// The name of its discipline.
    pub fn discipline(&self) -> &'static str {
        self.row.name
    }

    /// The guarantees that its discipline has granted; `None` if it ignores QoS records.
    #[cfg(feature = "microflows")]
    pub fn guarantees(&self) -> Option<crate::Guarantees> {
        self.discipline.guarantees()
    }

    /// Its queues, by number.
    pub fn queues(&self) -> &[Queue] {
        self.discipline.queues()
    }

    /// Returns true if frames wait whose QoS records have this number of a microflow.
    pub(crate) fn holds(&self, flow_id: u64) -> bool {
        self.classes.has(flow_id)
    }

    /// Adds a frame, as [`Discipline::enqueue`] does. Errors: the same.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        class: &QueueClass,
        mut frame: Frame,
        has_room: bool,
    ) -> Result<(), DropReason> {
        let tag = self.classes.insert(*class);
        frame.tag = tag;
        let taken = self.discipline.enqueue(now, class, frame, has_room);
        if taken.is_err() {
            self.classes.remove(tag);
        }
        taken
    }

    /// Takes the frame that leaves at `now`, with its queue.
    pub(crate) fn dequeue(&mut self, now: Time) -> Option<(QueueId, Frame)> {
        let (id, frame) = self.discipline.dequeue(now)?;
        self.classes.remove(frame.tag);
        Some((id, frame))
    }

    /// Removes a queue. Returns its frames.
    pub(crate) fn remove(&mut self, id: QueueId) -> Option<Vec<ClassedFrame>> {
        let frames = self.discipline.remove(id)?;
        Some(self.with_classes(frames))
    }

    /// Removes and returns all frames.
    pub(crate) fn take_frames(&mut self) -> Vec<ClassedFrame> {
        let frames = self.discipline.take_frames();
        self.with_classes(frames)
    }

    fn with_classes(&mut self, frames: impl IntoIterator<Item = Frame>) -> Vec<ClassedFrame> {
        let mut all = Vec::new();
        for frame in frames {
            all.push((self.classes.remove(frame.tag), frame));
        }
        all
    }

    /// Creates or changes a queue, if its discipline supports it. Errors: why not, in words.
    pub(crate) fn modify(
        &mut self,
        now: Time,
        id: QueueId,
        spec: QueueSpec,
    ) -> Result<(), &'static str> {
        self.discipline.check(id, &spec)?;
        self.discipline.modify(now, id, spec);
        Ok(())
    }

    /// The time when the next frame is due; `None` if none waits, or the port accepts none.
    pub(crate) fn next_wakeup(&self) -> Option<Time> {
        self.discipline.next_wakeup().filter(|_| !self.blocked)
    }

    /// The number of the queue that frames for `id` wait in.
    pub(crate) fn resolve(&self, id: QueueId) -> QueueId {
        let queues = self.queues();
        let own = queues.iter().find(|queue| queue.id == id);
        own.unwrap_or(&queues[0]).id
    }

    /// Returns true if only the default queue is left, with its initial configuration.
    pub(crate) fn is_plain(&self) -> bool {
        let [only] = self.queues() else {
            return false;
        };
        only.spec == QueueSpec::default()
    }
}
