//! The last OpenFlow messages of controllers, kept in bounded memory while somebody asks for them.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bofuss_channel::Origin;
use bofuss_oflib::{Catalogue, Codec, HEADER_BYTES, Version};
use serde_json::{Value, json};

use crate::error::Result;
use crate::past::PastMessage;
use crate::snoop::is_tool;

/// Most messages that are kept, and most bytes of them; the oldest make room.
const MAX_MESSAGES: usize = 256;
const MAX_BYTES: usize = 256 << 10;
/// Of a longer message only the header is kept.
const MAX_MESSAGE_BYTES: usize = 8 << 10;
/// Most characters of a message as text.
const MAX_TEXT: usize = 2000;
/// Messages are kept for this long after the last request.
const KEPT_AFTER_REQUEST: Duration = Duration::from_secs(60);

/// The last messages of a switch's connections with controllers.
#[derive(Clone, Default)]
pub struct RecentMessages(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    /// Until then; nothing is kept if nobody has asked.
    until: Option<Instant>,
    /// True if they are of the past: they stay, and none comes.
    are_past: bool,
    /// The number of the next message.
    next: u64,
    bytes: usize,
    list: VecDeque<KeptMessage>,
}

#[derive(Clone)]
struct KeptMessage {
    number: u64,
    at: SystemTime,
    peer: String,
    is_received: bool,
    /// Its length, of which there are fewer bytes if it is long.
    length: usize,
    bytes: Vec<u8>,
}

impl RecentMessages {
    /// Keeps messages of a connection, if somebody has asked. `bytes` are one or several whole
    /// messages.
    pub fn see(&self, origin: &Origin, is_received: bool, bytes: &[u8]) {
        let mut kept = self.0.lock().expect("no holder panics");
        let Some(until) = kept.until.filter(|_| !kept.are_past) else {
            return;
        };
        if until < Instant::now() {
            let next = kept.next;
            *kept = Kept::default();
            kept.next = next;
            return;
        }
        if is_tool(origin) {
            return;
        }
        kept.add_all(&PastMessage {
            at: SystemTime::now(),
            peer: &origin.to_string(),
            is_received,
            bytes,
        });
    }

    /// Keeps messages of the past, and from then on no others.
    pub fn keep_past(&self, message: &PastMessage<'_>) {
        let mut kept = self.0.lock().expect("no holder panics");
        kept.are_past = true;
        kept.add_all(message);
    }

    /// The kept messages from a number on, as the command `messages` prints them: `[--json] [--from
    /// N]`. They are kept from the first request on. Errors: there is another option.
    pub fn list(&self, argument: &str, catalogue: &Arc<Catalogue>) -> Result<String> {
        let mut is_json = false;
        let mut from = 0;
        let mut words = argument.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--json" => is_json = true,
                "--from" => {
                    let number = words.next().and_then(|number| number.parse().ok());
                    from = number.ok_or("--from takes a number")?;
                }
                other => return Err(format!("messages has no option '{other}'").into()),
            }
        }
        let mut kept = self.0.lock().expect("no holder panics");
        kept.until = Some(Instant::now() + KEPT_AFTER_REQUEST);
        let (next, are_past) = (kept.next, kept.are_past);
        let new = kept.list.iter().filter(|one| one.number >= from);
        let list: Vec<KeptMessage> = new.cloned().collect();
        drop(kept);
        let rows: Vec<Value> = list.iter().map(|one| one.row(catalogue)).collect();
        if is_json {
            let list = json!({"version": 1, "next": next, "messages": rows});
            return Ok(format!("{list}\n"));
        }
        let mut text = String::new();
        for (message, row) in list.iter().zip(&rows) {
            let arrow = if message.is_received { "->" } else { "<-" };
            let said = row["text"].as_str().unwrap_or_default();
            let _ = writeln!(text, "{} {} {arrow} {said}", row["seconds"], message.peer);
        }
        let _ = if are_past {
            writeln!(text, "next {next}; these are of the past")
        } else {
            let seconds = KEPT_AFTER_REQUEST.as_secs();
            writeln!(text, "next {next}; messages are kept for {seconds} s more")
        };
        Ok(text)
    }
}

impl Kept {
    fn add_all(&mut self, all: &PastMessage<'_>) {
        let mut bytes = all.bytes;
        while bytes.len() >= HEADER_BYTES {
            let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            let (message, rest) = bytes.split_at(length.clamp(HEADER_BYTES, bytes.len()));
            self.add(all, message);
            bytes = rest;
        }
    }

    fn add(&mut self, of: &PastMessage<'_>, message: &[u8]) {
        let is_long = message.len() > MAX_MESSAGE_BYTES;
        let bytes = if is_long {
            &message[..HEADER_BYTES]
        } else {
            message
        };
        self.list.push_back(KeptMessage {
            number: self.next,
            at: of.at,
            peer: of.peer.into(),
            is_received: of.is_received,
            length: message.len(),
            bytes: bytes.into(),
        });
        self.next += 1;
        self.bytes += bytes.len();
        while self.list.len() > MAX_MESSAGES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.list.pop_front() else {
                return;
            };
            self.bytes -= oldest.bytes.len();
        }
    }
}

impl KeptMessage {
    fn row(&self, catalogue: &Arc<Catalogue>) -> Value {
        let (name, text) = self.decoded(catalogue);
        let text: String = text.chars().take(MAX_TEXT).collect();
        let since = self.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "number": self.number, "seconds": since.as_millis() as f64 / 1000.0,
            "peer": self.peer, "received": self.is_received,
            "xid": u32::from_be_bytes(self.bytes[4..8].try_into().expect("a header has it")),
            "bytes": self.length, "type": name, "text": text,
        })
    }

    /// The name of its type, and its text.
    fn decoded(&self, catalogue: &Arc<Catalogue>) -> (String, String) {
        let version = Version::of_number(self.bytes[0]).unwrap_or(Version::NEWEST);
        let name = version.message_name(self.bytes[1]).unwrap_or("unknown");
        let codec = Codec::new(version, catalogue.clone());
        let text = match codec.decode(&self.bytes) {
            Ok((_, message)) => message.to_string(),
            Err(_) => format!("{name} of {} bytes", self.length),
        };
        (name.into(), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_kept_once_somebody_asks_and_take_bounded_memory() {
        let recent = RecentMessages::default();
        let origin = Origin::Active("tcp:127.0.0.1:6653".parse().expect("an address"));
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let list = |argument: &str| {
            let text = recent
                .list(argument, &catalogue)
                .expect("its options are right");
            serde_json::from_str::<Value>(&text).expect("it is JSON")
        };
        let echo = [4, 2, 0, 8, 0, 0, 0, 7];
        recent.see(&origin, true, &echo);
        assert_eq!(list("--json")["messages"], json!([]), "nobody had asked");
        recent.see(&origin, true, &[echo, echo].concat());
        let said = list("--json");
        assert_eq!(said["messages"][1]["type"], "ECHO_REQUEST");
        assert_eq!(said["messages"][1]["xid"], 7);
        assert_eq!(list("--json --from 1")["messages"][0]["number"], 1);
        let mut long = vec![0; 60_000];
        long[..4].copy_from_slice(&[4, 14, 0xea, 0x60]);
        let mut wrong = vec![0xff; 8000];
        wrong[..4].copy_from_slice(&[4, 14, 0x1f, 0x40]);
        for _ in 0..1000 {
            recent.see(&origin, false, &long);
            recent.see(&origin, false, &wrong);
        }
        let kept = recent.0.lock().expect("no holder panics");
        assert!(kept.bytes <= MAX_BYTES && kept.list.len() <= MAX_MESSAGES);
        drop(kept);
        assert_eq!(list("--json")["next"], 2002);
        assert!(recent.list("--all", &catalogue).is_err());
    }
}
