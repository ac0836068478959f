//! The requests of a tool that draws the machines of a switch, and the replies as they come in.

use alloc::{collections::BTreeSet, vec::Vec};

use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::multipart::flow::{FlowStats, FlowStatsRequest};
use bofuss_oflib::message::multipart::{ExtBody, ReplyBody, RequestBody};
use bofuss_oflib::{ExtValue, Match, Message};

use super::graph::StateGraph;
use super::{ALL_TABLES, EXPERIMENTER, ShortStats, StateRecord, StateRequest, StateStats};

/// The type of the multipart that lists states in the short form.
const SHORT_STATE_STATS: u32 = 3;

/// All entries and states of a switch, as it has reported them.
#[derive(Clone, Debug, Default)]
pub struct AskedStates {
    entries: Vec<FlowStats>,
    records: Vec<StateRecord>,
}

impl AskedStates {
    /// The requests to send: for all entries, and for the states of all tables in the short form.
    pub fn questions() -> [Message; 2] {
        // A switch in the same process knows the rows that its catalogue has.
        let catalogue = crate::catalogue();
        let mut rows = catalogue.values(ExtKind::Multipart);
        let row = rows
            .find(|row| is_short_stats(row))
            .expect("short state statistics have a row");
        let request = ShortStats(StateStats::Request(StateRequest {
            table: ALL_TABLES,
            state: None,
            fields: Match::ANY,
        }));
        let states = RequestBody::Experimenter(ExtBody(ExtValue::typed(row, request)));
        let entries = RequestBody::Flow(FlowStatsRequest::all());
        [entries, states].map(|body| Message::MultipartRequest(body.into()))
    }

    /// Adds a reply, or a part of one. Other messages are ignored.
    pub fn add(&mut self, reply: Message) {
        let Message::MultipartReply(reply) = reply else {
            return;
        };
        if let ReplyBody::Experimenter(ExtBody(value)) = &reply.body {
            if let Some(ShortStats(StateStats::Reply(_, records))) = value.body() {
                self.records.extend_from_slice(records);
            }
        }
        if let ReplyBody::Flow(entries) = reply.body {
            self.entries.extend(entries);
        }
    }

    /// The tables that have a machine.
    pub fn tables(&self) -> BTreeSet<u8> {
        let mut tables = StateGraph::tables(self.entries.iter().map(|one| &one.0));
        tables.extend(self.records.iter().map(|record| record.table));
        tables
    }

    /// The machine of a table, with the number of flows in each state.
    pub fn graph(&self, table: u8) -> StateGraph {
        let entries = self.entries.iter().map(|one| &one.0);
        let mut graph = StateGraph::of_entries(table, entries);
        graph.count(self.records.iter().filter(|record| record.table == table));
        graph
    }
}

fn is_short_stats(row: &bofuss_oflib::ext::ExtRow) -> bool {
    row.experimenter == EXPERIMENTER && row.ty == SHORT_STATE_STATS
}
