//! The verbs about meters: what they send.

use bofuss_oflib::Message;
use bofuss_oflib::message::Empty;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::{MeterRequest, RequestBody};
use bofuss_oflib::text::parse_meter;

use crate::Failure;
use crate::verbs::{Requests, misused};

/// What a verb about meters with these arguments sends; `None` for another. Errors: which argument
/// is wrong.
pub(crate) fn requests(verb: &str, arguments: &[&str]) -> Result<Option<Requests>, Failure> {
    if !verb.contains("meter") {
        return Ok(None);
    }
    let ask = |body: RequestBody| Requests::Ask(vec![Message::MultipartRequest(body.into())]);
    Ok(Some(match (verb, arguments) {
        ("add-meter", [meter]) => change(meter, MeterModCommand::ADD)?,
        ("mod-meter", [meter]) => change(meter, MeterModCommand::MODIFY)?,
        ("del-meters", [] | [_]) => change(&which(arguments), MeterModCommand::DELETE)?,
        ("meter-mod", [meter, bands @ ..]) => bofuss(meter, bands)?,
        ("dump-meters" | "meter-config", [] | [_]) => {
            ask(RequestBody::MeterConfig(request(arguments)?))
        }
        ("meter-stats", [] | [_]) => ask(RequestBody::Meter(request(arguments)?)),
        ("meter-features", []) => ask(RequestBody::MeterFeatures(Empty)),
        (verb, _) => return Err(misused(verb)),
    }))
}

/// A meter by its number alone, as `meter=N`, or all.
fn which(arguments: &[&str]) -> String {
    match arguments.first() {
        None => "meter=ALL".into(),
        Some(text) if text.contains('=') => text.to_string(),
        Some(number) => format!("meter={number}"),
    }
}

fn request(arguments: &[&str]) -> Result<MeterRequest, Failure> {
    let text = which(arguments);
    let meter = parse_meter(&text, MeterModCommand::DELETE);
    let meter_id = meter.map_err(|error| Failure::Usage(format!("{text}: {error}")))?;
    Ok(MeterRequest {
        meter_id: meter_id.meter_id,
    })
}

fn change(text: &str, command: MeterModCommand) -> Result<Requests, Failure> {
    let meter = parse_meter(text, command);
    let meter = meter.map_err(|error| Failure::Usage(format!("{text}: {error}")))?;
    Ok(Requests::Change(vec![Message::MeterMod(meter)]))
}

/// As BOFUSS writes it: `cmd=add,flags=1,meter=1 drop:rate=50,burst=10`.
fn bofuss(meter: &str, bands: &[&str]) -> Result<Requests, Failure> {
    let wrong = |text: &str| Failure::Usage(format!("'{text}': write cmd=add, mod or del"));
    let mut command = Err(wrong(meter));
    let mut text = String::new();
    for word in meter.split(',') {
        match word.strip_prefix("cmd=") {
            Some("add") => command = Ok(MeterModCommand::ADD),
            Some("mod") => command = Ok(MeterModCommand::MODIFY),
            Some("del") => command = Ok(MeterModCommand::DELETE),
            Some(other) => return Err(wrong(other)),
            None => text.extend([word, ","]),
        }
    }
    for band in bands {
        let (kind, rest) = band.split_once(':').unwrap_or((band, ""));
        let rest = rest.replace("burst=", "burst_size=");
        text.extend(["type=", kind, ",", &rest, ","]);
    }
    change(&text, command?)
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::message::MeterMod;
    use bofuss_oflib::types::MeterId;

    use super::*;

    fn sent(verb: &str, arguments: &[&str]) -> MeterMod {
        let Ok(Some(Requests::Change(messages))) = requests(verb, arguments) else {
            panic!("{verb} {arguments:?}")
        };
        let [Message::MeterMod(meter_mod)] = messages.as_slice() else {
            panic!("{verb} {arguments:?}")
        };
        meter_mod.clone()
    }

    #[test]
    fn a_meter_may_be_written_as_for_ovs_ofctl_and_as_for_bofuss() {
        let ours = "meter=1,kbps,burst,bands=type=drop,rate=50,burst_size=7,\
                    type=dscp_remark,rate=20,prec_level=1";
        let theirs = ["drop:rate=50,burst=7", "dscp_remark:rate=20,prec_level=1"];
        let mut arguments = vec!["cmd=add,flags=5,meter=1"];
        arguments.extend(theirs);
        assert_eq!(sent("meter-mod", &arguments), sent("add-meter", &[ours]));
        arguments[0] = "cmd=mod,flags=5,meter=1";
        assert_eq!(sent("meter-mod", &arguments), sent("mod-meter", &[ours]));
        let deleted = sent("meter-mod", &["cmd=del,meter=1"]);
        assert_eq!(deleted, sent("del-meters", &["meter=1"]));
    }

    #[test]
    fn without_a_number_all_meters_are_meant() {
        assert_eq!(sent("del-meters", &[]).meter_id, MeterId::ALL);
        assert_eq!(sent("del-meters", &["7"]).meter_id, MeterId(7));
    }

    #[test]
    fn wrong_meters_are_named() {
        for (verb, arguments) in [
            ("add-meter", &["meter=1,band=type=fall"][..]),
            ("meter-mod", &["meter=1,flags=1", "drop:rate=5"][..]),
            ("meter-mod", &["cmd=make,meter=1"][..]),
            ("meter-mod", &["cmd=add,meter=1", "fall:rate=5"][..]),
            ("meter-stats", &["many"][..]),
            ("meter-features", &["1"][..]),
        ] {
            let refused = requests(verb, arguments);
            assert!(matches!(refused, Err(Failure::Usage(_))), "{verb}");
        }
    }
}
