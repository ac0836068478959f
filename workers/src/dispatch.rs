//! Which worker a frame belongs to.

use core::fmt;

use bofuss_datapath::{
    DispatchBy, DispatchFields, Division, OneWorker, flow_hash, replica_of_port,
};
use bofuss_ext::Switch;
use bofuss_oflib::PortNo;
use bofuss_packet::{Layout, survey};

/// How frames are divided among workers. It follows from what the switch does with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// By flow: all frames with the same addresses, protocol and ports are in one worker. Those of
    /// fragments have no ports, so a fragment may pass whole packets of its flow.
    Flows,
    /// By the port where they arrive.
    Port,
    /// By addresses: all frames that have the same are in one worker, and so are all that have none
    /// of them. They may be those by which the pipeline finds states of flows.
    Fields(DispatchFields),
    /// All frames are in worker 0.
    One(OneWorker),
}

impl Dispatch {
    /// The dispatch for what a switch does now, if it is to be by this.
    pub(crate) fn of(switch: &mut Switch, by: DispatchBy) -> Self {
        match switch.replica().division(by) {
            Ok(Division::Flows) => Self::Flows,
            Ok(Division::Port) => Self::Port,
            Ok(Division::Fields(fields)) => Self::Fields(fields),
            Err(why) => Self::One(why),
        }
    }

    /// By what states of flows are divided; `None` if worker 0 has all.
    pub(crate) fn of_states(self) -> Option<Division> {
        match self {
            Self::Flows | Self::One(_) => None,
            Self::Port => Some(Division::Port),
            Self::Fields(fields) => Some(Division::Fields(fields)),
        }
    }
}

impl fmt::Display for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flows => f.write_str("each flow in one of all workers"),
            Self::Port => f.write_str("each port in one of all workers"),
            Self::Fields(fields) => write!(f, "each {fields} in one of all workers"),
            Self::One(why) => write!(f, "all flows in worker 0, because {why}"),
        }
    }
}

/// The frames that one worker gets.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The worker, from 0.
    pub worker: usize,
    /// How many workers there are.
    pub workers: usize,
    /// How frames are divided among them.
    pub dispatch: Dispatch,
    /// The secret of the hash, so that nobody can choose flows that meet in one worker.
    pub secret: u64,
}

impl Share {
    /// The worker that a frame with these bytes belongs to, which arrives on this port.
    pub fn worker_of(&self, port: PortNo, frame: &[u8]) -> usize {
        match self.dispatch {
            Dispatch::One(_) => 0,
            Dispatch::Port => replica_of_port(port.0, self.workers),
            Dispatch::Fields(fields) => {
                let mut layout = Layout::EMPTY;
                survey(frame, &mut layout);
                fields.replica_of_frame((&layout, frame), (self.workers, self.secret))
            }
            Dispatch::Flows => {
                let mut layout = Layout::EMPTY;
                survey(frame, &mut layout);
                let hash = flow_hash(&layout, frame, self.secret);
                // The high bits choose, as a select group of the switch uses the low ones.
                ((u128::from(hash) * self.workers as u128) >> u64::BITS) as usize
            }
        }
    }

    /// Returns true if the worker gets a frame with these bytes, which arrives on this port.
    pub fn has(&self, port: PortNo, frame: &[u8]) -> bool {
        self.worker_of(port, frame) == self.worker
    }
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::Mac;
    use bofuss_packet::craft;

    use super::*;

    fn frame(source: u16, payload: &[u8]) -> Vec<u8> {
        let udp = craft::udp(source, 53, payload);
        let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, udp);
        craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
    }

    fn share(dispatch: Dispatch) -> Share {
        Share {
            worker: 0,
            workers: 3,
            dispatch,
            secret: 7,
        }
    }

    #[test]
    fn frames_of_a_flow_have_one_worker_and_flows_are_spread() {
        let share = share(Dispatch::Flows);
        let mut flows = [0; 3];
        for source in 1..=3_000 {
            let worker = share.worker_of(PortNo(1), &frame(source, b"first"));
            let second = share.worker_of(PortNo(2), &frame(source, b"the second"));
            assert_eq!(worker, second);
            flows[worker] += 1;
        }
        assert!(flows.iter().all(|count| (900..1_100).contains(count)));
    }

    #[test]
    fn one_worker_gets_all() {
        let share = share(Dispatch::One(OneWorker::Normal));
        assert!((1..100).all(|source| share.worker_of(PortNo(1), &frame(source, b"")) == 0));
        assert_eq!(
            share.dispatch.to_string(),
            "all flows in worker 0, because NORMAL learns addresses"
        );
    }
}
