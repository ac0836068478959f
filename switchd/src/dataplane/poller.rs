//! Wakes the data-plane thread for ports, its queues, the kernel's link events and a timer.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;

use bofuss_datapath::Time;
use bofuss_oflib::PortNo;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// The longest sleep of the thread. A port whose ring is stuck does not wake it, but is noticed
/// when the drivers' counters are read after the sleep.
const LONGEST_SLEEP: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};
/// Tokens of the epoll set; all others are port numbers.
const QUEUES: u64 = u64::MAX;
const LINKS: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;
const CLOCK: u64 = u64::MAX - 3;

/// A descriptor that is ready.
pub enum Ready {
    /// A queue of this thread, see [`Poller::waker`].
    Queues,
    /// Link events of the kernel.
    Links,
    /// The timer has expired.
    Timer,
    /// The system's clock was set.
    Clock,
    /// This port has frames, or room for some.
    Port(PortNo),
}

impl From<&epoll::Event> for Ready {
    fn from(event: &epoll::Event) -> Self {
        match event.data.u64() {
            QUEUES => Self::Queues,
            LINKS => Self::Links,
            TIMER => Self::Timer,
            CLOCK => Self::Clock,
            token => Self::Port(PortNo(token as u32)),
        }
    }
}

/// An epoll set, with an eventfd for the queues of its thread.
pub struct WakeSet {
    epoll: OwnedFd,
    queues: Arc<QueueWaker>,
}

/// The epoll set of the thread, with a timer.
pub struct Poller {
    set: WakeSet,
    /// Expires at the next tick with nanosecond precision; epoll's timeout is in milliseconds.
    timer: OwnedFd,
    /// When the timer expires.
    alarm: Option<Time>,
    /// A timer that is ready when the system's clock is set, and not before.
    clock: OwnedFd,
}

impl WakeSet {
    /// Waits for what is added to [`Self::epoll`], and for queues. Errors: the system's.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        let this = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            queues: Arc::new(QueueWaker(eventfd(0, flags)?)),
        };
        this.add(this.queues.0.as_fd(), QUEUES)?;
        Ok(this)
    }

    fn add(&self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let token = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, fd, token, epoll::EventFlags::IN)?)
    }

    /// Waits for link events of the kernel, too. Errors: the system's.
    pub fn watch_links(&self, links: BorrowedFd<'_>) -> io::Result<()> {
        self.add(links, LINKS)
    }

    /// The epoll set, for ports: the token of a port is its number. Errors: the system's.
    pub fn epoll(&self) -> io::Result<OwnedFd> {
        self.epoll.try_clone()
    }

    /// Makes a queue that was polled empty report [`Ready::Queues`] once it has an item.
    pub fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.queues))
    }

    /// Fills `ready` with what is ready; unless `busy`, waits until something is. Errors: the
    /// system's.
    pub fn wait(&self, busy: bool, ready: &mut Vec<epoll::Event>) -> io::Result<()> {
        let timeout = if busy {
            Timespec::default()
        } else {
            LONGEST_SLEEP
        };
        ready.clear();
        let space = rustix::buffer::spare_capacity(ready);
        match epoll::wait(&self.epoll, space, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Acknowledges [`Ready::Queues`].
    pub fn drain_queues(&self) {
        drain(&self.queues.0);
    }
}

impl Poller {
    /// Waits for `links`, and for what is added to the set. Errors: the system's.
    pub fn new(links: BorrowedFd<'_>) -> io::Result<Self> {
        let this = Self {
            set: WakeSet::new()?,
            timer: timerfd_create(
                TimerfdClockId::Monotonic,
                TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
            )?,
            alarm: None,
            clock: timerfd_create(
                TimerfdClockId::Realtime,
                TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
            )?,
        };
        this.set.watch_links(links)?;
        this.set.add(this.timer.as_fd(), TIMER)?;
        let until_set = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&this.clock, until_set, &expiring(u64::MAX))?;
        this.set.add(this.clock.as_fd(), CLOCK)?;
        Ok(this)
    }

    /// Its set, in which it waits.
    pub fn set(&self) -> &WakeSet {
        &self.set
    }

    /// Sets the timer to expire at `at`, unless it is set so. Errors: the system's.
    pub fn set_alarm(&mut self, now: Time, at: Time) -> io::Result<()> {
        if self.alarm == Some(at) {
            return Ok(());
        }
        let alarm = expiring(at.since(now));
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &alarm)?;
        self.alarm = Some(at);
        Ok(())
    }

    /// Acknowledges [`Ready::Timer`].
    pub fn drain_timer(&mut self) {
        drain(&self.timer);
        self.alarm = None;
    }

    /// Acknowledges [`Ready::Clock`]; the timer goes on.
    pub fn drain_clock(&self) {
        drain(&self.clock);
    }
}

/// The setting of a timer that expires once: after `nanos` nanoseconds or, if the timer is
/// absolute, so many after the start of 1970.
fn expiring(nanos: u64) -> Itimerspec {
    Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec {
            tv_sec: (nanos / Time::SEC) as i64,
            tv_nsec: (nanos % Time::SEC) as i64,
        },
    }
}

/// An eventfd that a queue writes to.
struct QueueWaker(OwnedFd);

impl std::task::Wake for QueueWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// Reads the counter of an eventfd or timerfd, so that it is no longer ready.
fn drain(fd: &OwnedFd) {
    let _ = rustix::io::read(fd, &mut [0u8; 8]);
}
