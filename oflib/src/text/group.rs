//! The text of groups, with their buckets, and of meters, with their bands: reads and prints both.

use alloc::vec::Vec;
use core::fmt;

use super::action::actions;
use super::word::Word;
use super::{Actions, parse_weight};
use crate::catalogue::Catalogue;
use crate::matching::Match;
use crate::message::group_mod::{Bucket, GroupMod, GroupModCommand, GroupType};
use crate::message::meter_mod::{Band, BandKind, MeterFlags, MeterMod, MeterModCommand};
use crate::parse_error::ParseError;
use crate::types::{BucketId, GroupId, MeterId, PortNo};

/// The names of a bucket's properties.
const BUCKET_PROPERTIES: &[&str] = &["weight", "watch_port", "watch_group", "bucket_id"];

/// Reads a group-mod: `group_id=1,type=select,bucket=weight:2,output:1,bucket=output:2`. A bucket
/// of a select group without a weight has 1, and one without a `bucket_id` the number of its place.
/// `command_bucket_id=first`, or a number, says which bucket is meant.
///
/// Errors: the word that is not understood; a group that is not named.
pub fn parse_group(
    text: &str,
    command: GroupModCommand,
    catalogue: &Catalogue,
) -> Result<GroupMod, ParseError> {
    let text = Word::new(text);
    let mut group = GroupMod {
        command,
        ..GroupMod::default()
    };
    let mut named = false;
    let mut buckets: Vec<Vec<Word<'_>>> = Vec::new();
    for item in text.items() {
        let (name, value) = item.split_at(&['=']).unwrap_or((item, item.end()));
        if name.is("bucket") {
            buckets.push([value].into());
        } else if let Some(bucket) = buckets.last_mut() {
            bucket.push(item);
        } else if name.is("group_id") {
            group.group_id = value.parse("group")?;
            named = true;
        } else if name.is("type") {
            group.ty = group_type(value)?;
        } else if name.is("command_bucket_id") {
            group.command_bucket_id = value.parse("bucket")?;
        } else {
            let known = ["group_id", "type", "command_bucket_id", "bucket"];
            return Err(name.unknown("property", known.into_iter()));
        }
    }
    if !named {
        return Err(text.end().err("no group: write group_id=NUMBER"));
    }
    let weight = u16::from(group.ty == GroupType::SELECT);
    for (place, items) in buckets.into_iter().enumerate() {
        let first = Bucket {
            weight,
            ..Bucket::at(place, Vec::new())
        };
        group.buckets.push(bucket(items, first, catalogue)?);
    }
    Ok(group)
}

fn group_type(value: Word<'_>) -> Result<GroupType, ParseError> {
    let long = value.is("fast_failover").then_some(GroupType::FF);
    let ty = long.or_else(|| GroupType::named(value.text));
    ty.ok_or_else(|| value.unknown("type", GroupType::NAMES.iter().map(|(_, name)| *name)))
}

/// Reads a bucket that without any items is `bucket`.
fn bucket(
    items: Vec<Word<'_>>,
    mut bucket: Bucket,
    catalogue: &Catalogue,
) -> Result<Bucket, ParseError> {
    for item in items {
        let item = item.without("actions=");
        let (name, value) = item.call()?;
        match BUCKET_PROPERTIES.iter().position(|known| name.is(known)) {
            Some(0) => {
                bucket.weight = parse_weight(value.text).map_err(|message| value.err(message))?;
            }
            Some(1) => bucket.watch_port = value.port(catalogue)?,
            Some(2) => bucket.watch_group = value.parse("group")?,
            Some(_) => bucket.bucket_id = value.parse("bucket")?,
            None => bucket
                .actions
                .extend(actions(item, &Match::ANY, catalogue)?),
        }
    }
    Ok(bucket)
}

impl fmt::Display for GroupMod {
    /// The text that [`parse_group`] reads; the command is not in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group_id={},type={}", self.group_id, self.ty)?;
        if self.command_bucket_id != BucketId::default() {
            write!(f, ",command_bucket_id={}", self.command_bucket_id)?;
        }
        write_buckets(self.ty, &self.buckets, f)
    }
}

/// The text of a group-mod with its command.
pub(crate) fn write_group_mod(group: &GroupMod, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} {group}", group.command)
}

/// Writes a group.
pub(crate) fn write_group(
    group_id: GroupId,
    ty: GroupType,
    buckets: &[Bucket],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "group_id={group_id},type={ty}")?;
    write_buckets(ty, buckets, f)
}

/// Writes a group's buckets, with the numbers of those that have not that of their place.
fn write_buckets(ty: GroupType, buckets: &[Bucket], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (place, bucket) in (0..).zip(buckets) {
        f.write_str(",bucket=")?;
        if bucket.bucket_id != BucketId(place) {
            write!(f, "bucket_id:{},", bucket.bucket_id)?;
        }
        if ty == GroupType::SELECT && bucket.weight == 0 {
            f.write_str("weight:0,")?;
        }
        write_bucket(bucket, f)?;
    }
    Ok(())
}

/// Writes a bucket.
pub(crate) fn write_bucket(bucket: &Bucket, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if bucket.weight != 0 {
        write!(f, "weight:{},", bucket.weight)?;
    }
    if bucket.watch_port != PortNo::ANY {
        write!(f, "watch_port:{},", bucket.watch_port)?;
    }
    if bucket.watch_group != GroupId::ANY {
        write!(f, "watch_group:{},", bucket.watch_group)?;
    }
    write!(f, "actions={}", Actions(&bucket.actions))
}

/// Reads a meter-mod: `meter=1,pktps,burst,stats,bands=type=drop,rate=1000,burst_size=10`. Bands
/// without a unit are in kb/s.
///
/// Errors: the word that is not understood; a meter that is not named; a band without a rate.
pub fn parse_meter(text: &str, command: MeterModCommand) -> Result<MeterMod, ParseError> {
    let text = Word::new(text);
    let mut meter = MeterMod {
        command,
        ..MeterMod::default()
    };
    let mut named = false;
    let mut has_flags = false;
    let mut rates = 0;
    for item in text.items() {
        let item = item.without("bands=").without("band=");
        let (name, value) = item.split_at(&['=']).unwrap_or((item, item.end()));
        if name.is("meter") || name.is("meter_id") {
            meter.meter_id = value.parse("meter")?;
            named = true;
        } else if name.is("flags") {
            meter.flags.0 |= value.number::<u16>()?;
            has_flags = true;
        } else if let Some(flag) = MeterFlags::named(item.text) {
            meter.flags = meter.flags | flag;
        } else if !item.text.is_empty() {
            band(&mut meter.bands, name, value)?;
            rates += usize::from(name.is("rate"));
        }
    }
    if rates < meter.bands.len() {
        return Err(text.end().err("a band has no rate: write rate=NUMBER"));
    }
    if !named {
        return Err(text.end().err("no meter: write meter=NUMBER"));
    }
    let units = MeterFlags::KBPS.0 | MeterFlags::PKTPS.0;
    if !has_flags && meter.flags.0 & units == 0 && !meter.bands.is_empty() {
        meter.flags = meter.flags | MeterFlags::KBPS;
    }
    Ok(meter)
}

/// Takes a word of a band; `type` begins a new band.
fn band(bands: &mut Vec<Band>, name: Word<'_>, value: Word<'_>) -> Result<(), ParseError> {
    const NAMES: &[&str] = &["type", "rate", "burst_size", "prec_level", "experimenter"];
    let known = NAMES.iter().find(|known| name.is(known)).copied();
    if known == Some("type") {
        let kind = match value.text {
            "drop" => BandKind::Drop,
            "dscp_remark" => BandKind::DscpRemark(0),
            "experimenter" => BandKind::Experimenter(0),
            _ => return Err(value.err("no type of band: drop, dscp_remark or experimenter")),
        };
        bands.push(Band {
            kind,
            rate: 0,
            burst_size: 0,
        });
        return Ok(());
    }
    let flags = MeterFlags::NAMES.iter().map(|(_, name)| *name);
    let (Some(known), Some(band)) = (known, bands.last_mut()) else {
        let others = ["meter", "bands", "flags"];
        return Err(name.unknown("property", NAMES.iter().copied().chain(flags).chain(others)));
    };
    match (known, &mut band.kind) {
        ("rate", _) => band.rate = value.number()?,
        ("burst_size", _) => band.burst_size = value.number()?,
        ("prec_level", BandKind::DscpRemark(level)) => *level = value.number()?,
        ("experimenter", BandKind::Experimenter(id)) => *id = value.number()?,
        _ => return Err(name.err("a band of this type has no such property")),
    }
    Ok(())
}

impl fmt::Display for MeterMod {
    /// The text that [`parse_meter`] reads; the command is not in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_meter(self.meter_id, self.flags, &self.bands, f)
    }
}

/// The text of a meter-mod with its command.
pub(crate) fn write_meter_mod(meter: &MeterMod, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} {meter}", meter.command)
}

/// Writes a meter.
pub(crate) fn write_meter(
    meter_id: MeterId,
    flags: MeterFlags,
    bands: &[Band],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    write!(f, "meter={meter_id}")?;
    let units = MeterFlags::KBPS.0 | MeterFlags::PKTPS.0;
    if flags.0 & !MeterFlags::ALL.0 != 0 || (flags.0 & units == 0 && !bands.is_empty()) {
        write!(f, ",flags={:#x}", flags.0)?;
    } else {
        for (_, name) in MeterFlags::NAMES
            .iter()
            .filter(|(flag, _)| flags.has(*flag))
        {
            write!(f, ",{name}")?;
        }
    }
    for (i, band) in bands.iter().enumerate() {
        write!(f, "{}{band}", if i == 0 { ",bands=" } else { "," })?;
    }
    Ok(())
}
