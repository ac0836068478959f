//! A liar between a controller and a switch: what arrives is not what was sent.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bofuss_ports::NetNs;

/// Types of messages.
const FLOW_MOD: u8 = 14;
const MULTIPART_REQUEST: u8 = 18;
/// The kind of multipart that asks for entries.
const FLOWS: u8 = 1;
/// The offset of a flow-mod's command, from OpenFlow 1.1 on.
const COMMAND: usize = 25;
/// By how much the barriers of one liar are early.
pub const EARLY: Duration = Duration::from_millis(50);

/// How a liar changes what a controller sends.
#[derive(Clone, Copy)]
pub enum Lie {
    /// Flow-mods that add arrive late, barriers do not.
    EarlyBarriers,
    /// Only this many flow-mods that add arrive.
    SwallowsAdds(u32),
    /// Of requests for flow statistics, only the first one arrives.
    SwallowsStatistics,
    /// The connection is closed after this many flow-mods that add.
    HangsUp(u32),
}

/// Listens in front of a switch on this machine, and lies to whoever connects. Panics: if the port
/// is taken.
pub fn lie(lie: Lie, listen: u16, switch_port: u16) {
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
            std::thread::spawn(move || pass(client, switch, lie));
        }
    });
}

/// Passes messages from a controller to the switch.
fn pass(mut client: TcpStream, mut switch: TcpStream, lie: Lie) {
    let (late, queue) = std::sync::mpsc::channel::<(Instant, Vec<u8>)>();
    let mut delayed = switch.try_clone().unwrap();
    std::thread::spawn(move || {
        for (due, message) in queue {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let _ = delayed.write_all(&message);
        }
    });
    let mut adds = 0;
    let mut asked = 0;
    let mut header = [0; 8];
    while client.read_exact(&mut header).is_ok() {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let mut message = header.to_vec();
        message.resize(length, 0);
        if client.read_exact(&mut message[8..]).is_err() {
            return;
        }
        let is_add = header[1] == FLOW_MOD && message[COMMAND] == 0;
        adds += u32::from(is_add);
        let asks = header[1] == MULTIPART_REQUEST && message[9] == FLOWS;
        asked += u32::from(asks);
        match lie {
            Lie::EarlyBarriers if header[1] == FLOW_MOD => {
                let _ = late.send((Instant::now() + EARLY, message));
            }
            Lie::SwallowsAdds(most) if is_add && adds > most => {}
            Lie::SwallowsStatistics if asks && asked > 1 => {}
            Lie::HangsUp(after) if adds > after => break,
            Lie::EarlyBarriers
            | Lie::SwallowsAdds(_)
            | Lie::SwallowsStatistics
            | Lie::HangsUp(_) => {
                let _ = switch.write_all(&message);
            }
        }
    }
    let _ = switch.shutdown(Shutdown::Both);
}
