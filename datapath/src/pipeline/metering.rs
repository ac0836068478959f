//! Meters in the pipeline. Spec: OpenFlow 1.3.5 section 5.7.1.

use alloc::collections::{BTreeMap, BTreeSet};

use bofuss_frame::Frame;
use bofuss_oflib::field::IP_DSCP;
use bofuss_oflib::message::meter_mod::BandKind;
use bofuss_oflib::types::MeterId;
use bofuss_packet::{Packet, offload};

use crate::engine_notes::EngineNotes;
use crate::meters::Meter;
use crate::pipeline::context::Context;
use crate::pipeline::walk::{OutputState, Walk};
use crate::{DropReason, Sink, Step, Time};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Sends a packet through a meter, which may remark it. A pending output is done first.
    ///
    /// The pending output comes before the remark, so that a copy which was output earlier is not
    /// remarked. An engine that records the path learns that the DSCP may differ from packet to
    /// packet.
    ///
    /// Errors: why it goes no further.
    pub(crate) fn apply_meter(
        &mut self,
        walk: &mut Walk<'_, E>,
        id: MeterId,
    ) -> Result<(), DropReason> {
        if let Some(levels) = self.meter(id, &walk.packet.frame)? {
            self.flush_pending(walk);
            remark(walk.packet, levels);
            E::note_remark(&mut walk.notes);
        }
        Ok(())
    }

    /// Counts a frame in a meter. Returns by how many levels its drop precedence is raised.
    ///
    /// A super-frame costs as much as its segments together, and one band judges all of them; where
    /// that could matter, `meters_whole` has it cut before.
    ///
    /// Errors: why the frame goes no further.
    pub fn meter(&mut self, id: MeterId, frame: &Frame) -> Result<Option<u8>, DropReason> {
        let meter = self.pipeline.meters.get_mut(&id);
        let meter = meter.ok_or(DropReason::NoMeter)?;
        let counts = offload::wire_count(frame);
        // A dry run judges with a copy of the meter, so that it takes no tokens from packets.
        let band = if S::DRY {
            meter.apart().judge(self.now, counts)
        } else {
            meter.judge(self.now, counts)
        };
        if S::TRACES {
            self.sink.step(Step::Meter(id, band));
        }
        match band.map(|band| band.kind) {
            Some(BandKind::Drop) => Err(DropReason::Meter),
            Some(BandKind::DscpRemark(levels)) => Ok(Some(levels)),
            // No meter has an experimenter's band: such meter-mods are refused.
            Some(BandKind::Experimenter(_)) | None => Ok(None),
        }
    }

    /// Cuts a super-frame and passes each segment to `go`. Errors: the frame cannot be cut.
    ///
    /// Each segment continues as a packet of its own to its end. The super-frame itself goes
    /// nowhere any more, so its action set is emptied, and it counts as sent.
    pub(crate) fn by_segments(
        &mut self,
        walk: &mut Walk<'_, E>,
        mut go: impl FnMut(&mut Self, &mut Walk<'_, E>) -> Result<(), DropReason>,
    ) -> Result<(), DropReason> {
        self.flush_pending(walk);
        let set = core::mem::take(&mut walk.set);
        let whole = offload::segment(&walk.packet.frame, |segment| {
            self.lane.work.count(&segment);
            // Each segment has what is left of the packet's limits, because on the wire it is a
            // packet.
            let mut part = Walk {
                packet: &mut walk.packet.with_frame(segment),
                set: set.clone(),
                output: OutputState {
                    pending: None,
                    ..walk.output
                },
                notes: walk.notes.clone(),
                ..*walk
            };
            let result = go(self, &mut part);
            self.end_copy(&mut part, result);
        });
        walk.set = set;
        walk.set.clear();
        walk.output.sent = true;
        whole.then_some(()).ok_or(DropReason::Segmentation)
    }
}

/// Returns true if a super-frame may pass meters whole: its segments together exceed no rate, and
/// it meets no meter twice.
///
/// A meter that is met twice would have to cover both passages, which a single look at its tokens
/// cannot tell. A meter that does not exist is no obstacle: its packets are dropped together.
pub(crate) fn meters_whole(
    meters: &mut BTreeMap<MeterId, Meter>,
    now: Time,
    ids: impl Iterator<Item = MeterId>,
    packet: &Packet,
) -> bool {
    let mut seen = BTreeSet::new();
    for id in ids {
        let meter = meters.get_mut(&id);
        let counts = offload::wire_count(&packet.frame);
        let covers = meter.is_none_or(|meter| meter.covers(now, counts));
        if !covers || !seen.insert(id) {
            return false;
        }
    }
    true
}

/// Raises the drop precedence of a packet of an assured forwarding class. Spec: RFC 2597.
///
/// Packets of other classes, and those without IP, pass unchanged. The ECN bits are no part of the
/// field.
pub(crate) fn remark(packet: &mut Packet, levels: u8) {
    let Some(dscp) = packet.key().get(IP_DSCP, &mut ()) else {
        return;
    };
    if let Some(value) = remarked(dscp, levels) {
        let done = packet.set_field(IP_DSCP, &value);
        done.expect("its DSCP was read just now");
    }
}

/// The DSCP with a raised drop precedence, as the value of a set-field; `None` if it does not
/// change.
///
/// An assured forwarding DSCP is `cccdd0` in binary: a class from 1 to 4, and a drop precedence
/// from 1 to 3, which ends at 3. The value is in the low six bits of its first byte.
pub fn remarked(dscp: u128, levels: u8) -> Option<[u8; 16]> {
    let class = dscp >> 3;
    let precedence = dscp >> 1 & 3;
    if !(1..=4).contains(&class) || precedence == 0 || dscp & 1 != 0 {
        return None;
    }
    let raised = (precedence + u128::from(levels)).min(3);
    let mut value = [0; 16];
    value[0] = (class << 3 | raised << 1) as u8;
    Some(value)
}

#[cfg(test)]
mod tests {
    use alloc::{format, sync::Arc, vec, vec::Vec};

    use bofuss_oflib::error::BadAction;
    use bofuss_oflib::message::FlowModCommand;
    use bofuss_oflib::message::group_mod::GroupModCommand;
    use bofuss_oflib::message::meter_mod::MeterModCommand;
    use bofuss_oflib::text::{parse_flow, parse_group, parse_meter};

    use bofuss_oflib::PortNo;

    use super::*;
    use crate::control::queues::tests::{Out, super_frame, switch};
    use crate::{Datapath, Engine, Time};

    fn change(datapath: &mut Datapath, meter: &str, flow: &str) {
        let meter_mod = parse_meter(meter, MeterModCommand::ADD).expect("a right meter");
        let (now, out) = (Time(0), &mut Out::default());
        datapath
            .control(now, out)
            .meter_mod(&meter_mod)
            .expect("is right");
        let catalogue = Arc::clone(datapath.catalogue());
        let flow = parse_flow(flow, FlowModCommand::ADD, &catalogue).expect("a right flow");
        datapath
            .control(now, out)
            .flow_mod(&flow)
            .expect("is right");
    }

    // I7
    #[test]
    fn a_super_frame_is_metered_as_its_segments_are() {
        // Each with how many of ten packets leave.
        let cases = [
            (
                "meter=1,pktps,burst,bands=type=drop,rate=1,burst_size=3",
                "meter:1,output:2",
                4,
            ),
            (
                "meter=1,pktps,burst,bands=type=drop,rate=1,burst_size=10",
                "meter:1,output:2",
                10,
            ),
            (
                "meter=1,kbps,burst,bands=type=drop,rate=1,burst_size=20",
                "meter:1,output:2",
                3,
            ),
            (
                "meter=1,pktps,bands=type=drop,rate=0",
                "meter:1,output:2",
                0,
            ),
            (
                "meter=1,pktps,bands=type=dscp_remark,prec_level=1,rate=1",
                "meter:1,write_actions(set_mpls_ttl:7,output:2),goto_table:1",
                10,
            ),
            (
                "meter=1,pktps,burst,bands=type=drop,rate=1,burst_size=3",
                "apply_actions(set_field:2:0:0:0:0:9->eth_dst,meter:1,output:2)",
                4,
            ),
            (
                "meter=1,pktps,burst,bands=type=drop,rate=1,burst_size=3",
                "meter:1,meter:2,output:2",
                2,
            ),
            (
                "meter=1,pktps,burst,bands=type=drop,rate=1,burst_size=7",
                "meter:1,meter:1,output:2",
                4,
            ),
            (
                "meter=1,pktps,burst,bands=type=drop,rate=1,burst_size=3",
                "write_actions(set_field:2:0:0:0:0:9->eth_dst,meter:1,output:2)",
                4,
            ),
            (
                "meter=SLOWPATH,pktps,burst,bands=type=drop,rate=1,burst_size=2",
                "normal",
                10,
            ),
            (
                "meter=CONTROLLER,pktps,burst,bands=type=drop,rate=1,burst_size=4",
                "controller",
                5,
            ),
        ];
        for (meter, actions, leave) in cases {
            let run = |whole: bool| {
                let mut datapath = switch(0, 2);
                let once = "meter=2,pktps,burst,bands=type=drop,rate=1,burst_size=1";
                change(&mut datapath, once, "table=1,arp,actions=meter:2");
                change(&mut datapath, meter, &format!("actions={actions}"));
                change(
                    &mut datapath,
                    "meter=7",
                    "table=1,ip,actions=meter:7,dec_ttl",
                );
                let mut out = Out::default();
                let mut frame = super_frame(datapath.pool());
                frame.bytes_mut()[15] = 10 << 2;
                frame.bytes_mut()[24..26].copy_from_slice(&[0, 0]);
                let mut frames = vec![];
                if whole {
                    frames.push(frame)
                } else {
                    assert!(offload::segment(&frame, |segment| frames.push(segment)))
                }
                datapath.receive(Time(0), PortNo(1), &mut frames, &mut out);
                let mut left: Vec<Vec<u8>> = vec![];
                for frame in &out.frames {
                    assert!(offload::segment(frame, |s| left.push(s.bytes().to_vec())));
                }
                let all = MeterId(0)..=MeterId::ALL;
                let stats: Vec<_> = datapath.meters().stats(Time(0), all).collect();
                let tables: Vec<_> = datapath.tables().iter().map(|t| t.lookup_count).collect();
                (
                    left,
                    out.packet_ins,
                    stats,
                    tables,
                    datapath.ports()[&PortNo(2)].stats.clone(),
                )
            };
            let by_segments = run(false);
            assert_eq!(run(true), by_segments, "{meter} {actions}");
            assert_eq!(
                by_segments.0.len() + by_segments.1,
                leave,
                "{meter} {actions}"
            );
        }
    }

    #[test]
    fn an_action_names_a_meter_that_is_there_and_goes_with_it() {
        let (mut datapath, out) = (switch(0, 2), &mut Out::default());
        change(&mut datapath, "meter=1", "priority=1,actions=output:2");
        change(&mut datapath, "meter=2", "actions=meter:1,meter:2,output:2");
        let catalogue = Arc::clone(datapath.catalogue());
        let flow = parse_flow(
            "actions=write_actions(meter:3)",
            FlowModCommand::ADD,
            &catalogue,
        );
        let flow = flow.expect("a right flow");
        let refused = datapath.control(Time(0), out).flow_mod(&flow);
        assert_eq!(refused, Err(BadAction::BAD_METER), "there is no such meter");
        let group = parse_group(
            "group_id=1,type=all,bucket=meter:2,output:2",
            GroupModCommand::ADD,
            &catalogue,
        );
        let group = group.expect("a right group");
        let refused = datapath.control(Time(0), out).group_mod(&group);
        assert_eq!(refused, Err(BadAction::BAD_METER), "buckets have none");
        let flows = |datapath: &Datapath| datapath.tables()[0].len();
        assert_eq!(flows(&datapath), 2);
        let meter = parse_meter("meter=2", MeterModCommand::DELETE).expect("a right meter");
        datapath
            .control(Time(0), out)
            .meter_mod(&meter)
            .expect("it is there");
        assert_eq!(flows(&datapath), 1, "the second of two counts, too");
    }

    #[test]
    fn a_remark_leaves_an_output_of_an_earlier_table_as_it_was() {
        const DSCP_AT: usize = 15;
        let (af11, af13) = (10 << 2, 14 << 2);
        for (name, engine) in Engine::ALL {
            let mut datapath = switch(0, 3);
            datapath
                .control(Time(0), &mut Vec::<Frame>::new())
                .change_engine(engine);
            change(
                &mut datapath,
                "meter=1,pktps,bands=type=dscp_remark,prec_level=2,rate=0",
                "actions=output:2,goto_table:1",
            );
            change(
                &mut datapath,
                "meter=7",
                "table=1,ip,actions=meter:1,output:3",
            );
            // The second packet takes a cached path.
            for _ in 0..2 {
                // The sink must not trace, because with a trace outputs are never pending.
                let mut out: Vec<Frame> = vec![];
                let mut frame = offload::first(&super_frame(datapath.pool())).expect("a segment");
                frame.bytes_mut()[DSCP_AT] = af11;
                datapath.receive(Time(0), PortNo(1), &mut vec![frame], &mut out);
                let marks: Vec<u8> = out.iter().map(|f| f.bytes()[DSCP_AT]).collect();
                assert_eq!(marks, [af11, af13], "{name}");
            }
        }
    }

    #[test]
    fn a_remark_raises_the_drop_precedence_of_assured_forwarding_alone() {
        let remarked = |dscp: u8, levels: u8| {
            let datapath = switch(0, 0);
            let mut packet = Packet::new(super_frame(datapath.pool()), PortNo(1));
            packet.frame.bytes_mut()[15] = dscp << 2 | 1;
            packet.reparse();
            remark(&mut packet, levels);
            assert_eq!(packet.frame.bytes()[15] & 3, 1, "ECN stays");
            let dscp = packet.key().get(IP_DSCP, &mut ()).expect("it is IP");
            assert_eq!(u128::from(packet.frame.bytes()[15] >> 2), dscp);
            dscp as u8
        };
        for class in 1..=4 {
            let af = |precedence: u8| class << 3 | precedence << 1;
            assert_eq!(remarked(af(1), 1), af(2));
            assert_eq!(remarked(af(1), 2), af(3));
            assert_eq!(remarked(af(2), 2), af(3));
            assert_eq!(remarked(af(3), 1), af(3));
        }
        for other in [0, 1, 8, 9, 11, 16, 32, 40, 42, 46, 48, 56, 63] {
            assert_eq!(remarked(other, 1), other);
        }
    }
}
