//! `ofmeter paper 003`: the experiments of OpenQFlow on this machine, compared with what its text
//! prints. They run in a simulated network and in memory; shares also on real interfaces, compared
//! with the kernel's disciplines.

use crate::error::Result;
use crate::openqflow::fairness::{FairnessRun, Shares};
use crate::openqflow::flow_cost::{self, FlowCost};
use crate::openqflow::live_shares::{self, LiveShares};
use crate::reports::html::{form, form_note, page};
use crate::reports::html_table::{HtmlTable, list, paragraph};
use crate::reports::papers::PublishedPaper;
use crate::runs::machine::host;
use crate::statistics::numbers::number;
use crate::tell::tell;

/// Runs the experiments, and returns their report.
///
/// Errors: what does not run.
pub fn run(paper: &PublishedPaper, short: bool) -> Result<String> {
    // What needs root comes first, so that a user without these rights learns it at once.
    tell!("shares: 32 flows of four subscribers, on real interfaces");
    let live = if short {
        live_shares::measure_short()?
    } else {
        live_shares::measure_all()?
    };
    tell!("fairness: 32 flows of four subscribers, in a simulated network");
    let played = FairnessRun::play(short, None)?;
    tell!("flow-cost: packets of up to a million flows, in memory");
    let costs = flow_cost::measure(short)?;
    let mut body = form_note(short);
    body += &list(host());
    body += &share_part(&played, &live);
    body += &bin_part(paper, &played);
    body += "<h2>Fig. 7: cycles for a packet, by the number of flows</h2>\n";
    body += &list(paper.sayings("flow-cost"));
    body += &cost_part(paper, &costs);
    let form = form(short, false);
    Ok(page(&format!("{}{form}", paper.title), &body))
}

/// Jain's index and figure 4, simulated and live.
fn share_part(played: &FairnessRun, live: &[LiveShares]) -> String {
    let mut body = "<h2>Jain's index of four subscribers (section 3.3.1)</h2>\n".to_string();
    body += &index_table(&played.shares);
    body += &paragraph(&index_difference(&played.shares));
    body += &played.index_plot();
    body += "<h2>Fig. 4: throughput of flows and subscribers</h2>\n";
    body += "<p>The paper prints no numbers of this figure.</p>\n";
    body += &played.flows_plot();
    body += &played.subscribers_plot();
    body += "<h3>The same on real interfaces, beside the kernel's FIFO and HTB</h3>\n";
    body += &live_shares::report(live);
    body + &live_shares::plot(live)
}

/// Figure 2.
fn bin_part(paper: &PublishedPaper, played: &FairnessRun) -> String {
    let mut body = "<h2>Fig. 2: flows and octets of hash bins</h2>\n".to_string();
    body += &list(paper.sayings("bins"));
    body +=
        "<p>The paper's trace is not public any more; ours is synthetic, with heavy tails.</p>\n";
    body += &paragraph(&format!("Here, {}.", played.bins()));
    body + &played.bins_plot()
}

fn index_table(all: &[Shares]) -> String {
    let mut table = HtmlTable::new(["discipline", "paper", "here"]);
    for shares in all {
        let paper = shares.paper_index;
        table.push_cells([
            shares.discipline.into(),
            paper.map_or_else(|| "-".into(), |index| format!("{index:.2}")),
            format!("{:.4}", shares.index),
        ]);
    }
    table.html()
}

/// The greatest difference from the paper's numbers, and whose it is.
fn index_difference(all: &[Shares]) -> String {
    let mut worst: Option<(f64, &str)> = None;
    for shares in all {
        let Some(paper) = shares.paper_index else {
            continue;
        };
        let difference = shares.index - paper;
        if worst.is_none_or(|(most, _)| difference.abs() > most.abs()) {
            worst = Some((difference, shares.discipline));
        }
    }
    worst.map_or_else(String::new, |(difference, discipline)| {
        format!(
            "The greatest difference from the paper's numbers is {difference:+.4}, of \
             {discipline}. Where the paper has WFQ, drr is here: deficit round robin among flows."
        )
    })
}

/// The table and the plots of the cost of packets, and how it grows.
fn cost_part(paper: &PublishedPaper, costs: &[FlowCost]) -> String {
    let mut table = HtmlTable::new([
        "order",
        "flows",
        "first packet, cycles",
        "later packet, cycles",
        "Gb/s, a core here",
        "Gb/s, the paper's 8 cores",
    ]);
    for cost in costs {
        let (here, there) = cost.throughputs();
        table.push_cells([
            cost.order.name().into(),
            number(cost.flows.into()),
            number(cost.setup_cycles),
            number(cost.lookup_cycles),
            format!("{here:.2}"),
            format!("{there:.2}"),
        ]);
    }
    let mut text = table.html();
    for of_order in costs.chunk_by(|one, next| one.order == next.order) {
        let first = of_order[0];
        let last = of_order[of_order.len() - 1];
        text += &format!(
            "<p>Order {}: packets of {} flows take {:.2} times as many cycles as those of {}; all \
             are of the switch in memory, without input and output, on one processor.</p>\n",
            first.order.name(),
            number(last.flows.into()),
            last.lookup_cycles / first.lookup_cycles,
            number(first.flows.into())
        );
    }
    for (_, svg) in flow_cost::plots(costs, &paper.values("flow-cost")) {
        text += &svg;
    }
    text
}
