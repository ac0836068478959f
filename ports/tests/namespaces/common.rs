//! Network namespaces on threads, so that tests leave nothing behind: a namespace goes with its
//! last thread.

use std::{
    cell::Cell,
    io,
    net::{IpAddr, SocketAddr},
    os::fd::AsRawFd,
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use bofuss_frame::{Frame, Pool};
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, OpenError, PortDriver, set_link};

/// The time that anything that a test waits for may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

type Job = Box<dyn FnOnce() + Send>;

/// A namespace of its own, with a thread in it that runs what it is given.
pub(crate) struct Namespace {
    jobs: mpsc::Sender<Job>,
    /// The thread's number, by which `ip` finds the namespace.
    pub(crate) thread: libc::pid_t,
}

impl Namespace {
    /// Makes a namespace.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: changes this thread only; takes an integer.
        Self::start_thread(|| unsafe { libc::unshare(libc::CLONE_NEWNET) })
    }

    /// Another thread in the namespace of this thread.
    pub(crate) fn here() -> Self {
        Self::start_thread(|| 0).expect("nothing is changed")
    }

    fn start_thread(enter: fn() -> libc::c_int) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (ready, answer) = mpsc::channel();
        thread::spawn(move || {
            let result = enter();
            // SAFETY: takes nothing.
            let thread = unsafe { libc::gettid() };
            let failed = (result < 0).then(io::Error::last_os_error);
            let _ = ready.send(failed.map_or(Ok(thread), Err));
            queue.into_iter().for_each(|job| job());
        });
        let thread = answer.recv().expect("the thread answers")?;
        Ok(Self { jobs, thread })
    }

    /// Runs `job` in the namespace and hands back its result later.
    pub(crate) fn start<R: Send + 'static>(
        &self,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> mpsc::Receiver<R> {
        let (done, result) = mpsc::channel();
        let job = Box::new(move || {
            let _ = done.send(job());
        });
        self.jobs.send(job).expect("the thread waits for jobs");
        result
    }

    /// Runs `job` in the namespace to its end.
    pub(crate) fn run<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> R {
        self.start(job).recv().expect("the job succeeds")
    }
}

thread_local! {
    /// The options with which [`open`] opens ports.
    static RING_SLOTS: Cell<usize> = const { Cell::new(0) };
}

/// Runs a test in a fresh namespace. Without the right to make one it is skipped, but under CI it
/// fails.
pub(crate) fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let ring_slots = AfPacketOptions::default().ring_slots;
    in_namespace_with(ring_slots, test);
}

/// Runs a test of ports without a receive ring, and then with one, as [`in_namespace`].
pub(crate) fn in_both_ways(test: impl FnOnce() + Send + Copy + 'static) {
    in_namespace_with(0, test);
    in_namespace(test);
}

fn in_namespace_with(ring_slots: usize, test: impl FnOnce() + Send + 'static) {
    match Namespace::new() {
        Ok(namespace) => namespace.run(move || {
            RING_SLOTS.set(ring_slots);
            ip("link set lo up");
            test();
        }),
        Err(error) if std::env::var("CI").as_deref() != Ok("true") => {
            println!("skipped: no right to make a network namespace ({error}); run as root");
        }
        Err(error) => panic!("CI must be able to make a network namespace: {error}"),
    }
}

/// Runs `ip` in this thread's namespace.
pub(crate) fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.expect("ip of iproute2 is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {said}");
}

/// Makes a pair of connected interfaces here, both up and silent.
pub(crate) fn veth(one: &str, other: &str) {
    ip(&format!("link add {one} type veth peer name {other}"));
    for name in [one, other] {
        setting(name, "ipv6", "disable_ipv6", "1");
        set_link(name, true).expect("it was just made");
    }
    settle(&mut open(one), &mut open(other));
}

/// Waits until frames pass both ways: after a link has come up, the kernel drops for a while what
/// is sent.
pub(crate) fn settle(one: &mut dyn PortDriver, other: &mut dyn PortDriver) {
    let pool = Pool::new(1 << 24);
    let pass = |from: &mut dyn PortDriver, to: &mut dyn PortDriver| {
        until("the link is up", || {
            let mut frames = vec![frame(&pool, 60)];
            from.send(&mut frames).expect("it is there");
            thread::sleep(Duration::from_millis(10));
            to.recv(&pool, &mut frames, BATCH_FRAMES)
                .expect("it is there")
                > 0
        });
    };
    pass(one, other);
    pass(other, one);
}

/// Writes a setting of an interface.
pub(crate) fn setting(name: &str, family: &str, key: &str, value: &str) {
    let path = format!("/proc/sys/net/{family}/conf/{name}/{key}");
    std::fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// A host: a namespace with one interface, `eth0`, whose other end is `port` here.
pub(crate) fn host(port: &str, addresses: &[&str]) -> Namespace {
    let host = Namespace::new().expect("as the test's own");
    let thread = host.thread;
    ip(&format!(
        "link add {port} type veth peer name eth0 netns {thread}"
    ));
    set_link(port, true).expect("it was just made");
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    host.run(move || {
        ip("link set lo up");
        setting("eth0", "ipv6", "accept_dad", "0");
        ip("link set eth0 up");
        for address in addresses {
            ip(&format!("addr add {address} dev eth0"));
        }
    });
    host
}

/// Opens a port with the default options but the way to receive. A program that another test
/// starts has this process's descriptors for a moment, a claim that was just given up among them:
/// then again.
pub(crate) fn open(name: &str) -> AfPacket {
    let options = AfPacketOptions {
        ring_slots: RING_SLOTS.get(),
        ..AfPacketOptions::default()
    };
    open_with(name, options)
}

/// The same with these options.
pub(crate) fn open_with(name: &str, options: AfPacketOptions) -> AfPacket {
    let mut opened = AfPacket::open(name, options);
    for _ in 0..100 {
        if !matches!(opened, Err(OpenError::InUse(_))) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        opened = AfPacket::open(name, options);
    }
    opened.unwrap_or_else(|error| panic!("{error}"))
}

/// Waits until a port has received at least `count` frames.
pub(crate) fn receive(port: &mut dyn PortDriver, pool: &Pool, count: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    until("frames arrive", || {
        port.recv(pool, &mut frames, 32).expect("the port is there");
        frames.len() >= count
    });
    frames
}

/// Repeats `condition` until it holds.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "in time: {what}");
        thread::sleep(Duration::from_micros(100));
    }
}

/// A frame of `len` bytes of the experimental EtherType that nobody answers.
pub(crate) fn frame(pool: &Pool, len: usize) -> Frame {
    let mut bytes = vec![0x5a; len];
    bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    pool.frame(&bytes).expect("within the limit")
}

/// Puts tags (TPID and TCI, outermost first) on a frame.
pub(crate) fn push(frame: &mut Frame, tags: &[(u16, u16)]) {
    for &(tpid, tci) in tags.iter().rev() {
        assert!(frame.insert(12, 4));
        let [a, b] = tpid.to_be_bytes();
        let [c, d] = tci.to_be_bytes();
        frame.bytes_mut()[12..16].copy_from_slice(&[a, b, c, d]);
        frame.offload.checksum = frame.offload.checksum.map(|(at, offset)| (at + 4, offset));
    }
}

/// Takes as many tags off a frame as are expected, which must be these.
pub(crate) fn pop(frame: &mut Frame, tags: &[(u16, u16)]) {
    for &(tpid, tci) in tags {
        let tag = [tpid.to_be_bytes(), tci.to_be_bytes()].concat();
        assert_eq!(frame.bytes()[12..16], tag, "{:02x?}", &frame.bytes()[..32]);
        assert!(frame.remove(12, 4));
        frame.offload.checksum = frame.offload.checksum.map(|(at, offset)| (at - 4, offset));
    }
}

/// An address and port from their text.
pub(crate) fn at(address: &str, port: u16) -> SocketAddr {
    let address: IpAddr = address.parse().expect("an address");
    (address, port).into()
}

/// Limits the bytes that a port's socket queues.
pub(crate) fn limit_queue(port: &AfPacket, bytes: libc::c_int) {
    let fd = port.fd().expect("a socket").as_raw_fd();
    let size = size_of_val(&bytes) as libc::socklen_t;
    // SAFETY: the value is read, as many bytes as are said.
    let result = unsafe {
        let value = (&raw const bytes).cast();
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, value, size)
    };
    assert_eq!(result, 0);
}
