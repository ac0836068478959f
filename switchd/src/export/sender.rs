//! The thread that sends to one collector: it resolves the name, and makes datagrams of samples.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tracing::{info, warn};

use super::feed::{ExportState, MAX_WAITING, Message, SampledFrame, locked};
use super::flow::FlowRecord;
use super::ipfix::Messages;
use super::sflow::{Datagrams, FlowSample, PortCounters, counter_sample, flow_sample};
use super::spec::{ExportFormat, ExportSpec};
use super::sysfs::ethernet_counters;

/// The time that the thread waits for more after the first sample of a turn, so that the threads
/// that forward packets need not wake it for each.
const GATHERING: Duration = Duration::from_millis(5);
/// The longest time that a sample waits for others. Spec: sFlow version 5, section 4: one second.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// How often flows are looked at for timeouts.
const EXPIRY: Duration = Duration::from_millis(100);
/// The longest sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// The time after which a name is looked up again that has no address, or an address failed.
const RETRY: Duration = Duration::from_secs(5);
/// Datagrams at once, and the pause after these, so that a collector can follow.
const AT_ONCE: usize = 32;
const PAUSE: Duration = Duration::from_millis(2);
/// Where the kernel has what interfaces count.
const SYSFS: &str = "/sys/class/net";

/// The format of what is sent, with the numbers that go on.
enum Writer {
    Sflow {
        datagrams: Datagrams,
        sources: BTreeMap<u32, Source>,
        /// When the oldest sample was added that waits.
        oldest: Option<Instant>,
    },
    Ipfix {
        messages: Messages,
        /// When the templates are due.
        templates: Instant,
    },
}

/// The numbers of one data source of sFlow.
#[derive(Default)]
struct Source {
    samples: u32,
    pool: u32,
    drops: u32,
    reports: u32,
}

/// Sends to one collector.
pub struct Sender {
    spec: ExportSpec,
    state: Arc<ExportState>,
    origin: Instant,
    writer: Writer,
    socket: Option<UdpSocket>,
    /// When the address is looked up next.
    lookup: Instant,
    /// When counters or expired flows are asked for next.
    next_ring: Option<Instant>,
    at_once: usize,
}

impl Sender {
    /// Begins; `number` is that of the switch and export unless the configuration has one.
    pub fn new(spec: ExportSpec, state: Arc<ExportState>, origin: Instant, number: u32) -> Self {
        let writer = match &spec.format {
            ExportFormat::Sflow(settings) => Writer::Sflow {
                datagrams: Datagrams::new(
                    settings.agent.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
                    settings.sub_agent.unwrap_or(number),
                ),
                sources: BTreeMap::new(),
                oldest: None,
            },
            ExportFormat::Ipfix(settings) => Writer::Ipfix {
                messages: Messages::new(settings.domain.unwrap_or(number), spec.rate),
                templates: origin,
            },
        };
        let mut this = Self {
            spec,
            state,
            origin,
            writer,
            socket: None,
            lookup: origin,
            next_ring: None,
            at_once: 0,
        };
        this.next_ring = this.period().map(|period| origin + period);
        this
    }

    /// How often counters or expired flows are asked for.
    fn period(&self) -> Option<Duration> {
        match &self.spec.format {
            ExportFormat::Sflow(settings) => settings.poll,
            ExportFormat::Ipfix(_) => Some(EXPIRY),
        }
    }

    /// Runs until nobody can feed it any more, and all is sent.
    pub fn run(mut self, messages: &Receiver<Message>) {
        loop {
            self.look_up();
            let first = messages.recv_timeout(self.sleep());
            if first.is_ok() {
                thread::sleep(GATHERING);
            }
            let has_ended = matches!(first, Err(RecvTimeoutError::Disconnected));
            // However many come: what is due does not wait.
            let others = messages.try_iter().take(MAX_WAITING);
            for message in first.into_iter().chain(others) {
                self.take(message);
            }
            self.ring();
            self.flush(has_ended);
            if has_ended {
                return;
            }
        }
    }

    /// The time until something is due.
    fn sleep(&self) -> Duration {
        let now = Instant::now();
        let oldest = match &self.writer {
            Writer::Sflow { oldest, .. } => oldest.map(|oldest| oldest + LONGEST_WAIT),
            Writer::Ipfix { templates, .. } => Some(*templates).filter(|_| self.socket.is_some()),
        };
        let due = self.next_ring.into_iter().chain(oldest).min();
        let sleep = due.map_or(LONGEST_SLEEP, |due| due.saturating_duration_since(now));
        sleep.min(LONGEST_SLEEP)
    }

    /// Opens the socket if there is none, now and then.
    fn look_up(&mut self) {
        if self.socket.is_some() || Instant::now() < self.lookup {
            return;
        }
        match self.connect() {
            Ok((socket, local)) => {
                if let Writer::Sflow { datagrams, .. } = &mut self.writer
                    && let ExportFormat::Sflow(settings) = &self.spec.format
                {
                    datagrams.set_agent(settings.agent.unwrap_or(local));
                }
                if let Writer::Ipfix { templates, .. } = &mut self.writer {
                    *templates = Instant::now();
                }
                info!("{}: from {local}", self.spec);
                self.socket = Some(socket);
                *locked(&self.state.trouble) = None;
            }
            Err(error) => {
                self.lookup = Instant::now() + RETRY;
                let text = error.to_string();
                let mut trouble = locked(&self.state.trouble);
                if trouble.as_ref() != Some(&text) {
                    warn!("{}: {text}; it is tried again", self.spec);
                    *trouble = Some(text);
                }
            }
        }
    }

    /// A socket to the collector, and its own address.
    fn connect(&self) -> io::Result<(UdpSocket, IpAddr)> {
        let address = self.spec.collector.resolve()?;
        let any = match address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        let local = socket.local_addr()?.ip();
        Ok((socket, local))
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Sample(sample) => self.take_sample(&sample),
            Message::Counters(counters) => self.take_counters(&counters),
            Message::Flows(flows) => {
                let count = flows.len() as u64;
                self.take_flows(&flows);
                self.state.counts.waiting.fetch_sub(count, Relaxed);
            }
        }
    }

    fn take_sample(&mut self, sample: &SampledFrame) {
        let Writer::Sflow { sources, .. } = &mut self.writer else {
            return;
        };
        let source = sources.entry(sample.index).or_default();
        source.samples = source.samples.wrapping_add(1);
        source.pool = source.pool.wrapping_add(sample.pool as u32);
        source.drops = source.drops.wrapping_add(sample.drops as u32);
        let bytes = flow_sample(&FlowSample {
            sequence: source.samples,
            index: sample.index,
            rate: self.spec.rate.packets(),
            pool: source.pool,
            drops: source.drops,
            protocol: sample.protocol,
            length: sample.length,
            stripped: sample.stripped,
            header: &sample.header,
        });
        if self.socket.is_none() {
            source.drops = source.drops.wrapping_add(1);
            self.state.counts.dropped.fetch_add(1, Relaxed);
            return;
        }
        self.state.counts.samples.fetch_add(1, Relaxed);
        self.add(&bytes);
    }

    fn take_counters(&mut self, counters: &[PortCounters]) {
        if self.socket.is_none() {
            return;
        }
        for port in counters {
            let Writer::Sflow { sources, .. } = &mut self.writer else {
                return;
            };
            let source = sources.entry(port.index).or_default();
            source.reports = source.reports.wrapping_add(1);
            let interface = port.interface.as_deref();
            let ethernet = interface.and_then(|name| ethernet_counters(Path::new(SYSFS), name));
            let bytes = counter_sample(source.reports, port, ethernet.as_ref());
            self.add(&bytes);
        }
        if let Writer::Sflow { sources, .. } = &mut self.writer {
            // Ports come and go.
            let is_there = |index: &u32| counters.iter().any(|port| port.index == *index);
            sources.retain(|index, _| is_there(index));
        }
    }

    /// Adds a sample of sFlow to a datagram.
    fn add(&mut self, sample: &[u8]) {
        let uptime = self.uptime();
        let Writer::Sflow {
            datagrams, oldest, ..
        } = &mut self.writer
        else {
            return;
        };
        oldest.get_or_insert_with(Instant::now);
        if let Some(full) = datagrams.add(sample, uptime) {
            *oldest = Some(Instant::now());
            self.send(&full);
        }
    }

    fn take_flows(&mut self, flows: &[FlowRecord]) {
        let count = flows.len() as u64;
        if self.socket.is_none() {
            self.state.counts.dropped.fetch_add(count, Relaxed);
            return;
        }
        // A collector needs the templates first.
        self.send_templates();
        let now_ms = system_ms();
        let origin_ms = now_ms.saturating_sub(self.origin.elapsed().as_millis() as u64);
        if let Writer::Ipfix { messages, .. } = &mut self.writer {
            let datagrams = messages.data((now_ms / 1000) as u32, origin_ms, flows);
            self.state.counts.samples.fetch_add(count, Relaxed);
            datagrams.iter().for_each(|bytes| self.send(bytes));
        }
    }

    /// Sends the templates of IPFIX if they are due.
    fn send_templates(&mut self) {
        let ExportFormat::Ipfix(settings) = &self.spec.format else {
            return;
        };
        let period = settings.templates;
        let now = Instant::now();
        if let Writer::Ipfix {
            messages,
            templates,
        } = &mut self.writer
            && *templates <= now
            && self.socket.is_some()
        {
            *templates = now + period;
            let bytes = messages.templates((system_ms() / 1000) as u32);
            self.send(&bytes);
        }
    }

    /// Asks for counters, or for flows whose time is over, if that is due.
    fn ring(&mut self) {
        let now = Instant::now();
        if let (Some(due), Some(period)) = (self.next_ring, self.period())
            && due <= now
        {
            // A turn that took long is not made up for.
            self.next_ring = Some((due + period).max(now));
            self.state.wants_counters.store(true, Relaxed);
            self.state.ring();
        }
    }

    /// Sends what has waited long enough, or all.
    fn flush(&mut self, all: bool) {
        self.send_templates();
        self.at_once = 0;
        let uptime = self.uptime();
        let Writer::Sflow {
            datagrams, oldest, ..
        } = &mut self.writer
        else {
            return;
        };
        let has_waited = oldest.is_some_and(|oldest| oldest.elapsed() >= LONGEST_WAIT);
        if (all || has_waited) && !datagrams.is_empty() {
            *oldest = None;
            let bytes = datagrams.take(uptime);
            self.send(&bytes);
        }
    }

    /// Sends a datagram; one that the system refuses is counted.
    fn send(&mut self, bytes: &[u8]) {
        let counts = &self.state.counts;
        let Some(socket) = &self.socket else {
            // It was closed by the datagram before.
            counts.failed.fetch_add(1, Relaxed);
            return;
        };
        self.at_once += 1;
        if self.at_once.is_multiple_of(AT_ONCE) {
            thread::sleep(PAUSE);
        }
        let mut trouble = locked(&self.state.trouble);
        *trouble = None;
        let mut sent = socket.send(bytes);
        // What a machine without a collector answered to an earlier datagram comes back here.
        if let Err(error) = &sent
            && error.kind() == ErrorKind::ConnectionRefused
        {
            *trouble = Some(error.to_string());
            sent = socket.send(bytes);
        }
        match sent {
            Ok(_) => {
                counts.datagrams.fetch_add(1, Relaxed);
            }
            Err(error) => {
                counts.failed.fetch_add(1, Relaxed);
                *trouble = Some(error.to_string());
                // A name may have another address by now, and this machine other routes.
                if error.kind() != ErrorKind::WouldBlock && self.spec.collector.is_named() {
                    self.socket = None;
                    self.lookup = Instant::now() + RETRY;
                }
            }
        }
    }

    /// The time since the export began, in milliseconds.
    fn uptime(&self) -> u32 {
        self.origin.elapsed().as_millis() as u32
    }
}

/// The system's time in milliseconds since 1970.
fn system_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}
