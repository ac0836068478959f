//! The configuration of tables: misses, eviction and vacancy events, in ovs-ofctl's verbs and text.

use bofuss_oflib::Message;
use bofuss_oflib::message::multipart::{ReplyBody, RequestBody, TableDesc};
use bofuss_oflib::message::table_mod::{TableConfig, TableMiss, Vacancy};
use bofuss_oflib::message::{Empty, TableMod, TableStatus};
use bofuss_oflib::types::TableId;

use super::multipart;
use crate::Failure;
use crate::verb::{Command, Made, Requests, misused};
use crate::words::Argument;

/// The name that stands for all tables.
const TABLES: &[(&str, u8)] = &[("all", TableId::ALL.0)];
/// The words of mod-table, for its errors.
const SETTINGS: &[&str] = &[
    "evict",
    "noevict",
    "vacancy:LOW,HIGH",
    "novacancy",
    "controller",
    "continue",
    "drop",
];
/// The treatments of misses that mod-table can set, in OpenFlow 1.1 and 1.2.
const MISSES: [TableMiss; 3] = [TableMiss::CONTROLLER, TableMiss::CONTINUE, TableMiss::DROP];

/// The settings that mod-table changes in the configuration of a table.
#[derive(Clone, Copy)]
struct TableSetting {
    /// The flag, and its new value.
    bit: TableConfig,
    on: bool,
    vacancy: Option<Vacancy>,
}

impl TableSetting {
    /// The table-mod that changes this flag and leaves the others as they are in `desc`.
    fn change_of(self, desc: &TableDesc) -> Message {
        let others = desc.config.without(self.bit);
        let config = if self.on { others | self.bit } else { others };
        Message::TableMod(TableMod {
            table_id: desc.table_id,
            config: config.0,
            vacancy: self.vacancy,
            ..TableMod::default()
        })
    }
}

/// Parses `evict`, `noevict`, `vacancy:LOW,HIGH` or `novacancy`.
fn setting(word: &str) -> Result<TableSetting, Failure> {
    match word {
        "evict" => Ok(TableSetting {
            bit: TableConfig::EVICTION,
            on: true,
            vacancy: None,
        }),
        "noevict" => Ok(TableSetting {
            bit: TableConfig::EVICTION,
            on: false,
            vacancy: None,
        }),
        "novacancy" => Ok(TableSetting {
            bit: TableConfig::VACANCY_EVENTS,
            on: false,
            vacancy: None,
        }),
        _ => Ok(TableSetting {
            bit: TableConfig::VACANCY_EVENTS,
            on: true,
            vacancy: Some(vacancy(word)?),
        }),
    }
}

/// Parses `vacancy:LOW,HIGH`.
fn vacancy(word: &str) -> Result<Vacancy, Failure> {
    let argument = Argument(word);
    let thresholds = word
        .strip_prefix("vacancy:")
        .and_then(|rest| rest.split_once(','));
    let Some((low, high)) = thresholds else {
        return Err(argument.unknown(word, "setting", SETTINGS));
    };
    Ok(Vacancy {
        vacancy_down: argument.number(low)?,
        vacancy_up: argument.number(high)?,
        vacancy: 0,
    })
}

pub(crate) fn mod_table(_: &Command, arguments: &[&str]) -> Made {
    let [table, word] = arguments else {
        return misused();
    };
    let wanted = TableId(Argument(table).named(table, TABLES)?);
    if let Some(miss) = MISSES.into_iter().find(|miss| miss.name() == Some(word)) {
        let table_mod = TableMod {
            table_id: wanted,
            miss,
            ..TableMod::default()
        };
        return Ok(Requests::Change(vec![Message::TableMod(table_mod)]));
    }
    let setting = setting(word)?;
    Ok(Requests::First(
        multipart(RequestBody::TableDesc(Empty)),
        Box::new(move |reply| {
            let mut changes = Vec::new();
            for desc in tables_in(reply) {
                if wanted == TableId::ALL || wanted == desc.table_id {
                    changes.push(setting.change_of(&desc));
                }
            }
            if changes.is_empty() {
                let error = format!("the switch has no table {wanted}");
                return Err(Failure::Failed(error));
            }
            Ok(Requests::Change(changes))
        }),
    ))
}

/// The tables in the reply; none in another one.
fn tables_in(reply: Message) -> Vec<TableDesc> {
    if let Message::MultipartReply(reply) = reply
        && let ReplyBody::TableDesc(tables) = reply.body
    {
        tables
    } else {
        Vec::new()
    }
}

/// The configuration of tables, as text.
pub(super) fn descs(tables: &[TableDesc]) -> String {
    let tables: Vec<String> = tables.iter().map(desc).collect();
    tables.join("\n")
}

fn desc(table: &TableDesc) -> String {
    let eviction = on_or_off(table.config, TableConfig::EVICTION);
    let flags = match table.eviction {
        Some(flags) => flags.to_string().to_uppercase(),
        None => "(default)".into(),
    };
    let mut vacancy = on_or_off(table.config, TableConfig::VACANCY_EVENTS).to_string();
    if let Some(events) = table.vacancy {
        let down = events.vacancy_down;
        let up = events.vacancy_up;
        let now = events.vacancy;
        vacancy += &format!(" vacancy_down={down}% vacancy_up={up}% vacancy={now}%");
    }
    format!(
        "  table {}:\n   eviction={eviction} eviction_flags={flags}\n   vacancy={vacancy}\n",
        table.table_id
    )
}

/// Says which of eviction and vacancy events a table supports.
pub(super) fn abilities(config: TableConfig) -> String {
    let mut text = String::new();
    for (bit, what) in [
        (TableConfig::EVICTION, "eviction"),
        (TableConfig::VACANCY_EVENTS, "vacancy events"),
    ] {
        let negation = if config.has(bit) { "" } else { "not " };
        text += &format!("    {what}: {negation}supported\n");
    }
    text
}

fn on_or_off(config: TableConfig, bit: TableConfig) -> &'static str {
    if config.has(bit) { "on" } else { "off" }
}

/// A TABLE_STATUS as text.
pub(super) fn status(head: &str, status: &TableStatus) -> String {
    let reason = status.reason.to_string().to_uppercase();
    let table = desc(&status.table);
    format!("OFPT_TABLE_STATUS {head}: reason={reason}\ntable_desc:-\n{table}")
}
