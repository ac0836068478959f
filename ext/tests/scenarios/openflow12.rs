//! The effects of scenarios as connections of OpenFlow 1.2 see them.

/// An effect as a connection of 1.2 sees it: without cookies in packet-ins, flags of entries and
/// durations of queues and groups; no entry is a table-miss entry, whose packet-ins have a reason
/// of their own; and FEATURES_REPLY lists the ports.
pub(super) fn in_1_2(effect: &str) -> String {
    let replaced = |text: &str, key: &str, value: &str| {
        let Some((before, rest)) = text.split_once(key) else {
            return text.to_string();
        };
        let after = rest.find(' ').map_or("", |at| &rest[at..]);
        format!("{before}{key}{value}{after}")
    };
    let mut words = effect.split(' ').skip(1);
    match words.next() {
        Some("packet-in") => {
            let effect = replaced(effect, " cookie=", "0xffffffffffffffff");
            effect.replace("reason=NO_MATCH", "reason=ACTION")
        }
        Some("flow") => replaced(effect, " flags=", "0x0"),
        Some("queue-stats") => replaced(effect, " after=", "0.000s"),
        Some("group") => replaced(effect, " after=", "0s"),
        Some("FEATURES_REPLY") => format!("{effect} tables=4 ports=1,2,3,4"),
        _ => effect.into(),
    }
}
