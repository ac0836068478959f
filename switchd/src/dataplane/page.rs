//! A page of a list that may be long, collected in slices: flow entries, groups, meters or paths.

use std::cmp::Reverse;

use bofuss_datapath::{Cursor, Entry, Filter};
use bofuss_ext::Switch;
use bofuss_oflib::message::multipart::FlowStatsRequest;
use bofuss_oflib::text::parse_flow_filter;
use bofuss_oflib::types::{GroupId, MeterId, TableId};
use bofuss_oflib::wire::Text;
use serde_json::{Value, json};

use super::collection::{CollectedSwitch, Collection};
use super::command::Answer;
use super::lists::VERSION;
use super::live_switch::{LiveSwitch, named};
use super::paths;
use crate::error::Result;

/// Rows of a page, unless the command says how many, and the most that it may say.
const ROWS: usize = 100;
const MOST_ROWS: usize = 1000;
/// A page ends when its rows have this many bytes.
const MAX_BYTES: usize = 1 << 20;
/// Most groups or meters in one slice.
const SLICE: usize = 32;
/// Slices of entries that are visited at a time, if none of these is listed: some 50 us.
const SKIPPED_SLICES: usize = 16;

/// A page of a list: what is asked for, and the rows so far.
pub struct Page {
    /// `flows`, `groups`, `meters` or `paths`, which is also the name of the list in JSON.
    command: &'static str,
    json: bool,
    most: usize,
    /// The first entry, counted from 0 among those that match, or the id of the first row.
    from: u64,
    flow: String,
    walk: Option<(FlowStatsRequest, Cursor)>,
    /// Entries that matched.
    matched: u64,
    /// The rows with the order in which the page has them.
    rows: Vec<((u8, Reverse<u16>), String)>,
    bytes: usize,
    /// Where the next page begins, if there is one; or what is wrong with the command.
    end: Option<Result<Option<u64>>>,
}

impl Page {
    /// A page of the list `command`, as its `argument` says. Errors: there is another option.
    pub fn new(command: &'static str, argument: &str) -> Result<Self> {
        let mut page = Self {
            command,
            json: false,
            most: ROWS,
            from: 0,
            flow: String::new(),
            walk: None,
            matched: 0,
            rows: Vec::new(),
            bytes: 0,
            end: None,
        };
        let mut words = argument.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--json" => page.json = true,
                "--from" => page.from = number(word, words.next())?,
                "--most" => {
                    let most = number(word, words.next())?;
                    page.most = most.clamp(1, MOST_ROWS as u64) as usize;
                }
                flow if command == "flows" && !flow.starts_with("--") => {
                    let separator = if page.flow.is_empty() { "" } else { "," };
                    page.flow += separator;
                    page.flow += flow.trim_matches(',');
                }
                other => return Err(format!("{command} has no option '{other}'").into()),
            }
        }
        Ok(page)
    }

    /// The page as text or JSON. Errors: what is wrong with the command.
    pub fn answer(mut self) -> Answer {
        let next = self.end.unwrap_or(Ok(None))?;
        self.rows.sort_by_key(|row| row.0);
        let rows = self.rows.into_iter().map(|row| row.1);
        if self.json {
            let next = json!(next);
            let list = rows.collect::<Vec<_>>().join(",");
            let command = self.command;
            return Ok(format!(
                "{{\"version\":{VERSION},\"next\":{next},\"{command}\":[{list}]}}\n"
            ));
        }
        let mut text: String = rows.collect();
        if let Some(next) = next {
            text += &format!("more with --from {next}\n");
        }
        Ok(text)
    }

    /// Adds a row, as JSON or as its fields in a line.
    fn add(&mut self, order: (u8, Reverse<u16>), row: &Value) {
        let text = if self.json {
            row.to_string()
        } else {
            line(row)
        };
        self.bytes += text.len();
        self.rows.push((order, text));
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.most || self.bytes >= MAX_BYTES
    }

    /// Begins to walk over the entries that are meant. Errors: the text of the entries is wrong.
    fn begin(&mut self, switch: &Switch) -> Result<()> {
        let mut words = self.flow.split([',', ' ']);
        if words.any(|word| word.split('=').next() == Some("priority")) {
            return Err("priority does not select entries: leave it out".into());
        }
        let request = parse_flow_filter(&self.flow, &named(switch))?;
        let label = Filter::from(&request).label();
        let cursor = Cursor::new(request.table_id).of(label);
        self.walk = Some((request, cursor));
        Ok(())
    }

    fn add_flows(&mut self, live: &mut LiveSwitch) {
        if self.walk.is_none()
            && let Err(error) = self.begin(live.switch())
        {
            self.end = Some(Err(error));
        }
        let Some((request, mut cursor)) = self.walk.take() else {
            return;
        };
        let filter = Filter::from(&request);
        let settled = live.settled();
        let before = self.rows.len();
        for _ in 0..SKIPPED_SLICES {
            let is_last = settled.slice(&mut cursor, |table, entry| {
                if !filter.selects(entry) {
                    return;
                }
                if self.matched >= self.from && self.is_full() {
                    let next = self.from + self.rows.len() as u64;
                    self.end = Some(Ok(Some(next)));
                } else if self.matched >= self.from {
                    let order = (table.0, Reverse(entry.key.priority.0));
                    let switch = settled.datapath();
                    let fields = entry.rule.to_match(switch.catalogue());
                    let fields = Text(&fields).to_string();
                    self.add(
                        order,
                        &flow_row(table, entry, fields.trim_matches(['{', '}'])),
                    );
                }
                self.matched += 1;
            });
            if is_last && self.end.is_none() {
                self.end = Some(Ok(None));
            }
            if self.end.is_some() || self.rows.len() > before {
                break;
            }
        }
        self.walk = Some((request, cursor));
    }

    /// Adds rows of groups or meters, which are in the order of their ids.
    fn add_list(&mut self, rows: impl Iterator<Item = (u32, Value)>) {
        for (added, (id, row)) in rows.enumerate() {
            if self.is_full() {
                self.end = Some(Ok(Some(id.into())));
                return;
            }
            if added == SLICE {
                self.from = id.into();
                return;
            }
            self.add((0, Reverse(0)), &row);
        }
        self.end = Some(Ok(None));
    }

    /// The first id of the next slice.
    fn first_id(&self) -> u32 {
        self.from.try_into().unwrap_or(u32::MAX)
    }

    fn add_groups(&mut self, live: &LiveSwitch) {
        let all = GroupId(self.first_id())..=GroupId(u32::MAX);
        let groups = live.switch().datapath().groups();
        let stats = groups.stats(live.now(), all.clone());
        self.add_list(groups.descs(all).zip(stats).map(|(desc, stats)| {
            let stats = stats.0;
            let counted = desc.buckets.iter().zip(&stats.bucket_stats);
            let buckets = counted.map(|(bucket, counts)| {
                let actions = bucket.actions.iter().map(ToString::to_string);
                json!({
                    "weight": bucket.weight, "watch_port": bucket.watch_port.to_string(),
                    "watch_group": bucket.watch_group.to_string(),
                    "actions": actions.collect::<Vec<_>>(),
                    "packet_count": counts.packet_count, "byte_count": counts.byte_count,
                })
            });
            let row = json!({
                "group_id": desc.group_id.0, "type": desc.ty.to_string(),
                "ref_count": stats.ref_count, "packet_count": stats.packet_count,
                "byte_count": stats.byte_count, "buckets": buckets.collect::<Value>(),
            });
            (desc.group_id.0, row)
        }));
    }

    fn add_meters(&mut self, live: &LiveSwitch) {
        let all = MeterId(self.first_id())..=MeterId(u32::MAX);
        let meters = live.switch().datapath().meters();
        let stats = meters.stats(live.now(), all.clone());
        self.add_list(meters.configs(all).zip(stats).map(|(config, stats)| {
            let counted = config.bands.iter().zip(&stats.bands);
            let bands = counted.map(|(band, counts)| {
                json!({
                    "band": band.to_string(),
                    "packet_count": counts.packet_count, "byte_count": counts.byte_count,
                })
            });
            let row = json!({
                "meter_id": config.meter_id.0, "flags": config.flags.to_string(),
                "flow_count": stats.flow_count, "packet_count": stats.input.packet_count,
                "byte_count": stats.input.byte_count, "bands": bands.collect::<Value>(),
            });
            (config.meter_id.0, row)
        }));
    }
}

impl Page {
    /// Adds hosts that ARP-Path knows, in the order of their places.
    fn add_paths(&mut self, live: &mut LiveSwitch) {
        match paths::part(live, self.from) {
            Err(error) => self.end = Some(Err(error)),
            Ok((records, next)) => {
                for record in records {
                    if self.is_full() {
                        self.end = Some(Ok(Some(record.place())));
                        return;
                    }
                    self.add((0, Reverse(0)), &paths::row(&record));
                }
                match next {
                    Some(next) => self.from = next,
                    None => self.end = Some(Ok(None)),
                }
            }
        }
    }
}

impl Collection for Page {
    fn is_done(&self) -> bool {
        self.end.is_some()
    }

    fn add_slice(&mut self, switch: CollectedSwitch<'_>) {
        let live = switch.live;
        match self.command {
            "groups" => self.add_groups(live),
            "meters" => self.add_meters(live),
            "paths" => self.add_paths(live),
            _ => self.add_flows(live),
        }
    }
}

/// The number after an option. Errors: it is none.
fn number(option: &str, word: Option<&str>) -> Result<u64> {
    let word = word.unwrap_or_default();
    let number = word.parse();
    number.map_err(|_| format!("{option} takes a number, not '{word}'").into())
}

/// An entry with its match as text.
fn flow_row(table: TableId, entry: &Entry, fields: &str) -> Value {
    let instructions = entry.instructions.list().iter().map(ToString::to_string);
    json!({
        "table_id": table.0, "priority": entry.key.priority.0,
        "cookie": format!("{:#x}", entry.cookie), "match": fields,
        "instructions": instructions.collect::<Vec<_>>(),
        "idle_timeout": entry.idle_timeout, "hard_timeout": entry.hard_timeout,
        "packet_count": entry.packets, "byte_count": entry.bytes,
    })
}

/// The fields of a row in a line.
fn line(row: &Value) -> String {
    let fields = row.as_object().into_iter().flatten().map(|(name, value)| {
        value.as_str().map_or_else(
            || format!("{name}={value}"),
            |text| format!("{name}={text}"),
        )
    });
    let fields: Vec<_> = fields.collect();
    format!("{}\n", fields.join(" "))
}
