//! Logs the ends of connections: also that a controller closes each soon after it began, once.

use std::collections::BTreeMap;

use bofuss_channel::Origin;
use bofuss_datapath::Time;
use tracing::{debug, info, warn};

use super::connection_set::{RemovedPeer, is_local_tool};

/// A controller that closes a connection within this time most likely read what it dislikes.
const QUICK_NS: u64 = 5 * Time::SEC;
/// The most such ends in a row that are reported.
const REPORTED_AT: u32 = 3;

/// The number of times in a row that each controller closed its connection quickly.
#[derive(Default)]
pub struct QuickCloses(BTreeMap<String, u32>);

/// The report of the end of a connection in the log.
#[derive(Debug, PartialEq)]
enum CloseReport {
    /// The end itself.
    Usual,
    /// This warning.
    Warning(String),
    /// Nothing: it was said before.
    Known,
}

impl QuickCloses {
    /// Logs the end of a connection, with the packet-ins that it has lost; what is usual for a
    /// local tool, or was said before of a controller, at debug level.
    pub fn log_end(
        &mut self,
        now: Time,
        peer: &RemovedPeer,
        lost: u64,
        reason: &str,
        is_usual: bool,
    ) {
        let origin = &peer.origin;
        let mut report = CloseReport::Usual;
        if is_usual && let Origin::Active(_) = origin {
            report = self.closed(&origin.uri(), now.since(peer.since), peer.last);
        }
        if let CloseReport::Warning(text) = &report {
            warn!("{origin}: {text}");
        }
        let is_known = report == CloseReport::Known || is_usual && is_local_tool(origin);
        match lost {
            0 if is_known => debug!("{origin}: disconnected: {reason}"),
            0 => info!("{origin}: disconnected: {reason}"),
            lost => info!("{origin}: disconnected: {reason} ({lost} packet-ins lost)"),
        }
    }

    /// Notes that a controller closed its connection, which began `lasted_ns` nanoseconds ago, and
    /// to which a message of this name and size was sent last.
    fn closed(
        &mut self,
        controller: &str,
        lasted_ns: u64,
        (name, bytes): (&str, usize),
    ) -> CloseReport {
        if lasted_ns >= QUICK_NS {
            self.0.remove(controller);
            return CloseReport::Usual;
        }
        let count = self.0.entry(controller.into()).or_default();
        *count = count.saturating_add(1);
        if *count < REPORTED_AT {
            return CloseReport::Usual;
        }
        if *count > REPORTED_AT {
            return CloseReport::Known;
        }
        CloseReport::Warning(format!(
            "closed the connection {REPORTED_AT} times within {} s, now after a {name} of {bytes} \
             bytes. A controller does so if it cannot read a message: --versions offers it others",
            QUICK_NS / Time::SEC
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quick_ends_in_a_row_are_one_warning() {
        let mut closes = QuickCloses::default();
        let last = ("MULTIPART_REPLY", 1234);
        let mut warnings = Vec::new();
        for _ in 0..100 {
            if let CloseReport::Warning(text) = closes.closed("tcp:a", Time::SEC, last) {
                warnings.push(text);
            }
        }
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("a MULTIPART_REPLY of 1234 bytes"));
        assert!(warnings[0].contains("--versions"));
        assert_eq!(closes.closed("tcp:b", 1, last), CloseReport::Usual);
        assert_eq!(
            closes.closed("tcp:a", 9 * Time::SEC, last),
            CloseReport::Usual
        );
        assert_eq!(closes.closed("tcp:a", 1, last), CloseReport::Usual);
    }
}
