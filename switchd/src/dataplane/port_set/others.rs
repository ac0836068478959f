//! Takes frames of a port from the sockets of other workers.

use std::os::fd::BorrowedFd;

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::PortNo;
use bofuss_ports::{BATCH_FRAMES, Direction, PortError};

use super::{PortSet, before_error};

impl PortSet {
    /// Receives one batch from the socket of another worker, from 0, into `frames`, which is empty:
    /// as [`Self::receive`] from that of the first.
    pub fn receive_from_other(
        &mut self,
        (number, other): (PortNo, usize),
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Result<usize, PortError> {
        let Some(slot) = self.slots.get_mut(&number) else {
            return Ok(0);
        };
        let Some(driver) = slot.port.others.get_mut(other) else {
            return Ok(0);
        };
        let count = before_error(driver.recv(pool, frames, BATCH_FRAMES), frames)?;
        slot.taps.iter_mut().for_each(|tap| tap.see(frames));
        self.copy_frames(number, Direction::In, frames);
        Ok(count)
    }

    /// The descriptor of that socket.
    pub fn other_fd(&self, number: PortNo, other: usize) -> Option<BorrowedFd<'_>> {
        self.get(number)?.others.get(other)?.fd()
    }
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::Catalogue;
    use bofuss_ports::{Memory, PortDriver};
    use rustix::event::epoll;

    use super::*;
    use crate::capture::{CopyTarget, FrameCopier};
    use crate::port::OpenPort;

    const NUMBER: PortNo = PortNo(7);
    const MIRROR: PortNo = PortNo(8);

    /// A port of which another worker has this socket.
    fn with_other(socket: Memory) -> PortSet {
        let mut port = OpenPort::in_memory(NUMBER, Memory::pair().0);
        port.others.push(Box::new(socket));
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let mut ports = PortSet::new(epoll);
        ports.add(port).unwrap();
        ports
    }

    #[test]
    fn what_was_dropped_at_the_socket_of_another_worker_is_among_the_drops_of_the_port() {
        let pool = Pool::new(1 << 20);
        let (mut socket, far) = Memory::pair();
        drop(far);
        let mut frames = vec![pool.frame(&[0; 60]).unwrap()];
        assert!(socket.send(&mut frames).is_err());
        let mut ports = with_other(socket);
        let (number, counters, _) = ports.driver_counters()[0];
        assert_eq!((number, counters.tx_dropped()), (NUMBER, 1));
    }

    #[test]
    fn a_mirror_has_the_frames_from_the_socket_of_another_worker_too() {
        let pool = Pool::new(1 << 20);
        let (socket, mut far) = Memory::pair();
        let mut ports = with_other(socket);
        let (mirror, mut copies) = Memory::pair();
        ports.add(OpenPort::in_memory(MIRROR, mirror)).unwrap();
        let to = CopyTarget::Port(MIRROR);
        let copier = FrameCopier::new(NUMBER, "", &Catalogue::default(), "8", to);
        ports.copiers.push(copier.unwrap());
        let mut sent = vec![pool.frame(&[0; 60]).unwrap()];
        far.send(&mut sent).unwrap();
        let mut frames = Vec::new();
        let count = ports.receive_from_other((NUMBER, 0), &pool, &mut frames);
        assert_eq!((count.unwrap(), frames.len()), (1, 1));
        ports.flush();
        let mut copied = Vec::new();
        let count = copies.recv(&pool, &mut copied, BATCH_FRAMES);
        assert_eq!(count.unwrap(), 1);
    }
}
