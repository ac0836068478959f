//! The neighbour cache of a host: Ethernet addresses by IP address, from ARP and neighbour
//! discovery.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use bofuss_datapath::Time;
use bofuss_frame::Frame;
use bofuss_oflib::Mac;

use super::{HostAddresses, HostOutput, wire};

/// The time for which an answer is valid. After that, packets are still sent to the address, and
/// the host asks again.
const REACHABLE_NS: u64 = 60 * Time::SEC;
/// The time that a host waits for an answer before it asks again. Spec: RFC 4861 section 10,
/// `RETRANS_TIMER`.
const RETRANSMIT_NS: u64 = Time::SEC;
/// The number of times that a host asks before it gives up. Spec: RFC 4861 section 10,
/// `MAX_MULTICAST_SOLICIT`.
const MAX_QUESTIONS: u32 = 3;
/// The most frames that wait for the answer of one neighbour.
const MAX_WAITING: usize = 64;
/// The most frames that wait in all, so that frames with forged source addresses cannot take all
/// buffers.
const MAX_WAITING_IN_ALL: usize = 1_024;
/// The most neighbours (Linux: `gc_thresh3` is 1,024). Without room, a host that asks is answered,
/// but not remembered; old neighbours are removed once per second.
const MAX_NEIGHBOURS: usize = 8_192;

#[derive(Debug, Default)]
struct Neighbour {
    mac: Option<Mac>,
    confirmed_at: Time,
    /// The number of times that we asked without an answer, and the time of the next question.
    questions: u32,
    ask_at: Option<Time>,
    waiting: Vec<Frame>,
}

/// The neighbour cache.
#[derive(Debug)]
pub(super) struct Neighbours {
    own: HostAddresses,
    /// The addresses that were known from the start; those in use are in `known`, too.
    permanent: Arc<BTreeMap<IpAddr, Mac>>,
    known: BTreeMap<IpAddr, Neighbour>,
    asking: BTreeSet<(Time, IpAddr)>,
    waiting: usize,
    /// The time from which old neighbours may be removed again.
    cleanup_at: Time,
    /// Frames dropped because there was no answer, or no room to wait for one.
    pub(super) unresolved: u64,
}

impl Neighbours {
    /// Makes a cache that always knows `permanent`.
    pub(super) fn new(own: HostAddresses, permanent: Arc<BTreeMap<IpAddr, Mac>>) -> Self {
        Self {
            own,
            permanent,
            known: BTreeMap::new(),
            asking: BTreeSet::new(),
            waiting: 0,
            cleanup_at: Time(0),
            unresolved: 0,
        }
    }

    /// Returns true if there is an entry for an address.
    fn has(&self, ip: IpAddr) -> bool {
        self.known.contains_key(&ip) || self.permanent.contains_key(&ip)
    }

    /// The entry of an address.
    fn entry(&mut self, ip: IpAddr) -> &mut Neighbour {
        let permanent = self.permanent.get(&ip);
        self.known.entry(ip).or_insert_with(|| Neighbour {
            mac: permanent.copied(),
            confirmed_at: permanent.map_or(Time::default(), |_| Time::NEVER),
            ..Neighbour::default()
        })
    }

    /// Our address of the same IP version as `peer`.
    pub(super) fn own_ip(&self, peer: IpAddr) -> Option<IpAddr> {
        match peer {
            IpAddr::V4(_) => self.own.ip4.map(|(ip, _)| ip.into()),
            IpAddr::V6(_) => self.own.ip6.map(|(ip, _)| ip.into()),
        }
    }

    /// Sends a frame to the neighbour `ip`: fills in its Ethernet address, or holds the frame until
    /// that is known.
    pub(super) fn send(
        &mut self,
        now: Time,
        ip: IpAddr,
        mut frame: Frame,
        out: &mut HostOutput<'_>,
    ) {
        if !self.has(ip) && !self.has_room(now) {
            self.unresolved += 1;
            return;
        }
        let has_room = self.waiting < MAX_WAITING_IN_ALL;
        let mut waiting = self.waiting;
        let mut unresolved = 0;
        let neighbour = self.entry(ip);
        let is_stale = match neighbour.mac {
            Some(mac) => {
                frame.bytes_mut()[..6].copy_from_slice(&mac.0);
                out.send(frame);
                now.since(neighbour.confirmed_at) > REACHABLE_NS
            }
            None if has_room && neighbour.waiting.len() < MAX_WAITING => {
                waiting += 1;
                neighbour.waiting.push(frame);
                true
            }
            None => {
                unresolved = 1;
                true
            }
        };
        let is_asked = neighbour.ask_at.is_some();
        self.waiting = waiting;
        self.unresolved += unresolved;
        if is_stale && !is_asked {
            self.ask(now, ip, out);
        }
    }

    fn ask(&mut self, now: Time, ip: IpAddr, out: &mut HostOutput<'_>) {
        let Some(own_ip) = self.own_ip(ip) else {
            self.forget(ip);
            return;
        };
        let neighbour = self.entry(ip);
        let ask_at = now.after(RETRANSMIT_NS);
        neighbour.questions += 1;
        neighbour.ask_at = Some(ask_at);
        self.asking.insert((ask_at, ip));
        out.send_bytes(&wire::question(self.own.mac, own_ip, ip));
    }

    fn forget(&mut self, ip: IpAddr) {
        if let Some(neighbour) = self.known.remove(&ip) {
            self.waiting -= neighbour.waiting.len();
            self.unresolved += neighbour.waiting.len() as u64;
        }
    }

    /// Returns true if there is room for one more neighbour; removes old ones for it, if it is
    /// time.
    fn has_room(&mut self, now: Time) -> bool {
        if self.known.len() >= MAX_NEIGHBOURS && now >= self.cleanup_at {
            self.cleanup_at = now.after(RETRANSMIT_NS);
            self.known
                .retain(|_, n| n.ask_at.is_some() || now.since(n.confirmed_at) <= REACHABLE_NS);
        }
        self.known.len() < MAX_NEIGHBOURS
    }

    /// Learns that `ip` is at `mac`, and sends the frames that waited for that. An unknown
    /// neighbour is remembered only if `is_for_us`.
    pub(super) fn learn(
        &mut self,
        now: Time,
        ip: IpAddr,
        mac: Mac,
        is_for_us: bool,
        out: &mut HostOutput<'_>,
    ) {
        if ip.is_unspecified() || mac.is_multicast() {
            return;
        }
        let is_wanted = is_for_us && self.has_room(now);
        if !is_wanted && !self.has(ip) {
            return;
        }
        let neighbour = self.entry(ip);
        neighbour.mac = Some(mac);
        neighbour.confirmed_at = neighbour.confirmed_at.max(now);
        neighbour.questions = 0;
        let asked = neighbour.ask_at.take();
        let waiting = std::mem::take(&mut neighbour.waiting);
        if let Some(ask_at) = asked {
            self.asking.remove(&(ask_at, ip));
        }
        self.waiting -= waiting.len();
        for mut frame in waiting {
            frame.bytes_mut()[..6].copy_from_slice(&mac.0);
            out.send(frame);
        }
    }

    /// Repeats questions that are due, and gives up after [`MAX_QUESTIONS`].
    pub(super) fn tick(&mut self, now: Time, out: &mut HostOutput<'_>) {
        while let Some(&(ask_at, ip)) = self.asking.first()
            && ask_at <= now
        {
            self.asking.pop_first();
            let questions = self.known.get(&ip).map_or(0, |n| n.questions);
            if questions < MAX_QUESTIONS {
                self.ask(now, ip, out);
            } else {
                self.forget(ip);
            }
        }
    }

    /// Returns when [`Neighbours::tick`] has something to do.
    pub(super) fn next_tick(&self) -> Option<Time> {
        self.asking.first().map(|(at, _)| *at)
    }
}
