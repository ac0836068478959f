//! A liar between a controller and a switch: what arrives is not what was sent.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bofuss_ports::NetNs;

/// Types of messages.
const ERROR: u8 = 1;
const FLOW_MOD: u8 = 14;
/// The type and the code of the error of a full table.
const TABLE_FULL: [u8; 4] = [0, 5, 0, 1];
/// The kinds of multipart that ask for entries, for their number, and for that in each table.
const FLOWS: u8 = 1;
const AGGREGATE: u8 = 2;
const TABLES: u8 = 3;
/// Commands of flow-mods.
const ADD: u8 = 0;
const MODIFY_STRICT: u8 = 2;
const DELETE: u8 = 3;
const DELETE_STRICT: u8 = 4;
/// OpenFlow 1.0 and 1.5 on the wire.
const OF10: u8 = 1;
const OF15: u8 = 6;
/// By how much the barriers of one liar are early at least.
const EARLY: Duration = Duration::from_millis(50);
/// By how much all answers of one liar are late.
pub const LATE: Duration = Duration::from_millis(50);
/// The delay of a slow switch's changes, longer than a rule is probed after the barrier.
const SLOW: Duration = Duration::from_millis(800);

/// The way in which a liar changes what a controller sends.
#[derive(Clone, Copy)]
pub enum Lie {
    /// None: flow-mods and barriers arrive late.
    Slow,
    /// Flow-mods arrive late, barriers do not.
    EarlyBarriers,
    /// Only this many flow-mods that add arrive.
    SwallowsAdds(u32),
    /// Of the flow-mods that add, the one of this number does not arrive, counted from 1 on from
    /// each removal of all entries.
    SwallowsOne(u32),
    /// Flow-mods that modify do not arrive.
    SwallowsModifies,
    /// Flow-mods that delete single entries do not arrive; statistics say that they did.
    SwallowsDeletes,
    /// All flow-mods that add are acknowledged; those after this many are dropped, and refused
    /// once their barrier is answered.
    RejectsLate(u32),
    /// On a connection that has added an entry, requests for flow statistics do not arrive.
    SwallowsStatistics,
    /// On a connection that has added an entry, barriers do not arrive.
    SwallowsBarriers,
    /// The connection is closed after this many flow-mods that add.
    HangsUp(u32),
    /// After this many flow-mods that add, nothing arrives on the connection.
    FallsSilent(u32),
    /// Nothing arrives at all.
    Silent,
    /// No request for a multipart reply arrives.
    SwallowsAllStatistics,
    /// What the switch says arrives late, by [`LATE`].
    LateAnswers,
}

/// What differs between the versions.
struct Wording {
    multipart_request: u8,
    barrier_request: u8,
    /// The offset of a flow-mod's command.
    command: usize,
}

fn wording(version: u8) -> Wording {
    if version == OF10 {
        return Wording {
            multipart_request: 16,
            barrier_request: 18,
            command: 57,
        };
    }
    Wording {
        multipart_request: 18,
        barrier_request: 20,
        command: 25,
    }
}

/// The reply to a request for the number of entries, with any number.
fn counted(header: &[u8; 8], kind: u8, entries: u32) -> Vec<u8> {
    let is_old = header[0] == OF10;
    let count = entries.to_be_bytes();
    let mut body = vec![0, kind, 0, 0];
    if !is_old {
        body.extend([0; 4]);
    }
    match kind {
        // A list of one statistic, the number of flows.
        AGGREGATE if header[0] == OF15 => {
            body.extend([0, 0, 0, 12, 0x80, 2, 3 << 1, 4]);
            body.extend(count);
            body.extend([0; 4]);
        }
        AGGREGATE => {
            body.extend([0; 16]);
            body.extend(count);
            body.extend([0; 4]);
        }
        _ => {
            // In 1.0 there are the table's name, wildcards and size before the number.
            body.extend(vec![0; if is_old { 44 } else { 4 }]);
            body.extend(count);
            body.extend([0; 16]);
        }
    }
    let length = (header.len() + body.len()) as u16;
    let reply = wording(header[0]).multipart_request + 1;
    let mut bytes = vec![header[0], reply];
    bytes.extend(length.to_be_bytes());
    bytes.extend(&header[4..]);
    bytes.extend(body);
    bytes
}

/// The messages that are passed on late.
enum Late {
    /// A message, and when it is due.
    Message(Instant, Vec<u8>),
    /// A barrier that was passed on at this time, and how many flow-mods it was to wait for.
    Barrier(Instant, u32),
}

/// Of each barrier, the flow-mods that it was to wait for, and how long after it the last of them
/// was passed on.
#[derive(Clone, Default)]
pub struct LateChanges(Arc<Mutex<Vec<(u32, Duration)>>>);

impl LateChanges {
    /// By how much the last barrier after so many flow-mods was early.
    pub fn after(&self, mods: u32) -> Duration {
        let all = self.0.lock().unwrap();
        let of_these = all.iter().rev().find(|(count, _)| *count == mods);
        of_these.unwrap().1
    }
}

/// Listens in front of a switch on this machine, and lies to whoever connects. Panics: if the port
/// is taken.
pub fn lie(lie: Lie, listen: u16, switch_port: u16) -> LateChanges {
    let changes = LateChanges::default();
    let known = changes.clone();
    let listener = TcpListener::bind(("127.0.0.1", listen)).unwrap();
    let namespace = NetNs::current().unwrap();
    std::thread::spawn(move || {
        namespace.enter().unwrap();
        for client in listener.incoming().map_while(Result::ok) {
            let switch = TcpStream::connect(("127.0.0.1", switch_port)).unwrap();
            switch.set_nodelay(true).unwrap();
            client.set_nodelay(true).unwrap();
            let back = (switch.try_clone().unwrap(), client.try_clone().unwrap());
            let late = matches!(lie, Lie::LateAnswers);
            std::thread::spawn(move || {
                pass_back(back.0, back.1, if late { LATE } else { Duration::ZERO })
            });
            let changes = changes.clone();
            std::thread::spawn(move || pass(client, switch, lie, changes));
        }
    });
    known
}

/// Passes what the switch says back to the controller, late.
fn pass_back(mut switch: TcpStream, client: TcpStream, late: Duration) {
    let (to, queue) = channel::<(Instant, Vec<u8>)>();
    let mut back = client.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        for (due, bytes) in queue {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let _ = back.write_all(&bytes);
        }
    });
    let mut chunk = vec![0; 1 << 16];
    while let Ok(count @ 1..) = switch.read(&mut chunk) {
        let _ = to.send((Instant::now() + late, chunk[..count].to_vec()));
    }
    drop(to);
    let _ = sender.join();
    let _ = client.shutdown(Shutdown::Both);
}

/// Passes late messages on in their time.
fn pass_late(queue: Receiver<Late>, mut switch: TcpStream, changes: LateChanges) {
    let mut passed_on = Instant::now();
    for late in queue {
        match late {
            Late::Message(due, message) => {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let _ = switch.write_all(&message);
                passed_on = Instant::now();
            }
            Late::Barrier(at, mods) => {
                let early = passed_on.saturating_duration_since(at);
                changes.0.lock().unwrap().push((mods, early));
            }
        }
    }
}

/// Passes messages from a controller to the switch.
fn pass(mut client: TcpStream, mut switch: TcpStream, lie: Lie, changes: LateChanges) {
    let (late, queue) = channel();
    let delayed = switch.try_clone().unwrap();
    let sender = std::thread::spawn(move || pass_late(queue, delayed, changes));
    let mut mods = 0;
    let mut adds = 0;
    // The entries that there should be, and those that were added since all were removed.
    let mut acknowledged = 0;
    let mut since_removal = 0;
    let mut refused: Vec<u8> = Vec::new();
    let mut is_answered = false;
    let mut header = [0; 8];
    while client.read_exact(&mut header).is_ok() {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let mut message = header.to_vec();
        message.resize(length, 0);
        if client.read_exact(&mut message[8..]).is_err() {
            break;
        }
        let words = wording(header[0]);
        let is_barrier = header[1] == words.barrier_request;
        let command = (header[1] == FLOW_MOD).then(|| message[words.command]);
        let is_add = command == Some(ADD);
        adds += u32::from(is_add);
        match command {
            Some(ADD) => (acknowledged, since_removal) = (acknowledged + 1, since_removal + 1),
            Some(DELETE) => (acknowledged, since_removal) = (0, 0),
            Some(DELETE_STRICT) => acknowledged -= 1,
            _ => {}
        }
        let asked = (header[1] == words.multipart_request).then(|| message[9]);
        let asks = asked == Some(FLOWS);
        // Its answer has arrived if more is asked: nothing else is on its way back.
        if std::mem::replace(&mut is_answered, is_barrier) {
            let _ = client.write_all(&std::mem::take(&mut refused));
        }
        match lie {
            Lie::RejectsLate(most) if is_add && adds > most => {
                refused.extend(error(&header, TABLE_FULL, &message));
            }
            Lie::Slow if command.is_some() || is_barrier => {
                let _ = late.send(Late::Message(Instant::now() + SLOW, message));
            }
            Lie::EarlyBarriers if command.is_some() => {
                mods += 1;
                let _ = late.send(Late::Message(Instant::now() + EARLY, message));
            }
            Lie::EarlyBarriers if is_barrier => {
                let _ = switch.write_all(&message);
                let mods = std::mem::take(&mut mods);
                let _ = late.send(Late::Barrier(Instant::now(), mods));
            }
            Lie::SwallowsAdds(most) if is_add && adds > most => {}
            Lie::SwallowsOne(number) if is_add && since_removal == number => {}
            Lie::SwallowsModifies if command == Some(MODIFY_STRICT) => {}
            Lie::SwallowsDeletes if command == Some(DELETE_STRICT) => {}
            Lie::SwallowsOne(_) | Lie::SwallowsDeletes
                if matches!(asked, Some(AGGREGATE | TABLES)) =>
            {
                let kind = asked.unwrap_or_default();
                let _ = client.write_all(&counted(&header, kind, acknowledged));
            }
            Lie::SwallowsStatistics if asks && adds > 0 => {}
            Lie::SwallowsAllStatistics if asks => {}
            Lie::FallsSilent(after) if adds > after => {}
            Lie::Silent => {}
            Lie::SwallowsBarriers if is_barrier && adds > 0 => {}
            Lie::HangsUp(after) if adds > after => break,
            Lie::Slow
            | Lie::EarlyBarriers
            | Lie::SwallowsAdds(_)
            | Lie::SwallowsOne(_)
            | Lie::SwallowsModifies
            | Lie::SwallowsDeletes
            | Lie::RejectsLate(_)
            | Lie::SwallowsStatistics
            | Lie::SwallowsAllStatistics
            | Lie::FallsSilent(_)
            | Lie::SwallowsBarriers
            | Lie::LateAnswers
            | Lie::HangsUp(_) => {
                let _ = switch.write_all(&message);
            }
        }
    }
    drop(late);
    let _ = sender.join();
    let _ = switch.shutdown(Shutdown::Both);
}

/// An error about a message.
fn error(header: &[u8; 8], reason: [u8; 4], message: &[u8]) -> Vec<u8> {
    let cause = &message[..message.len().min(64)];
    let length = (header.len() + reason.len() + cause.len()) as u16;
    let mut bytes = vec![header[0], ERROR];
    bytes.extend(length.to_be_bytes());
    bytes.extend(&header[4..]);
    bytes.extend(reason);
    bytes.extend(cause);
    bytes
}
