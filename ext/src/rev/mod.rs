//! Rule enforcement verification: `rev_output` sums keyed MACs of what entries send, by flow.
//!
//! Spec: P. Zhang, "Towards rule enforcement verification for software defined networks", INFOCOM
//! 2017; wire format and algebra are ours. See README.md.

pub mod error;
mod mac;
mod wire;

pub use mac::{Enforcement, Key};
pub use wire::FlowMac;

use alloc::{boxed::Box, collections::BTreeMap, format, vec, vec::Vec};

use bofuss_datapath::{
    ControlContext, Hook, HookContext, HookEffect, Metric, MetricKind, ReplyPart, Time, Verdict,
};
use bofuss_oflib::error::{BadAction, BadRequest};
use bofuss_oflib::ext::{Arg, ExtKind, ExtRow};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field, PortNo};
use bofuss_packet::offload::finish_checksum;

use crate::common::list::ValueList;
use error::{EXPERIMENTER, UNKNOWN_FLOW};

/// The most flows with a sum; packets of a further one are only counted.
pub const MAX_FLOWS: usize = 65_536;
/// The most flows in a part of the reply that lists all.
const FLOWS_PER_PART: usize = 400;

/// The extension has no fields.
pub static FIELDS: [Field; 0] = [];

/// The action, the messages that install a key and forget a flow, the multipart that lists flows,
/// and the counters, with the message that requests them.
pub static VALUES: [ExtRow; 6] = [
    ExtRow::new(ExtKind::Action, EXPERIMENTER, 1, "rev_output")
        .with_args(&[Arg::new("port", 4), Arg::new("flow", 8)]),
    ExtRow::typed::<Key>(ExtKind::Message, EXPERIMENTER, 2, "rev_key")
        .that_changes()
        .with_error_names(error::ERRORS)
        .with_usage(
            "key=HEX",
            "installs a key of 16 bytes, and forgets all flows",
        ),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 3, "rev_forget")
        .with_args(&[Arg::new("flow", 8)])
        .that_changes()
        .with_usage("flow=N", "forgets a flow"),
    ExtRow::typed::<ValueList<FlowMac>>(ExtKind::Multipart, EXPERIMENTER, 4, "rev_flows")
        .with_usage("", "prints packets and the sum of MACs of each flow"),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 5, "rev_status").with_usage(
        "",
        "prints how many flows have a sum, and packets that are in none",
    ),
    ExtRow::new(ExtKind::Message, EXPERIMENTER, 6, "rev_status_reply").with_args(&[
        Arg::new("has_key", 1),
        Arg::new("flows", 4),
        Arg::new("without_key", 8),
        Arg::new("refused", 8),
    ]),
];

/// Indices in [`VALUES`].
const REV_FORGET: usize = 2;
const REV_STATUS: usize = 4;
const REV_STATUS_REPLY: usize = 5;

/// The hook of this extension, without a key and without flows.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(Rev::default())
}

/// The key, and what was summed with it.
#[derive(Default)]
struct Rev {
    key: Option<Key>,
    flows: BTreeMap<u64, Sum>,
    /// Packets that came while there was no key.
    without_key: u64,
    /// Packets of flows for which there was no room, or that could not be copied.
    refused: u64,
}

/// What was summed of a flow.
#[derive(Clone, Copy, Default)]
struct Sum {
    packets: u64,
    /// The sum of their MACs, modulo 2^64.
    mac: u64,
}

impl Rev {
    /// Adds a packet to the sum of its flow, or counts that it is in none.
    fn add(&mut self, cx: &mut HookContext<'_>, flow: u64, enforcement: &Enforcement) {
        let Some(key) = &self.key else {
            self.without_key += 1;
            return;
        };
        let has_room = self.flows.len() < MAX_FLOWS || self.flows.contains_key(&flow);
        let mac = if has_room {
            mac_of(cx, key, enforcement)
        } else {
            None
        };
        let Some(mac) = mac else {
            self.refused += 1;
            return;
        };
        let sum = self.flows.entry(flow).or_default();
        sum.packets += 1;
        sum.mac = sum.mac.wrapping_add(mac);
    }

    /// A part of the reply that lists all flows, from a number on, and the number with which the
    /// next part begins.
    fn part(&self, from: u64) -> (Vec<FlowMac>, Option<u64>) {
        let mut flows = self.flows.range(from..).map(|(&flow, sum)| FlowMac {
            flow,
            packets: sum.packets,
            mac: sum.mac,
        });
        let list = flows.by_ref().take(FLOWS_PER_PART).collect();
        (list, flows.next().map(|next| next.flow))
    }
}

/// The MAC of a packet as it is on the wire; `None` if its checksum is left to others and there is
/// no buffer for a copy in which to finish it.
fn mac_of(cx: &mut HookContext<'_>, key: &Key, enforcement: &Enforcement) -> Option<u64> {
    if cx.frame().offload.checksum.is_none() {
        return Some(key.mac(enforcement, cx.frame().bytes()));
    }
    let mut copy = cx.copy()?;
    finish_checksum(&mut copy.frame);
    Some(key.mac(enforcement, copy.frame.bytes()))
}

impl Hook for Rev {
    fn name(&self) -> &'static str {
        "rev"
    }

    /// It acts only in its action.
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    /// The packet goes on unchanged after it was sent.
    fn action_effect(&self, _: usize, _: &ExtValue) -> HookEffect {
        HookEffect::Live
    }

    /// Each packet of the wire has a MAC.
    fn acts_on_segments(&self) -> bool {
        true
    }

    fn check(&self, _: usize, value: &ExtValue, _: TableId) -> Result<(), ErrorCode> {
        let port = PortNo(value.args[0] as u32);
        port.is_port().then_some(()).ok_or(BadAction::BAD_OUT_PORT)
    }

    /// Sends the packet to the port, after its MAC was added to the sum of the flow.
    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        let out_port = PortNo(value.args[0] as u32);
        let flow = value.args[1];
        let enforcement = Enforcement {
            entry: cx.entry,
            table: cx.table,
            in_port: cx.in_port(),
            out_port,
        };
        if !cx.is_dry() {
            self.add(cx, flow, &enforcement);
        }
        // The MAC is not told: a trace must not be a way to get one for a packet of one's choice.
        cx.say(|| format!("adds the MAC of {enforcement} to flow {flow}"));
        cx.forward(out_port);
        Verdict::Continue
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        if let Some(key) = value.body::<Key>() {
            self.key = Some(key.clone());
            self.flows.clear();
            return Ok(());
        }
        match row {
            REV_FORGET => {
                let sum = self.flows.remove(&value.args[0]);
                sum.map(|_| ()).ok_or(UNKNOWN_FLOW)
            }
            REV_STATUS => {
                let args = vec![
                    self.key.is_some().into(),
                    self.flows.len() as u64,
                    self.without_key,
                    self.refused,
                ];
                let row = &VALUES[REV_STATUS_REPLY];
                cx.reply(ExtValue::new(row, args, Bytes::default()));
                Ok(())
            }
            _ => Err(BadRequest::BAD_EXP_TYPE),
        }
    }

    fn on_multipart(
        &mut self,
        _: &mut ControlContext<'_>,
        _: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let (list, next) = self.part(from);
        let value = Some(ExtValue::typed(request.row, ValueList(list)));
        Ok(ReplyPart { value, next })
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        let flows = self.flows.len() as u64;
        let without_key = "Packets that came while there was no key";
        let refused = "Packets of flows for which there was no room";
        list.extend([
            Metric::only(
                "flows",
                "Flows with a sum of MACs",
                MetricKind::Gauge,
                flows,
            ),
            Metric::only(
                "without_key",
                without_key,
                MetricKind::Counter,
                self.without_key,
            ),
            Metric::only("refused", refused, MetricKind::Counter, self.refused),
        ]);
        None
    }
}

#[cfg(test)]
mod tests;
