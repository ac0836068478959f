//! Creating, changing and deleting the queues of ports.
//!
//! OpenFlow can read queues and not make them, so these calls come from the administrator and from
//! the messages of `agent/src/queues/messages.rs`. Their errors are OpenFlow's, with a sentence for
//! the administrator.

use alloc::{collections::BTreeMap, collections::btree_map::Entry, vec::Vec};

use bofuss_oflib::error::QueueOpFailed;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{ErrorCode, PortNo};

use crate::control::ports::PortControl;
use crate::egress::{DEFAULT_QUEUE, Egress, Queue, QueueSpec, Rate};
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::{Pipeline, PortQueues};
use crate::{DropReason, Port, Sink, Time};

/// The most queues of one port, including the default queue.
///
/// A discipline may look at each queue of a port for each frame, so they are few.
pub const MAX_QUEUES_PER_PORT: usize = 32;
/// The most queues of a switch: so many fit into one QUEUE_GET_CONFIG_REPLY.
pub const MAX_QUEUES: usize = 512;

/// The reason why a queue cannot be made or changed as requested: the error, and a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueError(pub ErrorCode, pub &'static str);

// Choice: EPERM for a queue that the discipline cannot have.
const NO_PORT: QueueError = QueueError(QueueOpFailed::BAD_PORT, "there is no such port");
const NO_QUEUE: QueueError = QueueError(QueueOpFailed::BAD_QUEUE, "there is no such queue");
const NO_RATE: QueueError =
    forbidden("a guaranteed rate or a share needs a port's rate to be known");
const OVERBOOKED: QueueError = forbidden("the guaranteed rates exceed the port's rate");
const ZERO_MAXIMUM: QueueError = forbidden("a maximum of 0 would let nothing pass");
const TOO_MANY: QueueError = forbidden("a port has at most 32 queues, a switch 512");
const NO_DISCIPLINE: QueueError = forbidden("there is no such discipline");
const DEFAULT_STAYS: QueueError = forbidden("queue 0 stays while the port has others");

const fn forbidden(why: &'static str) -> QueueError {
    QueueError(QueueOpFailed::EPERM, why)
}

impl PortQueues {
    /// The egress of a port, if it has queues.
    pub fn of(&self, port: PortNo) -> Option<&Egress> {
        self.ports.get(&port)
    }

    /// Creates a queue, or changes one, which keeps its counters and frames. With its first queue a
    /// port also gets the default queue.
    ///
    /// The egress of a port is made with its first queue, and from then on its frames go through
    /// the discipline.
    ///
    /// Errors: [`QueueError`], and nothing is changed.
    pub(crate) fn modify(
        &mut self,
        now: Time,
        pipeline: &Pipeline<impl FrameEngine>,
        number: PortNo,
        id: QueueId,
        spec: QueueSpec,
    ) -> Result<(), QueueError> {
        let port_kbps = check_on_port(self, &pipeline.ports, number, id, &spec)?;
        match self.ports.entry(number) {
            Entry::Occupied(port) => port.into_mut().modify(now, id, spec).map_err(forbidden),
            Entry::Vacant(port) => {
                let row = pipeline.config.discipline(number);
                // Put into the map only when the discipline has accepted the queue: an error must
                // leave the port without queues.
                let mut egress = Egress::new(row, now, number, port_kbps);
                egress.modify(now, id, spec).map_err(forbidden)?;
                port.insert(egress);
                Ok(())
            }
        }
    }
}

impl<S: Sink, E: FrameEngine> PortControl<'_, S, E> {
    /// Gives each port the discipline that is now configured. Queues that the discipline supports
    /// stay, with new counters; the frames of other queues move to the default queue.
    ///
    /// Frames keep their order within a queue, and the memory that they occupy stays counted.
    pub(crate) fn change_disciplines(&mut self) {
        let context = &mut self.cx;
        let now = context.now;
        let numbers: Vec<PortNo> = context.egress.ports.keys().copied().collect();
        for number in numbers {
            let row = context.pipeline.config.discipline(number);
            let port = context.pipeline.ports.get(&number);
            let kbps = port.map_or(0, |port| port.desc.curr_speed);
            let old = context.egress.ports.get_mut(&number);
            let old = old.expect("its number was listed just now");
            // A discipline with the same name is the same: its queues keep their counters and
            // clocks.
            if old.row.name == row.name {
                continue;
            }
            let fresh = Egress::new(row, now, number, kbps);
            let mut old = core::mem::replace(old, fresh);
            let specs: Vec<_> = old.queues().iter().map(|q| (q.id, q.spec)).collect();
            for (id, spec) in specs {
                let egress = context.egress.ports.get_mut(&number);
                // A queue that the new discipline does not support is lost.
                let _ = egress.expect("it was put there").modify(now, id, spec);
                for (class, frame) in old.remove(id).into_iter().flatten() {
                    context.sender().enqueue_again(frame, number, &class);
                }
            }
            for (class, frame) in old.take_frames() {
                context.sender().enqueue_again(frame, number, &class);
            }
        }
    }

    /// Gives a port the discipline of this name, now or when it gets queues later. Its queues stay,
    /// with new counters, and its waiting frames are kept.
    ///
    /// A configuration that is loaded later decides again.
    ///
    /// Errors: there is no such port or discipline, or it cannot have one of the port's queues; and
    /// nothing is changed.
    pub fn set_discipline(&mut self, number: PortNo, name: &str) -> Result<(), QueueError> {
        let port = self.cx.pipeline.ports.get(&number).ok_or(NO_PORT)?;
        let mut rows = self.cx.pipeline.config.disciplines.iter();
        let row = rows.find(|row| row.name == name).ok_or(NO_DISCIPLINE)?;
        let fresh = (row.new)(self.cx.now, number, port.desc.curr_speed);
        let egress = self.cx.egress.ports.get(&number);
        let queues = egress.map_or(&[][..], Egress::queues);
        // All queues are checked before the change, so [`Self::change_disciplines`] loses none of
        // them.
        for queue in queues {
            fresh.check(queue.id, &queue.spec).map_err(forbidden)?;
        }
        self.cx.pipeline.config.port_disciplines.insert(number, row);
        self.change_disciplines();
        Ok(())
    }

    /// Deletes a queue and drops its frames. The default queue is deleted with the last other one.
    ///
    /// Errors: there is no such port or queue, or the queue stays; and nothing is changed.
    pub fn delete_queue(&mut self, number: PortNo, id: QueueId) -> Result<(), QueueError> {
        if !self.cx.pipeline.ports.contains_key(&number) {
            return Err(NO_PORT);
        }
        let egress = self.cx.egress.ports.get_mut(&number).ok_or(NO_QUEUE)?;
        // Frames without a queue of their own need it.
        if id == DEFAULT_QUEUE && egress.queues().len() > 1 {
            return Err(DEFAULT_STAYS);
        }
        let frames = egress.remove(id).ok_or(NO_QUEUE)?;
        let context = &mut self.cx;
        for (class, frame) in frames {
            context
                .sender()
                .drop_queued(number, &class, &frame, DropReason::QueueGone);
        }
        // A port whose only queue is the default queue, without a configuration, needs none.
        let egress = context.egress.ports.get(&number);
        if egress.is_some_and(|egress| egress.queues().is_empty() || egress.is_plain()) {
            // Frames that wait there leave at once, before any that come later.
            context.sender().send_waiting(number);
            context.egress.ports.remove(&number);
        }
        Ok(())
    }
}

/// Checks whether a port of a switch can have this queue. Returns the port's rate in kb/s.
fn check_on_port(
    queues: &PortQueues,
    ports: &BTreeMap<PortNo, Port>,
    port: PortNo,
    id: QueueId,
    spec: &QueueSpec,
) -> Result<u32, QueueError> {
    let port_kbps = ports.get(&port).ok_or(NO_PORT)?.desc.curr_speed;
    let present = queues.ports.get(&port).map_or(&[][..], Egress::queues);
    let more = check_queue(present, port_kbps, id, spec)?;
    let total: usize = queues.ports.values().map(|e| e.queues().len()).sum();
    if total + more > MAX_QUEUES {
        return Err(TOO_MANY);
    }
    Ok(port_kbps)
}

/// Checks whether a port of `port_kbps`, 0 if this is not known, can have queue `id` beside those
/// that are present. Returns how many there would be more.
///
/// Rates are compared in kb/s, to which shares are rounded up, so the sum may exceed the port's
/// rate slightly and is then refused.
///
/// Errors: [`QueueError`].
pub fn check_queue(
    present: &[Queue],
    port_kbps: u32,
    id: QueueId,
    spec: &QueueSpec,
) -> Result<usize, QueueError> {
    if id == QueueId::ALL {
        return Err(NO_QUEUE);
    }
    // A guarantee of nothing needs no rate.
    let guaranteed = !matches!(spec.min, None | Some(Rate::Kbps(0) | Rate::PerMille(0)));
    let share = matches!(spec.max, Some(Rate::PerMille(_)));
    if port_kbps == 0 && (guaranteed || share) {
        return Err(NO_RATE);
    }
    if matches!(spec.max, Some(Rate::Kbps(0) | Rate::PerMille(0))) {
        return Err(ZERO_MAXIMUM);
    }
    let guaranteed_kbps = |spec: &QueueSpec| {
        let kbps = spec.min.map_or(0, |rate| rate.kbps(port_kbps));
        u64::from(kbps)
    };
    let others = present.iter().filter(|queue| queue.id != id);
    let others: u64 = others.map(|queue| guaranteed_kbps(&queue.spec)).sum();
    let own = guaranteed_kbps(spec);
    if own > 0 && others + own > u64::from(port_kbps) {
        return Err(OVERBOOKED);
    }
    let is_new = !present.iter().any(|queue| queue.id == id);
    let default_too = present.is_empty() && id != DEFAULT_QUEUE;
    let more = usize::from(is_new) + usize::from(default_too);
    if present.len() + more > MAX_QUEUES_PER_PORT {
        return Err(TOO_MANY);
    }
    Ok(more)
}

#[cfg(test)]
pub(crate) mod tests;
