//! The cases by name: what each measures, after which paper, and at which points.

pub mod background;
pub mod barriers;
pub mod baseline;
pub mod calibration;
pub mod changes;
pub mod first_packet;
pub mod flow_mods;
pub mod forwarding;
pub mod packets;
pub mod point;
mod quiet;
pub mod rewrites;
pub mod rfc2544;
pub mod rule_check;
pub mod settle;
pub mod statistics_delay;
pub mod table_size;
pub mod tcp;
pub mod workbench;

use crate::cases::point::{Point, PointOutcome};
use crate::cases::workbench::{Limits, Workbench};
use crate::data_centre::fct;
use crate::data_centre::live_fct;
use crate::error::Result;

/// Cases with a reduced form of their own; others have fewer frames then.
const REDUCED: [&str; 2] = [fct::NAME, live_fct::NAME];

/// A case.
pub struct MeterCase {
    /// Its name.
    pub name: &'static str,
    /// Its title: the quantity that it measures.
    pub title: &'static str,
    /// The paper and section that it follows.
    pub source: &'static str,
    /// The metric by which runs are compared, if it is not the median delay.
    pub main: Option<&'static str>,
    /// True if the subject must speak OpenFlow.
    pub needs_openflow: bool,
    /// Its points.
    pub points: fn(&Limits) -> Vec<Point>,
    /// Measures at one of them.
    pub run: fn(&mut Workbench<'_>, &Point) -> Result<PointOutcome>,
}

/// The papers.
const COSTA: &str = "Costa et al., Performance Evaluation of OpenFlow Data Planes";
/// See [`COSTA`].
const OFLOPS: &str = "Rotsos et al., OFLOPS: An Open Framework for OpenFlow Switch Evaluation";
/// See [`COSTA`].
const BOFUSS: &str = "Fernandes et al., The Road to BOFUSS";

/// See [`COSTA`].
const OLIVEIRA: &str = "de Oliveira et al., Parâmetros balizadores para experimentos com \
                        comutadores OpenFlow";

/// See [`COSTA`].
const RFC2544: &str = "RFC 2544, sections 26.1, 26.2 and 26.4";

/// All cases.
pub const CASES: &[MeterCase] = &[
    MeterCase {
        name: "action-delay",
        title: "delay of an action, by frame size and by load, with the knee",
        source: OLIVEIRA,
        main: None,
        needs_openflow: false,
        points: forwarding::action_delay_points,
        run: forwarding::action_delay,
    },
    MeterCase {
        name: rfc2544::THROUGHPUT,
        title: "highest rate without loss, and the latency at it, by frame size",
        source: RFC2544,
        main: Some(rfc2544::RATE),
        needs_openflow: false,
        points: rfc2544::points,
        run: rfc2544::throughput,
    },
    MeterCase {
        name: rfc2544::BACK_TO_BACK,
        title: "longest burst without loss, by frame size",
        source: RFC2544,
        main: Some(rfc2544::BURST),
        needs_openflow: false,
        points: rfc2544::points,
        run: rfc2544::back_to_back,
    },
    MeterCase {
        name: "match-type",
        title: "delay by the fields that the rule matches",
        source: COSTA,
        main: None,
        needs_openflow: true,
        points: forwarding::match_type_points,
        run: forwarding::match_type,
    },
    MeterCase {
        name: "mode-speedup",
        title: "delay by OpenFlow rules and in the switch's own mode (NORMAL)",
        source: COSTA,
        main: None,
        needs_openflow: false,
        points: forwarding::mode_points,
        run: forwarding::mode,
    },
    MeterCase {
        name: "rewrite",
        title: "delay of header rewrites, each checked byte for byte",
        source: COSTA,
        main: None,
        needs_openflow: true,
        points: forwarding::rewrite_points,
        run: forwarding::rewrite,
    },
    MeterCase {
        name: "mtu",
        title: "frames larger than the usual MTU",
        source: OLIVEIRA,
        main: Some("lost"),
        needs_openflow: false,
        points: forwarding::mtu_points,
        run: forwarding::mtu,
    },
    MeterCase {
        name: "table-size",
        title: "how many rules a table takes, checked by packets, and the delay when it is full",
        source: COSTA,
        main: None,
        needs_openflow: true,
        points: table_size::points,
        run: table_size::run,
    },
    MeterCase {
        name: statistics_delay::NAME,
        title: "delay of flow and port statistics, with one rule and many, light and heavy load",
        source: COSTA,
        main: None,
        needs_openflow: true,
        points: statistics_delay::points,
        run: statistics_delay::run,
    },
    MeterCase {
        name: "fm-add",
        title: "adding rules: delay of one with its barrier, and the rate of many",
        source: OFLOPS,
        main: Some("rate"),
        needs_openflow: true,
        points: changes::change_points,
        run: changes::add,
    },
    MeterCase {
        name: "fm-mod",
        title: "modifying rules: delay of one with its barrier, and the rate of many",
        source: OFLOPS,
        main: Some("rate"),
        needs_openflow: true,
        points: changes::change_points,
        run: changes::modify,
    },
    MeterCase {
        name: "fm-del",
        title: "removing rules: delay of one with its barrier, and the rate of many",
        source: OFLOPS,
        main: Some("rate"),
        needs_openflow: true,
        points: changes::change_points,
        run: changes::delete,
    },
    MeterCase {
        name: "barrier-truth",
        title: "whether rules act once the barrier after them is answered",
        source: OFLOPS,
        main: Some(barriers::UNHANDLED),
        needs_openflow: true,
        points: barriers::barrier_points,
        run: barriers::barrier_truth,
    },
    MeterCase {
        name: "pktin-lat",
        title: "delay from a frame to its packet-in",
        source: OFLOPS,
        main: None,
        needs_openflow: true,
        points: packets::one_point,
        run: packets::packet_in_delay,
    },
    MeterCase {
        name: "pktin-rate",
        title: "packet-ins per second when every frame goes to the controller",
        source: OFLOPS,
        main: Some("rate"),
        needs_openflow: true,
        points: packets::one_point,
        run: packets::packet_in_rate,
    },
    MeterCase {
        name: "pktout-rate",
        title: "packet-outs per second that come out of a port",
        source: OFLOPS,
        main: Some("rate"),
        needs_openflow: true,
        points: packets::one_point,
        run: packets::packet_out_rate,
    },
    MeterCase {
        name: "echo-under-load",
        title: "delay of OpenFlow echoes while the switch forwards",
        source: OFLOPS,
        main: None,
        needs_openflow: true,
        points: packets::echo_points,
        run: packets::echo_under_load,
    },
    MeterCase {
        name: "first-packet",
        title: "delay of the first packet of a flow, for which the controller adds a rule",
        source: OFLOPS,
        main: None,
        needs_openflow: true,
        points: packets::one_point,
        run: first_packet::first_packet,
    },
    MeterCase {
        name: tcp::NAME,
        title: "one TCP stream through one switch, with offloads and without",
        source: BOFUSS,
        main: Some("rate"),
        needs_openflow: false,
        points: tcp::points,
        run: tcp::run,
    },
    MeterCase {
        name: fct::NAME,
        title: "throughput and completion time of flows in a simulated data centre",
        source: BOFUSS,
        main: Some("slowdown, p50"),
        needs_openflow: false,
        points: fct::points,
        run: fct::run,
    },
    MeterCase {
        name: live_fct::NAME,
        title: "the same live: the kernel's TCP through eight switches, on slower links",
        source: BOFUSS,
        main: Some("slowdown, p50"),
        needs_openflow: true,
        points: live_fct::points,
        run: live_fct::run,
    },
];

/// Errors: none of the cases has a reduced form.
pub fn check_reduced<'n>(mut names: impl Iterator<Item = &'n str>) -> Result<()> {
    if names.any(|name| REDUCED.contains(&name)) {
        return Ok(());
    }
    let named = REDUCED.join(" and ");
    Err(format!("--reduced is a form of {named}; for other cases there is --short").into())
}

/// The cases of these names; all for none.
///
/// Errors: there is none of a name.
pub fn chosen(names: &[String]) -> Result<Vec<&'static MeterCase>> {
    if names.is_empty() {
        return Ok(CASES.iter().collect());
    }
    let mut cases = Vec::new();
    for name in names {
        let case = CASES.iter().find(|case| case.name == name);
        cases.push(case.ok_or_else(|| format!("no case {name}; see ofmeter list"))?);
    }
    Ok(cases)
}
