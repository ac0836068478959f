//! The messages of the original's verbs that change something.

use bofuss_ext::queues;
use bofuss_oflib::message::config::{ConfigFlags, SwitchConfig};
use bofuss_oflib::message::group_mod::{GroupModCommand, GroupType};
use bofuss_oflib::message::meter_mod::{BandKind, MeterFlags, MeterModCommand};
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PropertyList, TableFeatureFlags, TableFeatures, TableFeaturesCommand,
};
use bofuss_oflib::message::multipart::{ReplyBody, RequestBody};
use bofuss_oflib::message::port::{PortConfig, PortFeatures};
use bofuss_oflib::message::{
    Band, Bucket, FlowMod, FlowModCommand, FlowModFlags, GroupMod, MeterMod, MultipartReply,
    PortMod, TableMod,
};
use bofuss_oflib::text::parse_weight;
use bofuss_oflib::types::{BufferId, GroupId, MaxLen, TableId};
use bofuss_oflib::{Match, Message, PortNo};

use super::flow::{self, group_id};
use super::{TABLES, meter_id, queue_id, table_features};
use crate::Failure;
use crate::ofctl::on_port;
use crate::verb::{Command, Made, Requests, ask, misused};
use crate::words::Argument;

const FLOW_KEYS: &[&str] = &[
    "cmd",
    "table",
    "prio",
    "idle",
    "hard",
    "importance",
    "cookie",
    "cookie_mask",
    "buffer",
    "out_port",
    "out_group",
    "flags",
];
const FLOW_COMMANDS: &[(&str, FlowModCommand)] = &[
    ("add", FlowModCommand::ADD),
    ("mod", FlowModCommand::MODIFY),
    ("mods", FlowModCommand::MODIFY_STRICT),
    ("del", FlowModCommand::DELETE),
    ("dels", FlowModCommand::DELETE_STRICT),
];
const GROUP_COMMANDS: &[(&str, GroupModCommand)] = &[
    ("add", GroupModCommand::ADD),
    ("mod", GroupModCommand::MODIFY),
    ("del", GroupModCommand::DELETE),
];
const GROUP_TYPES: &[(&str, GroupType)] = &[
    ("all", GroupType::ALL),
    ("sel", GroupType::SELECT),
    ("ind", GroupType::INDIRECT),
    ("ff", GroupType::FF),
];
const METER_COMMANDS: &[(&str, MeterModCommand)] = &[
    ("add", MeterModCommand::ADD),
    ("mod", MeterModCommand::MODIFY),
    ("del", MeterModCommand::DELETE),
];
/// The table properties that list the match fields and the wildcards.
const TABLE_MATCH: u16 = 8;
const TABLE_WILDCARDS: u16 = 10;
/// The original's default for `miss=`: how many bytes of a missed packet go to the controller.
const MISS_SEND_LEN: u16 = 128;

fn change(message: Message) -> Made {
    Ok(Requests::Change(vec![message]))
}

/// The value of the row that has this name.
fn choice<T: Copy>(argument: Argument<'_>, word: &str, table: &[(&str, T)]) -> Result<T, Failure> {
    let found = table.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
        argument.unknown(word, "word here", &names)
    })
}

pub(crate) fn set_config(_: &Command, arguments: &[&str]) -> Made {
    let [text] = arguments else { return misused() };
    let argument = Argument(text);
    let mut config = SwitchConfig {
        flags: ConfigFlags(0),
        miss_send_len: MaxLen(MISS_SEND_LEN),
    };
    for (key, value) in argument.pairs(&["flags", "miss"])? {
        match key {
            "flags" => config.flags = ConfigFlags(argument.number(value)?),
            _ => config.miss_send_len = MaxLen(argument.number(value)?),
        }
    }
    change(Message::SetConfig(config))
}

pub(crate) fn flow_mod(command: &Command, arguments: &[&str]) -> Made {
    let [text, words @ ..] = arguments else {
        return misused();
    };
    let argument = Argument(text);
    let mut flow_mod = FlowMod::add(Match::ANY);
    flow_mod.table_id = TableId::ALL;
    for (key, value) in argument.pairs(FLOW_KEYS)? {
        match key {
            "cmd" => flow_mod.command = choice(argument, value, FLOW_COMMANDS)?,
            "table" => flow_mod.table_id = TableId(argument.named(value, TABLES)?),
            "prio" => flow_mod.priority = argument.number(value)?,
            "idle" => flow_mod.idle_timeout = argument.number(value)?,
            "hard" => flow_mod.hard_timeout = argument.number(value)?,
            "importance" => flow_mod.importance = argument.number(value)?,
            "cookie" => flow_mod.cookie = argument.number(value)?,
            "cookie_mask" => flow_mod.cookie_mask = argument.number(value)?,
            "buffer" => {
                let none = &[("none", BufferId::NO_BUFFER.0)];
                flow_mod.buffer_id = BufferId(argument.named(value, none)?);
            }
            "out_port" => flow_mod.out_port = argument.port(value, &command.catalogue)?,
            "out_group" => flow_mod.out_group = group_id(argument, value)?,
            _ => flow_mod.flags = FlowModFlags(argument.number::<u16>(value)?.into()),
        }
    }
    if command.strict {
        flow_mod.command = match flow_mod.command {
            FlowModCommand::MODIFY => FlowModCommand::MODIFY_STRICT,
            FlowModCommand::DELETE => FlowModCommand::DELETE_STRICT,
            other => other,
        };
    }
    let instructions = match words {
        [fields, rest @ ..] if !flow::is_instruction(fields) => {
            flow_mod.fields = flow::parse_match(fields, &command.catalogue)?;
            rest
        }
        words => words,
    };
    flow_mod.instructions = flow::parse_instructions(instructions, &command.catalogue)?;
    change(Message::FlowMod(flow_mod))
}

pub(crate) fn group_mod(command: &Command, arguments: &[&str]) -> Made {
    let [text, words @ ..] = arguments else {
        return misused();
    };
    let argument = Argument(text);
    let mut group = GroupMod {
        group_id: GroupId::ALL,
        ..GroupMod::default()
    };
    for (key, value) in argument.pairs(&["cmd", "type", "group"])? {
        match key {
            "cmd" => group.command = choice(argument, value, GROUP_COMMANDS)?,
            "type" => group.ty = choice(argument, value, GROUP_TYPES)?,
            _ => group.group_id = group_id(argument, value)?,
        }
    }
    for pair in words.chunks(2) {
        let [head, actions] = pair else {
            return Err(Argument(pair[0]).wrong(pair[0], "a bucket is followed by its actions"));
        };
        let place = group.buckets.len();
        group.buckets.push(bucket(command, place, head, actions)?);
    }
    change(Message::GroupMod(group))
}

fn bucket(command: &Command, place: usize, head: &str, actions: &str) -> Result<Bucket, Failure> {
    let argument = Argument(head);
    let actions = flow::parse_actions(actions, &command.catalogue)?;
    let mut bucket = Bucket::at(place, actions);
    for (key, value) in argument.pairs(&["weight", "port", "group"])? {
        match key {
            "weight" => {
                let weight = parse_weight(value);
                bucket.weight = weight.map_err(|error| argument.wrong(value, &error.message))?;
            }
            "port" => bucket.watch_port = argument.port(value, &command.catalogue)?,
            _ => bucket.watch_group = group_id(argument, value)?,
        }
    }
    Ok(bucket)
}

pub(crate) fn meter_mod(_: &Command, arguments: &[&str]) -> Made {
    let [text, words @ ..] = arguments else {
        return misused();
    };
    let argument = Argument(text);
    let mut meter = MeterMod {
        flags: MeterFlags::KBPS,
        ..MeterMod::default()
    };
    for (key, value) in argument.pairs(&["cmd", "flags", "meter"])? {
        match key {
            "cmd" => meter.command = choice(argument, value, METER_COMMANDS)?,
            "flags" => meter.flags = MeterFlags(argument.number(value)?),
            _ => meter.meter_id = meter_id(argument, value)?,
        }
    }
    for word in words {
        meter.bands.push(band(word, meter.flags)?);
    }
    change(Message::MeterMod(meter))
}

fn band(word: &str, flags: MeterFlags) -> Result<Band, Failure> {
    let whole = Argument(word);
    let (kind, rest) = word.split_once(':').unwrap_or((word, ""));
    let mut band = Band {
        kind: choice(
            whole,
            kind,
            &[
                ("drop", BandKind::Drop),
                ("dscp_remark", BandKind::DscpRemark(0)),
            ],
        )?,
        rate: 0,
        burst_size: 0,
    };
    let argument = Argument(rest);
    for (key, value) in argument.pairs(&["rate", "burst", "prec_level"])? {
        match (key, &mut band.kind) {
            ("rate", _) => band.rate = argument.number(value)?,
            ("burst", _) if flags.has(MeterFlags::BURST) => {
                band.burst_size = argument.number(value)?;
            }
            ("burst", _) => {
                return Err(argument.wrong(key, "a burst needs the meter's flag 4, as in flags=5"));
            }
            (_, BandKind::DscpRemark(level)) => *level = argument.number(value)?,
            _ => return Err(argument.wrong(key, "only a dscp_remark has it")),
        }
    }
    Ok(band)
}

pub(crate) fn port_mod(command: &Command, arguments: &[&str]) -> Made {
    let [text] = arguments else { return misused() };
    let argument = Argument(text);
    let mut port = PortMod {
        port_no: PortNo::ANY,
        ..PortMod::default()
    };
    let mut has_address = false;
    for (key, value) in argument.pairs(&["port", "addr", "conf", "mask", "adv"])? {
        match key {
            "port" => port.port_no = argument.port(value, &command.catalogue)?,
            "addr" => {
                let address = value.parse();
                port.hw_addr =
                    address.map_err(|()| argument.wrong(value, "no Ethernet address"))?;
                has_address = true;
            }
            "conf" => port.config = PortConfig(argument.number::<u32>(value)?.into()),
            "mask" => port.mask = PortConfig(argument.number::<u32>(value)?.into()),
            _ => port.advertise = PortFeatures(argument.number(value)?),
        }
    }
    if has_address {
        return change(Message::PortMod(port));
    }
    on_port(&port.port_no.to_string(), move |found| {
        port.hw_addr = found.hw_addr;
        Requests::Change(vec![Message::PortMod(port)])
    })
}

pub(crate) fn table_mod(_: &Command, arguments: &[&str]) -> Made {
    let [text] = arguments else { return misused() };
    let argument = Argument(text);
    let mut table = TableMod {
        table_id: TableId::ALL,
        ..TableMod::default()
    };
    for (key, value) in argument.pairs(&["table", "conf"])? {
        match key {
            "table" => table.table_id = TableId(argument.named(value, TABLES)?),
            _ => table.config = argument.number(value)?,
        }
    }
    change(Message::TableMod(table))
}

pub(crate) fn queue_mod(command: &Command, arguments: &[&str]) -> Made {
    let [port, queue, spec] = arguments else {
        return misused();
    };
    let port = Argument(port).port(port, &command.catalogue)?;
    let id = queue_id(queue)?;
    let spec = queues::parse(spec)?;
    change(Message::Experimenter(queues::modify(port, id, &spec)))
}

pub(crate) fn queue_del(command: &Command, arguments: &[&str]) -> Made {
    let [port, queue] = arguments else {
        return misused();
    };
    let port = Argument(port).port(port, &command.catalogue)?;
    let id = queue_id(queue)?;
    change(Message::Experimenter(queues::delete(port, id)))
}

pub(crate) fn set_discipline(command: &Command, arguments: &[&str]) -> Made {
    let [port, name] = arguments else {
        return misused();
    };
    let port = Argument(port).port(port, &command.catalogue)?;
    change(Message::Experimenter(queues::set_discipline(port, name)))
}

pub(crate) fn set_desc(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [text] => change(Message::Experimenter(queues::set_desc(text))),
        _ => misused(),
    }
}

pub(crate) fn set_table_match(command: &Command, arguments: &[&str]) -> Made {
    let text = match arguments {
        [] => return table_features(command, arguments),
        [text] => text,
        _ => return misused(),
    };
    let argument = Argument(text);
    let names = argument.items();
    let fields: Vec<_> = names
        .map(|name| flow::field_named(argument, name, &command.catalogue))
        .collect::<Result<_, _>>()?;
    change_tables(move |tables| {
        let matching = [TABLE_MATCH, TABLE_WILDCARDS];
        for property in tables.iter_mut().flat_map(|table| &mut table.0.properties) {
            if let PropertyList::Fields(list) = &mut property.list
                && matching.contains(&property.ty)
            {
                list.retain(|id| match id {
                    FieldId::Known(field, _) => fields.contains(field),
                    FieldId::Unknown(..) => false,
                });
            }
        }
        Ok(())
    })
}

/// `first-egress TABLE`, or `none`, after which packets leave without egress tables.
pub(crate) fn first_egress(_: &Command, arguments: &[&str]) -> Made {
    let [word] = arguments else {
        return misused();
    };
    let wanted = match *word {
        "none" => None,
        number => Some(TableId(Argument(word).number(number)?)),
    };
    change_tables(move |tables| {
        // MODIFY leaves all other tables as they are, and all properties that are not listed.
        match wanted {
            Some(wanted) => tables.retain(|table| table.0.table_id == wanted),
            None if tables.iter().any(is_first_egress) => tables.retain(is_first_egress),
            // No table has the flag. Before 1.5 that is so because the version has none: one table
            // suffices for a request that cannot be encoded then.
            None => tables.truncate(1),
        }
        for TableFeatures(table) in &mut *tables {
            table.command = TableFeaturesCommand::MODIFY;
            table.properties.clear();
            table.features.0 &= !TableFeatureFlags::FIRST_EGRESS.0;
            if wanted.is_some() {
                table.features = table.features | TableFeatureFlags::FIRST_EGRESS;
            }
        }
        match wanted {
            Some(wanted) if tables.is_empty() => {
                Err(Failure::Failed(format!("the switch has no table {wanted}")))
            }
            _ => Ok(()),
        }
    })
}

fn is_first_egress(table: &TableFeatures) -> bool {
    table.0.features.has(TableFeatureFlags::FIRST_EGRESS)
}

/// Requests the features of all tables, then sends them back as `change` leaves them.
fn change_tables(
    change: impl FnOnce(&mut Vec<TableFeatures>) -> Result<(), Failure> + 'static,
) -> Made {
    Ok(Requests::First(
        table_features_request(Vec::new()),
        Box::new(move |reply| {
            let Message::MultipartReply(MultipartReply {
                body: ReplyBody::TableFeatures(mut tables),
                ..
            }) = reply
            else {
                let error = "the switch does not report what its tables can do";
                return Err(Failure::Failed(error.into()));
            };
            change(&mut tables)?;
            ask([table_features_request(tables)])
        }),
    ))
}

/// The request that sets the features of tables; without tables, the one that asks for all.
fn table_features_request(tables: Vec<TableFeatures>) -> Message {
    Message::MultipartRequest(RequestBody::TableFeatures(tables).into())
}
