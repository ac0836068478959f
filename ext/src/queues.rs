//! Queues in text form, and in the experimenter messages of BOFUSS.

use alloc::{format, string::String, sync::Arc, vec, vec::Vec};

use bofuss_agent::queues::{DESC_BYTES, ROWS};
pub use bofuss_agent::queues::{properties, spec};
use bofuss_datapath::{QueueSpec, Rate};
use bofuss_oflib::Version;
use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::queue::{PacketQueue, QueueProperty};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::{Bytes, Wire, Writer, cut};
use bofuss_oflib::{Codec, ExtValue, ParseError, PortNo};

/// A request to create or change a queue of a port.
pub fn modify(port: PortNo, queue_id: QueueId, spec: &QueueSpec) -> ExtValue {
    request(&ROWS[0], port, queue_id, properties(spec, 0))
}

/// A request to delete a queue of a port.
pub fn delete(port: PortNo, queue_id: QueueId) -> ExtValue {
    request(&ROWS[1], port, queue_id, Vec::new())
}

/// A request to change the datapath's description; what is too long is cut.
pub fn set_desc(text: &str) -> ExtValue {
    let mut data = Vec::from(cut(text, DESC_BYTES - 1));
    data.resize(DESC_BYTES, 0);
    ExtValue::new(&ROWS[2], vec![], Bytes(data))
}

/// A request to set the queueing discipline of a port, by its name.
pub fn set_discipline(port: PortNo, name: &str) -> ExtValue {
    ExtValue::new(&ROWS[3], vec![port.0.into()], Bytes(name.into()))
}

fn request(
    row: &'static ExtRow,
    port: PortNo,
    queue_id: QueueId,
    properties: Vec<QueueProperty>,
) -> ExtValue {
    let codec = Codec::new(Version::V1_3, Arc::default());
    let queue = PacketQueue {
        queue_id,
        port,
        properties,
    };
    let mut writer = Writer::new(&codec);
    queue.encode(&mut writer);
    ExtValue::new(row, vec![port.0.into(), 0], Bytes(writer.bytes))
}

/// Reads a queue's text form: `min=RATE,max=RATE,priority=N,weight=N`, any of which may be left
/// out. A RATE is a number of thousandths of the port's rate, or bits per second with k, M or G
/// after the number. A number alone is the minimum.
///
/// Errors: a sentence that says what is wrong, and what would be right.
pub fn parse(text: &str) -> Result<QueueSpec, ParseError> {
    let mut spec = QueueSpec::default();
    let mut keys = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or(("min", part));
        if keys.contains(&key) {
            return Err(format!("'{key}' is there twice").into());
        }
        keys.push(key);
        match key {
            "min" => spec.min = Some(rate(value)?),
            "max" => spec.max = Some(rate(value)?),
            "priority" => spec.priority = number(value)?,
            "weight" => spec.weight = number(value)?.max(1),
            _ => return Err(format!("'{key}': there are min, max, priority and weight").into()),
        }
    }
    Ok(spec)
}

fn number(text: &str) -> Result<u16, ParseError> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a number from 0 to 65535").into())
}

fn rate(text: &str) -> Result<Rate, ParseError> {
    if let Some(share) = text.parse::<u16>().ok().filter(|share| *share <= 1000) {
        return Ok(Rate::PerMille(share));
    }
    let kbps = parse_kbps(text).map_err(|error| format!("{error}, or a share, 0 to 1000"))?;
    Ok(Rate::Kbps(kbps))
}

/// A queue's text form, as [`parse`] reads it.
pub fn text(spec: &QueueSpec) -> String {
    let mut text = String::new();
    for (name, rate) in [("min", spec.min), ("max", spec.max)] {
        match rate {
            Some(Rate::PerMille(share)) => text += &format!("{name}={share},"),
            Some(Rate::Kbps(kbps)) => {
                let unit = UNITS.iter().rev().find(|unit| kbps % unit.1 == 0);
                let (unit, size) = unit.expect("every number is a multiple of 1");
                text += &format!("{name}={}{unit},", kbps / size);
            }
            None => {}
        }
    }
    text + &format!("priority={},weight={}", spec.priority, spec.weight)
}

/// The letters after the number of a rate, with their units in kb/s.
const UNITS: [(char, u32); 3] = [('k', 1), ('M', 1_000), ('G', 1_000_000)];

/// Reads bits per second, with k, M or G after the number, as kb/s.
///
/// Errors: a sentence that says what would be right.
pub fn parse_kbps(text: &str) -> Result<u32, ParseError> {
    let kbps = UNITS.into_iter().find_map(|(unit, kbps)| {
        let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(kbps).filter(|kbps| *kbps > 0)
    });
    kbps.ok_or_else(|| format!("'{text}' is not a rate: bits per second as 500k, 10M or 1G").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_the_same_behind_its_text_and_its_properties() {
        for line in [
            "priority=0,weight=1",
            "min=200,priority=0,weight=1",
            "min=200,max=10M,priority=0,weight=1",
            "min=1500k,max=2G,priority=3,weight=7",
            "max=1000,priority=65535,weight=1",
        ] {
            let own = parse(line).expect("is right");
            assert_eq!(text(&own), line);
            assert_eq!(spec(&properties(&own, 0)), Ok(own), "{line}");
            assert_eq!(spec(&properties(&own, 10_000)), Ok(own), "{line}");
        }
        assert_eq!(parse("200"), parse("min=200"));
        for wrong in [
            "1001",
            "10m",
            "5000G",
            "0k",
            "weight=x",
            "rate=1",
            "min=1,min=2",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let said = |error: ParseError| format!("{error}").ends_with("or a share, 0 to 1000");
        assert!(parse("1001").is_err_and(said));
        assert!(
            !parse_kbps("1000").is_err_and(said),
            "a port's rate is no share"
        );
    }

    #[test]
    fn rates_are_listed_in_thousandths_as_far_as_that_is_known() {
        let own = parse("min=250,max=2500k").expect("is right");
        let shares = |port_kbps| properties(&own, port_kbps);
        assert_eq!(
            shares(10_000)[..2],
            [QueueProperty::MinRate(250), QueueProperty::MaxRate(250)]
        );
        assert_eq!(
            shares(1_000)[1],
            QueueProperty::MaxRate(1000),
            "a port is not exceeded"
        );
        assert!(!shares(0).contains(&QueueProperty::MaxRate(0)));
        let disabled = [QueueProperty::MinRate(0xffff), QueueProperty::MaxRate(1001)];
        assert_eq!(spec(&disabled), Ok(QueueSpec::default()));
    }
}
