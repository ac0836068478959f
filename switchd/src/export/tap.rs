//! What an export sees of a port: it samples its frames, or counts them by flow.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::catalogue::Additions;
use bofuss_packet::offload::{Cut, plausible_count};
use bofuss_packet::packet_type::{FRONT_BYTES, write_front};
use bofuss_packet::parse_deep;

use super::cache::{Added, FlowCache};
use super::feed::{Export, Message, SampledFrame};
use super::flow::{FlowKey, FrameFacts};
use super::sampler::Sampler;
use super::sflow::HeaderProtocol;
use super::spec::ExportFormat;

/// Bytes of the FCS, which sFlow counts and a packet socket has not.
const FCS_BYTES: u32 = 4;
/// Makes seeds of different ports differ.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A port that is seen.
#[derive(Clone, Copy)]
pub struct TappedPort {
    /// Its number.
    pub number: PortNo,
    /// The kernel's index of its interface, or its number if it has none.
    pub index: u32,
    /// True if its packets have no Ethernet header.
    pub without_ethernet: bool,
}

/// What an export sees of a port, on the thread that receives its frames.
pub struct PortTap {
    export: Arc<Export>,
    port: TappedPort,
    sampler: Sampler,
    /// Packets since the sample before.
    pool: u64,
    /// Samples dropped since the one that was handed over.
    drops: u64,
    /// The flows, if the export has some.
    flows: Option<FlowCache>,
}

impl PortTap {
    /// Begins to see a port.
    pub fn new(export: Arc<Export>, port: TappedPort) -> Self {
        let seed = match export.spec.seed {
            Some(seed) => (u64::from(seed) ^ u64::from(port.number.0)).wrapping_mul(SEED_STEP),
            None => RandomState::new().hash_one(port.number.0),
        };
        Self {
            sampler: Sampler::new(export.spec.rate, seed),
            flows: match export.spec.format {
                ExportFormat::Sflow(_) => None,
                ExportFormat::Ipfix(_) => Some(FlowCache::new(port.index)),
            },
            export,
            port,
            pool: 0,
            drops: 0,
        }
    }

    /// Returns true if it is one of this export.
    pub fn is_of(&self, export: &Arc<Export>) -> bool {
        Arc::ptr_eq(&self.export, export)
    }

    /// Sees frames that the port has received. Super-frames count as their segments.
    #[inline]
    pub fn see(&mut self, frames: &[Frame]) {
        let packets: u64 = frames.iter().map(|frame| count(frame).0).sum();
        if self.sampler.passes(packets) {
            self.pool += packets;
        } else {
            self.choose(frames);
        }
    }

    /// Takes those of the frames that are chosen.
    #[inline(never)]
    fn choose(&mut self, frames: &[Frame]) {
        let now_ms = self.export.milliseconds();
        for frame in frames {
            let (packets, bytes) = count(frame);
            let mut passed = 0;
            let mut chosen = 0;
            while let Some(place) = self.sampler.pass(packets - passed) {
                self.pool += place + 1;
                passed += place + 1;
                chosen += 1;
                if self.flows.is_none() {
                    self.sample(frame, passed - 1);
                }
            }
            self.pool += packets - passed;
            if chosen > 0 && self.flows.is_some() {
                self.meter(now_ms, frame, (packets, bytes), chosen);
            }
        }
    }

    /// Hands over a sample of the packet of this place in a frame.
    fn sample(&mut self, frame: &Frame, place: u64) {
        let ExportFormat::Sflow(settings) = &self.export.spec.format else {
            return;
        };
        let segment = segment(frame, place as usize);
        let mut bytes = segment.as_ref().unwrap_or(frame).bytes();
        let mut protocol = HeaderProtocol::Ethernet;
        let mut stripped = FCS_BYTES;
        if self.port.without_ethernet {
            bytes = bytes.get(FRONT_BYTES..).unwrap_or_default();
            protocol = match bytes.first().map(|first| first >> 4) {
                Some(6) => HeaderProtocol::Ipv6,
                _ => HeaderProtocol::Ipv4,
            };
            stripped = 0;
        }
        let sample = SampledFrame {
            index: self.port.index,
            pool: self.pool,
            drops: self.drops,
            protocol,
            length: bytes.len() as u32 + stripped,
            stripped,
            header: bytes[..bytes.len().min(settings.header_bytes)].to_vec(),
        };
        if self.export.send(Message::Sample(Box::new(sample)), 1) {
            self.pool = 0;
            self.drops = 0;
        } else {
            self.drops += 1;
        }
    }

    /// Adds `chosen` of a frame's packets to its flow.
    fn meter(&mut self, now_ms: u64, frame: &Frame, (packets, bytes): (u64, u64), chosen: u64) {
        let (Some(flows), ExportFormat::Ipfix(settings)) =
            (&mut self.flows, &self.export.spec.format)
        else {
            return;
        };
        let (key, facts) = if self.port.without_ethernet {
            read_packet(frame)
        } else {
            FlowKey::read(frame.bytes())
        };
        let ip_bytes = match facts.ip_at {
            Some(at) if packets > 1 => bytes - packets * at as u64,
            Some(at) => facts.ip_end.saturating_sub(at) as u64,
            None => 0,
        };
        let added = Added {
            packets: chosen,
            bytes: bytes * chosen / packets,
            ip_bytes: ip_bytes * chosen / packets,
            tcp_flags: facts.tcp_flags,
        };
        let counts = &self.export.state.counts;
        if !flows.add(now_ms, &key, added, (&counts.flows, settings.max_flows)) {
            counts.uncached.fetch_add(chosen, Relaxed);
        }
    }

    /// Hands over some flows whose time is over.
    pub fn expire(&mut self) {
        if let (Some(flows), ExportFormat::Ipfix(settings)) =
            (&mut self.flows, &self.export.spec.format)
        {
            let gauge = &self.export.state.counts.flows;
            let over = flows.expire(self.export.milliseconds(), settings, gauge);
            self.export.send_flows(over);
        }
    }
}

impl Drop for PortTap {
    /// Hands over all flows.
    fn drop(&mut self) {
        if let Some(flows) = &mut self.flows {
            let rest = flows.take_all(&self.export.state.counts.flows);
            self.export.send_flows(rest);
        }
    }
}

/// How many packets and bytes a frame is for the port's counters.
#[inline]
fn count(frame: &Frame) -> (u64, u64) {
    plausible_count(frame).unwrap_or((1, frame.len() as u64))
}

/// One of the segments of a super-frame; `None` of an ordinary frame.
fn segment(frame: &Frame, place: usize) -> Option<Frame> {
    frame.offload.gso?;
    let layout = parse_deep(frame.bytes(), Additions::NONE);
    Cut::known(frame, &layout)?.piece(frame, place..place + 1)
}

/// Reads a packet without an Ethernet header.
fn read_packet(frame: &Frame) -> (FlowKey, FrameFacts) {
    let Some(mut copy) = frame.try_clone() else {
        return Default::default();
    };
    write_front(&mut copy);
    let (mut key, facts) = FlowKey::read(copy.bytes());
    key.eth_src = [0; 6];
    key.eth_dst = [0; 6];
    (key, facts)
}
