//! The queues of a switch's ports: made, changed and deleted; frames into them and out.

use bofuss_frame::Frame;
use bofuss_oflib::error::QueueOpFailed;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{ErrorCode, PortNo};
use bofuss_packet::offload;

use crate::scheduler::{DEFAULT_QUEUE, Egress, QueueSpec, Rate};
use crate::{Datapath, DropReason, Port, Sink, Step, Time};

/// Queues that one port has at most, the default queue included.
pub const MAX_QUEUES_PER_PORT: usize = 32;
/// Queues that a switch has at most: all of them fit one QUEUE_GET_CONFIG_REPLY.
pub const MAX_QUEUES: usize = 512;
/// Bytes of buffers that wait in all queues of a switch at most.
pub const MAX_WAITING_BYTES: usize = 32 << 20;
/// Frames that one port sends in a row at most, so that others get their turn.
const FRAMES_PER_RELEASE: usize = 64;

/// Why a queue cannot be as it is asked for. [`core::fmt::Display`] says it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// There is no such port.
    NoPort,
    /// There is no such queue, or the number is no queue's.
    NoQueue,
    /// A share of the port's rate, or a guarantee, where the port's rate is not known.
    NoRate,
    /// The guaranteed rates of the port's queues exceed the port's.
    Overbooked,
    /// A maximum of 0 would let nothing pass.
    ZeroMaximum,
    /// The port or the switch has [`MAX_QUEUES_PER_PORT`] or [`MAX_QUEUES`] queues already.
    TooMany,
    /// The default queue is there as long as there are others.
    DefaultQueue,
}

impl core::fmt::Display for QueueError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NoPort => "there is no such port",
            Self::NoQueue => "there is no such queue",
            Self::NoRate => "the port's rate is not known: a guaranteed rate or a share needs one",
            Self::Overbooked => "the guaranteed rates exceed the port's rate",
            Self::ZeroMaximum => "a maximum of 0 would let nothing pass",
            Self::TooMany => "a port has at most 32 queues, a switch 512",
            Self::DefaultQueue => "queue 0 stays while the port has others",
        })
    }
}

impl From<QueueError> for ErrorCode {
    /// Choice: EPERM for a queue that cannot be.
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::NoPort => QueueOpFailed::BAD_PORT,
            QueueError::NoQueue => QueueOpFailed::BAD_QUEUE,
            QueueError::NoRate
            | QueueError::Overbooked
            | QueueError::ZeroMaximum
            | QueueError::TooMany
            | QueueError::DefaultQueue => QueueOpFailed::EPERM,
        }
    }
}

impl Datapath {
    /// What waits at a port, if it has queues.
    pub fn egress(&self, port: PortNo) -> Option<&Egress> {
        self.egress.get(&port)
    }

    /// Makes a queue, or changes one and keeps its counters and what waits in it. With its first
    /// queue a port gets the default queue, too.
    ///
    /// Errors: [`QueueError`], and nothing is changed.
    pub fn modify_queue(
        &mut self,
        now: Time,
        number: PortNo,
        id: QueueId,
        spec: QueueSpec,
    ) -> Result<(), QueueError> {
        let port = self.ports.get(&number).ok_or(QueueError::NoPort)?;
        let port_kbps = port.desc.curr_speed;
        if id == QueueId::ALL {
            return Err(QueueError::NoQueue);
        }
        let egress = self.egress.get(&number);
        self.check_queue(port, egress, id, &spec)?;
        let egress = self.egress.entry(number);
        let egress = egress.or_insert_with(|| Egress::new(now, number, port_kbps));
        egress.modify(now, number, id, spec);
        Ok(())
    }

    fn check_queue(
        &self,
        port: &Port,
        egress: Option<&Egress>,
        id: QueueId,
        spec: &QueueSpec,
    ) -> Result<(), QueueError> {
        let port_kbps = port.desc.curr_speed;
        let share = matches!(spec.max, Some(Rate::PerMille(_)));
        if port_kbps == 0 && (spec.min.is_some() || share) {
            return Err(QueueError::NoRate);
        }
        if matches!(spec.max, Some(Rate::Kbps(0) | Rate::PerMille(0))) {
            return Err(QueueError::ZeroMaximum);
        }
        let others = egress.map_or(0, |egress| egress.guaranteed_kbps(id, port_kbps));
        let own = spec.min.map_or(0, |rate| rate.kbps(port_kbps));
        if own > 0 && others + u64::from(own) > u64::from(port_kbps) {
            return Err(QueueError::Overbooked);
        }
        let queues = egress.map_or(&[][..], Egress::queues);
        let new = |id| usize::from(!queues.iter().any(|queue| queue.id == id));
        let default = usize::from(queues.is_empty() && id != DEFAULT_QUEUE);
        let more = new(id) + default;
        let total: usize = self.egress.values().map(|e| e.queues().len()).sum();
        if queues.len() + more > MAX_QUEUES_PER_PORT || total + more > MAX_QUEUES {
            return Err(QueueError::TooMany);
        }
        Ok(())
    }

    /// Deletes a queue; what waits in it is dropped. The default queue goes with the last other.
    ///
    /// Errors: NoPort, NoQueue, DefaultQueue, and nothing is changed.
    pub fn delete_queue<S: Sink>(
        &mut self,
        number: PortNo,
        id: QueueId,
        sink: &mut S,
    ) -> Result<(), QueueError> {
        if !self.ports.contains_key(&number) {
            return Err(QueueError::NoPort);
        }
        let egress = self.egress.get_mut(&number).ok_or(QueueError::NoQueue)?;
        if id == DEFAULT_QUEUE && egress.queues().len() > 1 {
            return Err(QueueError::DefaultQueue);
        }
        for frame in egress.remove(id).ok_or(QueueError::NoQueue)? {
            self.lose(number, &frame, DropReason::QueueGone, sink);
        }
        let last = |egress: &Egress| egress.queues().is_empty() || egress.is_plain();
        if self.egress.get(&number).is_some_and(last) {
            let rest = self.egress.remove(&number);
            for frame in rest.into_iter().flat_map(|mut egress| egress.take_frames()) {
                self.waiting_bytes -= buffer_bytes(&frame);
                self.depart(frame, number, DEFAULT_QUEUE, sink);
            }
        }
        Ok(())
    }

    /// Whether a frame may wait for a port as it is: any that is no super-frame, and what the queue
    /// takes whole.
    pub(crate) fn takes_whole(&self, number: PortNo, id: QueueId, frame: &Frame) -> bool {
        let egress = self.egress.get(&number);
        frame.offload.gso.is_none() || egress.is_none_or(|e| e.takes_whole(id, frame))
    }

    /// Has a frame that is ready to leave go its way: at once, or through the port's queues.
    pub(crate) fn hand_over<S: Sink>(
        &mut self,
        now: Time,
        frame: Frame,
        number: PortNo,
        id: QueueId,
        sink: &mut S,
    ) {
        let Some(egress) = self.egress.get_mut(&number) else {
            return self.depart(frame, number, id, sink);
        };
        if S::TRACES {
            sink.step(Step::Queue(number, egress.resolve(id)));
        }
        if S::DRY {
            return self.depart(frame, number, id, sink);
        }
        let bytes = buffer_bytes(&frame);
        let packets = offload::wire_count(&frame).0;
        let room = self.waiting_bytes + bytes <= MAX_WAITING_BYTES;
        let refused = match egress.push(now, id, frame, room) {
            Ok(()) => {
                self.waiting_bytes += bytes;
                return self.release(now, number, sink);
            }
            Err(reason) => reason,
        };
        let port = self.ports.get_mut(&number);
        port.expect("its queues are asked").stats.tx_dropped += packets;
        self.drop(refused, sink);
    }

    /// Sends what is due of a port, as far as the port takes it; drops all that waits for one that
    /// is down.
    pub(crate) fn release<S: Sink>(&mut self, now: Time, number: PortNo, sink: &mut S) {
        let block = self.ports.get(&number).map(Port::egress_block);
        if let Some(reason) = block.unwrap_or(Some(DropReason::NoSuchPort)) {
            return self.clear_queues(number, reason, sink);
        }
        for _ in 0..FRAMES_PER_RELEASE {
            let Some(egress) = self.egress.get_mut(&number) else {
                return;
            };
            egress.blocked = !sink.has_room(number);
            if egress.blocked {
                return;
            }
            let Some((id, frame)) = egress.pop(now) else {
                return;
            };
            self.waiting_bytes -= buffer_bytes(&frame);
            self.depart(frame, number, id, sink);
        }
    }

    /// Drops all that waits for a port.
    pub(crate) fn clear_queues<S: Sink>(
        &mut self,
        number: PortNo,
        reason: DropReason,
        sink: &mut S,
    ) {
        let frames = self.egress.get_mut(&number).map(Egress::take_frames);
        for frame in frames.into_iter().flatten() {
            self.lose(number, &frame, reason, sink);
        }
    }

    /// Sends what is due of every port.
    pub(crate) fn release_due<S: Sink>(&mut self, now: Time, sink: &mut S) {
        let mut next = PortNo(0);
        while let Some((&number, egress)) = self.egress.range(next..).next() {
            next = PortNo(number.0 + 1);
            if egress.due().is_some_and(|at| at <= now) {
                self.release(now, number, sink);
            }
        }
    }

    /// A port that had no room takes frames again: sends what is due there.
    pub fn port_has_room<S: Sink>(&mut self, now: Time, number: PortNo, sink: &mut S) {
        if self.egress.contains_key(&number) {
            self.release(now, number, sink);
        }
    }

    fn lose<S: Sink>(&mut self, number: PortNo, frame: &Frame, reason: DropReason, sink: &mut S) {
        self.waiting_bytes -= buffer_bytes(frame);
        if let Some(port) = self.ports.get_mut(&number) {
            port.stats.tx_dropped += offload::wire_count(frame).0;
        }
        self.drop(reason, sink);
    }
}

/// Bytes of the buffer that holds a frame.
fn buffer_bytes(frame: &Frame) -> usize {
    frame.headroom() + frame.capacity()
}
