//! The simplest discipline: one queue, in the order of arrival, at the port's rate.

use alloc::{collections::VecDeque, vec::Vec};
use core::slice;

use bofuss_datapath::egress::{AHEAD_NS, DEFAULT_QUEUE, Discipline, Queue, QueueClass, QueueSpec};
use bofuss_datapath::{DropReason, Time};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

use crate::lone_queue::LoneQueue;

/// One queue for all packets of a port.
#[derive(Debug)]
pub(crate) struct Fifo(LoneQueue);

impl Fifo {
    /// On a port of `kbps`, 0 if that is not known.
    pub(crate) fn new(now: Time, port_no: PortNo, kbps: u32) -> Self {
        Self(LoneQueue::new(now, port_no, kbps))
    }
}

impl Discipline for Fifo {
    fn check(&self, id: QueueId, spec: &QueueSpec) -> Result<(), &'static str> {
        LoneQueue::check(id, spec)
    }

    fn enqueue(
        &mut self,
        now: Time,
        _: &QueueClass,
        frame: Frame,
        has_room: bool,
    ) -> Result<(), DropReason> {
        self.0.queue.push(now, frame, has_room)
    }

    fn dequeue(&mut self, now: Time) -> Option<(QueueId, Frame)> {
        if self.next_wakeup()? > now.after(AHEAD_NS) {
            return None;
        }
        self.0.pace.begin(self.0.queue.max.due);
        let (frame, bytes) = self.0.queue.pop()?;
        self.0.charge(now, bytes);
        Some((DEFAULT_QUEUE, frame))
    }

    fn next_wakeup(&self) -> Option<Time> {
        let waits = !self.0.queue.frames.is_empty();
        waits.then(|| self.0.due())
    }

    fn takes_whole(&self, _: QueueId, frame: &Frame) -> bool {
        self.0.queue.takes_whole(&self.0.pace, frame)
    }

    fn queues(&self) -> &[Queue] {
        slice::from_ref(&self.0.queue)
    }

    fn set_rate(&mut self, now: Time, kbps: u32) {
        self.0.set_rate(now, kbps);
    }

    fn modify(&mut self, now: Time, _: QueueId, spec: QueueSpec) {
        self.0.modify(now, spec);
    }

    fn remove(&mut self, id: QueueId) -> Option<VecDeque<Frame>> {
        self.0.reset(id)?;
        Some(self.0.queue.take_frames())
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        self.0.queue.take_frames().into()
    }
}

#[cfg(test)]
mod tests {
    use bofuss_datapath::egress::Rate;
    use bofuss_frame::Pool;

    use super::*;

    #[test]
    fn frames_leave_in_the_order_of_arrival_at_the_lower_of_both_rates() {
        let pool = Pool::new(1 << 20);
        let (port, now) = (PortNo(1), Time(0));
        let max = Some(Rate::Kbps(500));
        let halved = QueueSpec {
            max,
            ..QueueSpec::default()
        };
        for (spec, frame_ms) in [(QueueSpec::default(), 8), (halved, 16)] {
            let mut fifo = Fifo::new(now, port, 1_000);
            fifo.modify(now, DEFAULT_QUEUE, spec);
            for n in 0..20 {
                let frame = pool.frame(&[n; 1_000]).expect("within the limit");
                let class = QueueClass::of(QueueId(u32::from(n % 3)));
                let taken = fifo.enqueue(now, &class, frame, true);
                assert_eq!(taken, Ok(()));
            }
            for n in 0..20 {
                let due = fifo.next_wakeup().expect("frames wait");
                assert_eq!(due, Time(u64::from(n) * frame_ms * Time::SEC / 1_000));
                let (id, frame) = fifo.dequeue(due).expect("it is due");
                assert_eq!((id, frame.bytes()[0]), (DEFAULT_QUEUE, n));
            }
        }
    }

    #[test]
    fn it_has_one_queue_with_a_maximum() {
        let fifo = Fifo::new(Time(0), PortNo(1), 1_000);
        let rate = Some(Rate::Kbps(10));
        let with = |change: fn(&mut QueueSpec, Option<Rate>)| {
            let mut spec = QueueSpec::default();
            change(&mut spec, rate);
            spec
        };
        assert!(
            fifo.check(DEFAULT_QUEUE, &with(|s, rate| s.max = rate))
                .is_ok()
        );
        assert!(fifo.check(QueueId(1), &QueueSpec::default()).is_err());
        let ignored: [fn(&mut QueueSpec, Option<Rate>); 3] = [
            |spec, rate| spec.min = rate,
            |spec, _| spec.priority = 1,
            |spec, _| spec.weight = 2,
        ];
        for change in ignored {
            assert!(fifo.check(DEFAULT_QUEUE, &with(change)).is_err());
        }
    }
}
