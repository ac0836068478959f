//! Hosts that move from one switch to another: their further links, and when they come to them.

use std::collections::BTreeMap;

use bofuss_datapath::Time;
use toml::Spanned;

use super::Builder;
use super::links::{PlannedEnd, PlannedLink};
use crate::link::NodeId;
use crate::network::Change;
use crate::observer::LinkId;
use crate::scenario::ScenarioError;
use crate::scenario::file::ChangeRow;

impl Builder<'_> {
    /// Adds the links to which hosts move, and notes the moves. Errors: a row names no host or
    /// switch, or the host cannot move then.
    pub(super) fn moves(&mut self, links: &mut Vec<PlannedLink>) -> Result<(), ScenarioError> {
        // For each host, its moves: the row, and the place of its next link in the list.
        let mut moves: BTreeMap<NodeId, Vec<(&Spanned<ChangeRow>, usize)>> = BTreeMap::new();
        let file = self.file;
        for row in &file.changes {
            let Some(name) = &row.get_ref().host else {
                continue;
            };
            let host = self.hosts.iter().find(|host| host.name == *name.get_ref());
            let node = host.map(|host| host.node);
            let node = node.ok_or_else(|| self.source.about(name, "there is no such host"))?;
            let link = self.next_link(node, name, row, links)?;
            self.moves.push(Change::Move {
                host: node,
                link: LinkId(link as u32),
                announces: row.get_ref().announce.unwrap_or(false),
            });
            moves.entry(node).or_default().push((row, link));
        }
        for (host, mut rows) in moves {
            rows.sort_by(|(one, _), (other, _)| one.get_ref().at.total_cmp(&other.get_ref().at));
            let mut before = (f64::NAN, first_link(host, links));
            for (row, link) in rows {
                let at = row.get_ref().at;
                let text = match before {
                    (last, _) if last == at => "host: it moves twice at this time",
                    (_, last) if last == Some(link) => "host: it is at this port already",
                    _ => {
                        before = (at, Some(link));
                        continue;
                    }
                };
                return Err(self.source.error(row.span(), text));
            }
        }
        Ok(())
    }

    /// The place in the list of the link to which a host moves, added if there is none. It has the
    /// properties of the host's first link.
    fn next_link(
        &self,
        host: NodeId,
        name: &Spanned<String>,
        row: &Spanned<ChangeRow>,
        links: &mut Vec<PlannedLink>,
    ) -> Result<usize, ScenarioError> {
        let change = row.get_ref();
        if change.state.is_some() || change.switch.is_some() {
            let text = "change: a host that moves has no state and no switch, but to";
            return Err(self.source.error(row.span(), text));
        }
        let missing = || self.source.error(row.span(), "change: to is missing");
        let to = change.to.as_ref().ok_or_else(missing)?;
        let switch = to.get_ref().split(':').next().unwrap_or_default();
        if !self.names.switches.iter().any(|(name, _)| name == switch) {
            return Err(self.source.about(to, "there is no such switch"));
        }
        let end = self.end("to", to.get_ref(), &to.span())?;
        let first = first_link(host, links);
        let first = first.ok_or_else(|| self.source.about(name, "it has no link to leave"))?;
        let is_it = |link: &PlannedLink| {
            let ends = &link.ends;
            let is_there = |other: &PlannedEnd| {
                other.node == end.node && (end.port.is_none() || other.port == end.port)
            };
            ends.iter().any(|end| end.node == host) && ends.iter().any(is_there)
        };
        if let Some(known) = links.iter().position(is_it) {
            return Ok(known);
        }
        let config = links[first].config;
        let mut link = self.planned(name.get_ref(), to.get_ref(), config, to.span())?;
        link.is_spare = true;
        links.push(link);
        Ok(links.len() - 1)
    }

    /// Plans the next of the moves that were noted, in the order of rows.
    pub(super) fn plan_move(&mut self, at: Time, number: usize) {
        let planned = self.network.plan(at, self.moves[number]);
        planned.expect("the host has both links");
    }
}

/// The place in the list of the link that a host has at first.
fn first_link(host: NodeId, links: &[PlannedLink]) -> Option<usize> {
    let is_of = |link: &PlannedLink| link.ends.iter().any(|end| end.node == host);
    links.iter().position(|link| !link.is_spare && is_of(link))
}
