//! What becomes of a packet of the plain interpreter after ingress and egress: copies, clones, and
//! packets that begin again.

use std::collections::VecDeque;

use serde_json::Value;

use super::interpreter::{DROP, Interpreter, Packet, STANDARD, list, text};

/// `instance_type`.
const NORMAL: u32 = 0;
const INGRESS_CLONE: u32 = 1;
const EGRESS_CLONE: u32 = 2;
const RECIRCULATED: u32 = 4;
const REPLICATION: u32 = 5;
const RESUBMITTED: u32 = 6;

/// A clone session: the ports and instances of its copies, and how many bytes these keep.
#[derive(Clone, Default)]
pub struct Session {
    pub copies: Vec<(u32, u32)>,
    pub truncate: Option<usize>,
}

/// What waits.
enum Waiting {
    Ingress(Packet),
    Egress(u32, Packet),
}

impl Interpreter<'_> {
    /// What leaves for a packet: ports and frames.
    pub fn receive(&mut self, port: u32, frame: &[u8], now: u64) -> Vec<(u32, Vec<u8>)> {
        self.now = now;
        let mut packet = self.new_packet(port, frame);
        self.set_standard(&mut packet, "ingress_port", port);
        self.set_standard(&mut packet, "packet_length", frame.len() as u32);
        self.set_standard(&mut packet, "ingress_global_timestamp", now as u32);
        let mut waiting = VecDeque::from([Waiting::Ingress(packet)]);
        let mut sent = Vec::new();
        while let Some(next) = waiting.pop_front() {
            match next {
                Waiting::Ingress(packet) => self.ingress(packet, &mut waiting),
                Waiting::Egress(port, packet) => {
                    let frame = self.egress(port, packet, &mut waiting);
                    sent.extend(frame.map(|frame| (port, frame)));
                }
            }
        }
        sent
    }

    fn parse_and_verify(&mut self, packet: &mut Packet) {
        let error = self.parse(packet).err().unwrap_or(0);
        self.set_standard(packet, "parser_error", error);
        let wrong = self.is_checksum_wrong(packet);
        self.set_standard(packet, "checksum_error", wrong.into());
        let counted = if wrong {
            &mut self.wrong
        } else {
            &mut self.right
        };
        *counted += 1;
    }

    fn ingress(&mut self, mut packet: Packet, waiting: &mut VecDeque<Waiting>) {
        self.parse_and_verify(&mut packet);
        self.control(&mut packet, "ingress");
        if let Some((session, list)) = packet.clone.take()
            && let Some(session) = self.sessions.get(session).cloned()
        {
            // The packet as it arrived, parsed again.
            let mut clone = self.new_packet(packet.port, &packet.frame);
            self.set_standard(&mut clone, "ingress_port", packet.port);
            self.parse_and_verify(&mut clone);
            self.keep(&packet, &mut clone, list, INGRESS_CLONE);
            self.wait_as_clones(&session, &clone, waiting);
        }
        if packet.digest {
            packet.digest = false;
            let elements = list(&self.program["learn_lists"][0]["elements"]).iter();
            let values = elements.map(|element| self.data(&packet, element, &[]));
            self.digests.push(values.collect());
        }
        if packet.resubmit != 0 {
            let frame = packet.frame.clone();
            let again = self.again(&packet, &frame, packet.resubmit, RESUBMITTED);
            return waiting.push_back(Waiting::Ingress(again));
        }
        match self.standard(&packet, "mcast_grp") {
            0 if self.standard(&packet, "egress_spec") == DROP => {}
            0 => {
                let port = self.standard(&packet, "egress_spec");
                self.set_standard(&mut packet, "instance_type", NORMAL);
                waiting.push_back(Waiting::Egress(port, packet));
            }
            1 => {
                self.set_standard(&mut packet, "instance_type", REPLICATION);
                for (port, instance) in &self.group {
                    let mut copy = packet.clone();
                    self.set_standard(&mut copy, "egress_rid", *instance);
                    waiting.push_back(Waiting::Egress(*port, copy));
                }
            }
            // A group that is not there.
            _ => {}
        }
    }

    /// Returns what leaves.
    fn egress(
        &mut self,
        port: u32,
        mut packet: Packet,
        waiting: &mut VecDeque<Waiting>,
    ) -> Option<Vec<u8>> {
        self.set_standard(&mut packet, "egress_port", port);
        self.set_standard(&mut packet, "egress_spec", 0);
        let length = packet.length as u32;
        self.set_standard(&mut packet, "packet_length", length);
        for name in ["egress_global_timestamp", "enq_timestamp"] {
            self.set_standard(&mut packet, name, self.now as u32);
        }
        for name in ["enq_qdepth", "deq_timedelta", "deq_qdepth"] {
            self.set_standard(&mut packet, name, 0);
        }
        self.control(&mut packet, "egress");
        if let Some((session, list)) = packet.clone.take()
            && let Some(session) = self.sessions.get(session).cloned()
        {
            let mut clone = packet.clone();
            clone.recirculate = 0;
            self.keep(&packet, &mut clone, list, EGRESS_CLONE);
            self.wait_as_clones(&session, &clone, waiting);
        }
        if self.standard(&packet, "egress_spec") == DROP {
            return None;
        }
        self.update_checksums(&mut packet);
        let mut frame = self.deparse(&packet);
        frame.truncate(packet.truncate.unwrap_or(usize::MAX));
        if packet.recirculate != 0 {
            let again = self.again(&packet, &frame, packet.recirculate, RECIRCULATED);
            waiting.push_back(Waiting::Ingress(again));
            return None;
        }
        Some(frame)
    }

    fn wait_as_clones(
        &mut self,
        session: &Session,
        clone: &Packet,
        waiting: &mut VecDeque<Waiting>,
    ) {
        self.clones += 1;
        for (port, instance) in &session.copies {
            let mut copy = clone.clone();
            copy.truncate = copy.truncate.into_iter().chain(session.truncate).min();
            self.set_standard(&mut copy, "egress_rid", *instance);
            waiting.push_back(Waiting::Egress(*port, copy));
        }
    }

    /// A packet that begins again with a frame.
    fn again(&mut self, packet: &Packet, frame: &[u8], list: usize, instance: u32) -> Packet {
        self.again += 1;
        let mut again = self.new_packet(packet.port, frame);
        self.keep(packet, &mut again, list, instance);
        self.set_standard(&mut again, "packet_length", frame.len() as u32);
        again
    }

    /// Sets all metadata of a copy to 0 but the fields of a list, and its type.
    fn keep(&self, packet: &Packet, copy: &mut Packet, number: usize, instance: u32) {
        self.clear(copy, STANDARD);
        self.clear(copy, "meta");
        let lists = list(&self.program["field_lists"]).iter();
        let kept = lists.filter(|list| list["id"].as_u64() == Some(number as u64));
        for element in kept.flat_map(|kept| list(&kept["elements"])) {
            let names: &Value = &element["value"];
            let (header, field) = (text(&names[0]), text(&names[1]));
            let value = &packet.values[&(header.to_owned(), field.to_owned())];
            self.set(copy, header, field, value);
        }
        self.set_standard(copy, "instance_type", instance);
    }
}
