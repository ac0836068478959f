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
const MULTIPART_REQUEST: u8 = 18;
const BARRIER_REQUEST: u8 = 20;
/// The type and the code of the error of a full table.
const TABLE_FULL: [u8; 4] = [0, 5, 0, 1];
/// The kind of multipart that asks for entries.
const FLOWS: u8 = 1;
/// The offset of a flow-mod's command, from OpenFlow 1.1 on.
const COMMAND: usize = 25;
/// By how much the barriers of one liar are early at least.
const EARLY: Duration = Duration::from_millis(50);
/// How late a slow switch's changes are, longer than a rule is probed after the barrier.
const SLOW: Duration = Duration::from_millis(800);

/// How a liar changes what a controller sends.
#[derive(Clone, Copy)]
pub enum Lie {
    /// None: flow-mods and barriers arrive late.
    Slow,
    /// Flow-mods arrive late, barriers do not.
    EarlyBarriers,
    /// Only this many flow-mods that add arrive.
    SwallowsAdds(u32),
    /// All flow-mods that add are acknowledged; those after this many are dropped, and refused
    /// once their barrier is answered.
    RejectsLate(u32),
    /// Of requests for flow statistics, only the first one arrives.
    SwallowsStatistics,
    /// The connection is closed after this many flow-mods that add.
    HangsUp(u32),
}

/// What is passed on late.
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
            let mut back = (switch.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut back.0, &mut back.1);
                let _ = back.1.shutdown(Shutdown::Both);
            });
            let changes = changes.clone();
            std::thread::spawn(move || pass(client, switch, lie, changes));
        }
    });
    known
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
    let mut asked = 0;
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
        let is_add = header[1] == FLOW_MOD && message[COMMAND] == 0;
        adds += u32::from(is_add);
        let asks = header[1] == MULTIPART_REQUEST && message[9] == FLOWS;
        asked += u32::from(asks);
        // Its answer has arrived if more is asked: nothing else is on its way back.
        if std::mem::replace(&mut is_answered, header[1] == BARRIER_REQUEST) {
            let _ = client.write_all(&std::mem::take(&mut refused));
        }
        match lie {
            Lie::RejectsLate(most) if is_add && adds > most => {
                refused.extend(error(&header, TABLE_FULL, &message));
            }
            Lie::Slow if matches!(header[1], FLOW_MOD | BARRIER_REQUEST) => {
                let _ = late.send(Late::Message(Instant::now() + SLOW, message));
            }
            Lie::EarlyBarriers if header[1] == FLOW_MOD => {
                mods += 1;
                let _ = late.send(Late::Message(Instant::now() + EARLY, message));
            }
            Lie::EarlyBarriers if header[1] == BARRIER_REQUEST => {
                let _ = switch.write_all(&message);
                let mods = std::mem::take(&mut mods);
                let _ = late.send(Late::Barrier(Instant::now(), mods));
            }
            Lie::SwallowsAdds(most) if is_add && adds > most => {}
            Lie::SwallowsStatistics if asks && asked > 1 => {}
            Lie::HangsUp(after) if adds > after => break,
            Lie::Slow
            | Lie::EarlyBarriers
            | Lie::SwallowsAdds(_)
            | Lie::RejectsLate(_)
            | Lie::SwallowsStatistics
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
