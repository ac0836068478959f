//! A controller that runs in this process and records what it receives.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bofuss_channel::{Event, Hub, Origin, PassiveAddress, Sender, Settings, Tls};
use bofuss_oflib::Message;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::message::{ControllerRole, Empty, FlowMod, FlowModCommand, Role};
use bofuss_oflib::text::parse_flow;
use bofuss_tests::{Lab, ip, ok, program, until};
use tokio::sync::mpsc;

/// The UDP port of the numbered packets.
pub const UDP_PORT: u16 = 7777;
/// The time between two numbered packets.
const PACE: Duration = Duration::from_micros(700);

/// The messages that one controller received, in order.
#[derive(Default)]
pub struct Heard {
    pub sender: Option<Sender>,
    /// Its other connections.
    pub more: Vec<Sender>,
    /// The numbers of the packets, and whether they came by the first connection.
    pub packets: Vec<(u32, bool)>,
    /// The cookies of flow-removed.
    pub removed: Vec<u64>,
    pub ports: Vec<PortConfig>,
    pub roles: Vec<ControllerRole>,
    pub auxiliary_ids: Vec<u8>,
    pub barriers: usize,
    pub errors: Vec<String>,
    pub ended: bool,
    pub more_ended: usize,
    /// If true, it reads nothing.
    pub sleeps: bool,
}

/// A controller in a thread of its own: one hub, one listener.
pub struct Controller {
    heard: Arc<Mutex<Heard>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Controller {
    pub fn new(address: &str, tls: Option<Tls>) -> Self {
        let (heard, ends) = (Arc::<Mutex<Heard>>::default(), Arc::<AtomicBool>::default());
        let address: PassiveAddress = address.parse().unwrap();
        let (log, end) = (heard.clone(), ends.clone());
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(listen(address, tls, &log, &end));
        };
        let thread = Some(thread::spawn(run));
        Self {
            heard,
            ends,
            thread,
        }
    }

    pub fn heard<T>(&self, look: impl FnOnce(&mut Heard) -> T) -> T {
        look(&mut self.heard.lock().unwrap())
    }

    pub fn send(&self, message: Message) {
        let sent = self.heard(|heard| heard.sender.as_ref().unwrap().send(1, message));
        assert!(sent, "the switch is connected");
    }

    /// Asks for a role, and waits for the reply.
    pub fn role(&self, role: ControllerRole, generation_id: u64) {
        let before = self.heard(|heard| heard.roles.len());
        self.send(Message::RoleRequest(Role {
            role,
            generation_id,
            ..Role::default()
        }));
        until("the role is confirmed", || {
            self.heard(|heard| heard.roles.len() > before)
        });
        assert_eq!(self.heard(|heard| heard.roles[before]), role);
    }

    /// Waits until the switch has done everything that was sent before.
    pub fn barrier(&self) {
        let before = self.heard(|heard| heard.barriers);
        self.send(Message::BarrierRequest(Empty));
        until("the barrier is reached", || {
            self.heard(|heard| heard.barriers > before)
        });
    }

    pub fn packets(&self) -> Vec<u32> {
        self.heard(|heard| heard.packets.iter().map(|(number, _)| *number).collect())
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.ends.store(true, SeqCst);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_none_or(|ended| ended.is_ok()));
    }
}

/// Serves until `end`.
async fn listen(address: PassiveAddress, tls: Option<Tls>, heard: &Mutex<Heard>, end: &AtomicBool) {
    let (sender, mut events) = mpsc::channel(64);
    let mut settings = Settings::new(Arc::default());
    settings.tls = tls;
    let hub = Hub::new(settings, sender);
    let _listener = hub.listen(&address).await.unwrap();
    let mut first = None;
    while !end.load(SeqCst) {
        if heard.lock().unwrap().sleeps {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        }
        let wait = tokio::time::timeout(Duration::from_millis(50), events.recv());
        let Ok(Some(event)) = wait.await else {
            continue;
        };
        let mut heard = heard.lock().unwrap();
        match event {
            Event::Up {
                conn,
                sender,
                origin,
                ..
            } => {
                assert!(matches!(origin, Origin::Passive { .. }));
                if first.is_none() {
                    first = Some(conn);
                    heard.sender = Some(sender);
                } else {
                    heard.more.push(sender);
                }
            }
            Event::Message {
                conn, xid, message, ..
            } => {
                let is_first = first == Some(conn);
                let echo = heard.note(message, is_first);
                if let (Some(reply), Some(sender)) = (echo, &heard.sender) {
                    sender.send(xid, reply);
                }
            }
            Event::Down { conn, .. } if first == Some(conn) => heard.ended = true,
            Event::Down { .. } => heard.more_ended += 1,
            Event::Room { .. }
            | Event::TlsFiles(_)
            | Event::Failed { .. }
            | Event::Unsent { .. } => {}
            Event::BadMessage { cause, .. } => heard.errors.push(cause.to_string()),
        }
    }
}

impl Heard {
    /// Records a message. Returns the reply to an echo request.
    fn note(&mut self, message: Message, is_first: bool) -> Option<Message> {
        match message {
            Message::PacketIn(packet) => self
                .packets
                .extend(number(&packet.data.0).map(|number| (number, is_first))),
            Message::FlowRemoved(removed) => self.removed.push(removed.cookie),
            Message::PortStatus(status) => self.ports.push(status.desc.config),
            Message::RoleReply(role) => self.roles.push(role.role),
            Message::FeaturesReply(features) => self.auxiliary_ids.push(features.auxiliary_id),
            Message::BarrierReply(_) => self.barriers += 1,
            Message::Error(error) => self.errors.push(error.error.to_string()),
            Message::EchoRequest(data) => return Some(Message::EchoReply(data)),
            _ => {}
        }
        None
    }
}

/// The number in one of our packets: Ethernet, IPv4 without options, UDP.
fn number(frame: &[u8]) -> Option<u32> {
    let is_ours = frame.get(12..14)? == [8, 0]
        && frame[23] == 17
        && frame.get(36..38)? == UDP_PORT.to_be_bytes();
    let number = frame.get(42..46).filter(|_| is_ours)?;
    Some(u32::from_be_bytes(number.try_into().unwrap()))
}

/// The message that changes an entry, from its text.
pub fn flow(text: &str, command: FlowModCommand) -> FlowMod {
    parse_flow(text, command, &bofuss_oflib::Catalogue::default()).unwrap()
}

/// Sends numbered packets of `bytes` payload from host 1 until `end`. Returns how many.
pub fn load(lab: &Lab, bytes: usize, end: &AtomicBool) -> u32 {
    lab.host(1, || {
        ip("neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0");
        let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
        let mut count = 0u32;
        let mut payload = vec![0; bytes];
        while !end.load(SeqCst) {
            payload[..4].copy_from_slice(&count.to_be_bytes());
            socket.send_to(&payload, ("10.0.0.2", UDP_PORT)).unwrap();
            count += 1;
            thread::sleep(PACE);
        }
        count
    })
}

/// The switch's list of its connections.
pub fn connections(lab: &Lab) -> String {
    ok(Command::new(program("bofuss")).args(["ctl", &lab.name, "controllers"]))
}
