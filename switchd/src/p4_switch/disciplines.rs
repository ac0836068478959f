//! The queues of ports that have some by `--queue`: what leaves the program for such a port waits
//! there, and a discipline decides what goes next.

use std::collections::BTreeMap;

use bofuss_datapath::egress::{Discipline, Queue, QueueClass};
use bofuss_datapath::{Time, check_queue};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

use crate::config::Config;
use crate::dataplane::PortSet;
use crate::error::{Result, context};
use crate::runtime::POOL_BYTES;

/// The most bytes of buffers that wait at all ports: arriving frames need the others.
const MAX_WAITING_BYTES: usize = POOL_BYTES / 2;

/// The most queues of a port: a program names them by the three bits of `priority`.
const MAX_QUEUES: u32 = 8;

/// The disciplines of the ports that have queues.
pub struct Disciplines {
    ports: BTreeMap<PortNo, Box<dyn Discipline>>,
    waiting_bytes: usize,
}

impl Disciplines {
    /// Those that are configured. Errors: a queue that its port or its discipline cannot have.
    pub fn new(config: &Config) -> Result<Self> {
        let mut ports: BTreeMap<PortNo, Box<dyn Discipline>> = BTreeMap::new();
        for queue in &config.queues {
            let (number, id) = (queue.port, queue.id);
            let discipline = ports.entry(number).or_insert_with(|| {
                let own = config.tables.port_disciplines.get(&number);
                let row = own.copied().unwrap_or(config.tables.discipline);
                (row.new)(Time(0), number, 0)
            });
            let failed = context::<&str>(format!("--queue {number}:{}", id.0));
            if id.0 >= MAX_QUEUES {
                return Err(failed("a program names the queues 0 to 7"));
            }
            let port = config.ports.iter().find(|port| port.number == number);
            // The rate of the interface is not known yet.
            let kbps = port.and_then(|port| port.rate_kbps).unwrap_or(u32::MAX);
            let checked = check_queue(discipline.queues(), kbps, id, &queue.spec);
            checked.map_err(|error| failed(error.1))?;
            discipline.check(id, &queue.spec).map_err(failed)?;
            discipline.modify(Time(0), id, queue.spec);
        }
        Ok(Self {
            ports,
            waiting_bytes: 0,
        })
    }

    /// Returns true if frames for this port wait here.
    pub fn has(&self, port: PortNo) -> bool {
        self.ports.contains_key(&port)
    }

    /// Sets the rate of a port in kb/s; 0 if it is not known.
    pub fn set_rate(&mut self, now: Time, port: PortNo, kbps: u32) {
        if let Some(discipline) = self.ports.get_mut(&port) {
            discipline.set_rate(now, kbps);
        }
    }

    /// Adds a frame to a queue of its port, or to the default queue if it has none of this number.
    /// Returns false if the frame is dropped.
    pub fn enqueue(&mut self, now: Time, port: PortNo, queue: u8, frame: Frame) -> bool {
        let Some(discipline) = self.ports.get_mut(&port) else {
            return false;
        };
        let bytes = frame.buffer_bytes();
        let has_room = self.waiting_bytes + bytes <= MAX_WAITING_BYTES;
        let class = QueueClass::of(QueueId(queue.into()));
        let is_taken = discipline.enqueue(now, &class, frame, has_room).is_ok();
        if is_taken {
            self.waiting_bytes += bytes;
        }
        is_taken
    }

    /// Sends what is due, to ports that take frames.
    pub fn send_due(&mut self, now: Time, ports: &mut PortSet) {
        for (number, discipline) in &mut self.ports {
            while ports.takes_frames(*number) {
                let Some((_, frame)) = discipline.dequeue(now) else {
                    break;
                };
                self.waiting_bytes -= frame.buffer_bytes();
                ports.transmit(*number, frame);
            }
        }
    }

    /// The time when the next frame is due; `None` if none waits for a port that takes frames.
    pub fn next_due(&self, ports: &PortSet) -> Option<Time> {
        let all = self.ports.iter();
        let open = all.filter(|(number, _)| ports.takes_frames(**number));
        open.filter_map(|(_, discipline)| discipline.next_wakeup())
            .min()
    }

    /// Drops what waits for a port. Returns how many frames.
    pub fn lose(&mut self, port: PortNo) -> usize {
        let Some(discipline) = self.ports.get_mut(&port) else {
            return 0;
        };
        let frames = discipline.take_frames();
        let bytes: usize = frames.iter().map(Frame::buffer_bytes).sum();
        self.waiting_bytes -= bytes;
        frames.len()
    }

    /// The queues of a port.
    pub fn queues(&self, port: PortNo) -> &[Queue] {
        let discipline = self.ports.get(&port);
        discipline.map_or(&[][..], |discipline| discipline.queues())
    }
}
