//! `ofmeter paper 003`: the experiments of OpenQFlow on this machine, beside what its text prints.
//! They are played in a simulated network and in memory, so that no set-up is started.

use super::html::{escaped, form_note, page, titled};
use super::papers::PublishedPaper;
use super::runner::host;
use crate::fairness::{FairnessRun, Shares};
use crate::flow_cost::{self, FlowCost};
use crate::report::number;

/// Runs the experiments, and returns their report.
///
/// Errors: what does not run.
pub fn run(paper: &PublishedPaper, short: bool) -> Result<String, String> {
    eprintln!("fairness: 32 flows of four subscribers, in a simulated network");
    let played = FairnessRun::play(short, None)?;
    eprintln!("flow-cost: packets of up to a million flows, in memory");
    let costs = flow_cost::measure(short)?;
    Ok(report(paper, &played, &costs, short))
}

fn list(sentences: &[String]) -> String {
    let mut text = "<ul>\n".to_string();
    for sentence in sentences {
        text += &format!("<li>{}</li>\n", escaped(sentence));
    }
    text + "</ul>\n"
}

fn report(paper: &PublishedPaper, played: &FairnessRun, costs: &[FlowCost], short: bool) -> String {
    let mut body = form_note(short);
    body += &list(&host());
    let [index, subscribers, flows, bins] = played.plots().map(|(_, svg)| svg);
    body += "<h2>Jain's index of four subscribers (section 3.3.1)</h2>\n";
    body += &index_table(&played.shares);
    body += &format!(
        "<p>{}</p>\n{index}",
        escaped(&index_difference(&played.shares))
    );
    body += "<h2>Fig. 4: throughput of flows and subscribers</h2>\n";
    body += "<p>The paper prints no numbers of this figure.</p>\n";
    body += &flows;
    body += &subscribers;
    body += "<h2>Fig. 2: flows and octets of hash bins</h2>\n";
    body += &list(&paper.sayings("bins"));
    body +=
        "<p>The paper's trace is not public any more; ours is synthetic, with heavy tails.</p>\n";
    body += &format!("<p>Here, {}.</p>\n{bins}", escaped(&played.bins()));
    body += "<h2>Fig. 7: cycles for a packet, by the number of flows</h2>\n";
    body += &list(&paper.sayings("flow-cost"));
    body += &cost_part(paper, costs);
    page(&titled(&paper.title, short), &body)
}

fn index_table(all: &[Shares]) -> String {
    let mut text = "<table><tr><th>discipline</th><th>paper</th><th>here</th></tr>\n".to_string();
    for shares in all {
        let paper = shares.paper_index;
        text += &format!(
            "<tr><td>{}</td><td>{}</td><td>{:.4}</td></tr>\n",
            shares.discipline,
            paper.map_or_else(|| "-".into(), |index| format!("{index:.2}")),
            shares.index
        );
    }
    text + "</table>\n"
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

/// The table and the plot of the cost of packets, and how it grows.
fn cost_part(paper: &PublishedPaper, costs: &[FlowCost]) -> String {
    let mut text = "<table><tr><th>order</th><th>flows</th><th>first packet, cycles</th>\
        <th>later packet, cycles</th><th>Gb/s, a core here</th>\
        <th>Gb/s, the paper's 8 cores</th></tr>\n"
        .to_string();
    for cost in costs {
        let (here, there) = cost.throughputs();
        text += &format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{here:.2}</td>\
             <td>{there:.2}</td></tr>\n",
            cost.order.name(),
            number(cost.flows.into()),
            number(cost.setup_cycles),
            number(cost.lookup_cycles),
        );
    }
    text += "</table>\n";
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
    text + &flow_cost::plot(costs, &paper.values("flow-cost"))
}
