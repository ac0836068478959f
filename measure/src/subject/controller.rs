//! A controller: one connection to the switch, in the newest version that both speak.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bofuss_channel::{Client, ClientError};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::multipart::{FlowStatsRequest, PortDescRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::{
    Empty, Features, FlowMod, FlowModCommand, MultipartRequest, PacketOut, SwitchConfig,
};
use bofuss_oflib::text::{parse_flow, parse_group};
use bofuss_oflib::types::{BufferId, MaxLen, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Catalogue, Codec, Match, Message, PortNo, Version};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::error::{ControlError, Result};
use crate::subject::address::{SwitchAddress, takes_connections};

/// Seconds that a switch may take to answer before it counts as hanging, unless the user says
/// otherwise.
pub const STALL_SECONDS: u64 = 30;
/// The time to wait for a switch that connects.
const ARRIVAL: Duration = Duration::from_secs(60);
/// The time to wait for a message that should be here already.
const GLANCE: Duration = Duration::from_millis(1);
/// The time for which a switch may count another number of entries than it has, as some bring their
/// statistics up to date only now and then; and the pause before it is asked again.
const COUNT_PATIENCE: Duration = Duration::from_secs(2);
const COUNT_PAUSE: Duration = Duration::from_millis(100);
/// The time that a switch has to take its settings back when a connection ends.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Messages that are written in one piece.
const TOGETHER: usize = 100;

/// The cookie of all rules that the meter adds, by which a later run knows them: "ofmeter".
pub const METER_COOKIE: u64 = 0x006f_666d_6574_6572;

/// Removes all entries of a table, or of all tables.
fn removal(table_id: TableId) -> Message {
    Message::FlowMod(FlowMod {
        command: FlowModCommand::DELETE,
        table_id,
        ..FlowMod::add(Match::ANY)
    })
}

/// A flow-mod with the meter's cookie, if it adds an entry or modifies it: in 1.0, a modified entry
/// gets the cookie of the modification, and an entry that is not there is added.
fn signed(mut flow: FlowMod) -> FlowMod {
    if !flow.deletes() {
        flow.cookie = METER_COOKIE;
    }
    flow
}

/// The result of an exchange.
pub type Controlled<T> = Result<T, ControlError>;

/// A connection to a switch.
pub struct ControlSession {
    runtime: Runtime,
    client: Client,
    catalogue: Arc<Catalogue>,
    /// The time that the switch may take to answer.
    stall: Duration,
    /// Packet-ins that came during the wait for something else.
    packet_ins: u64,
    /// See [`path`](Self::path).
    path: String,
    /// The settings that the switch had before, if they are to be put back.
    before: Option<SwitchConfig>,
}

impl Drop for ControlSession {
    /// Puts back the settings that the switch had, unless it hangs.
    fn drop(&mut self) {
        let Some(config) = self.before.take() else {
            return;
        };
        self.stall = self.stall.min(LAST_WORDS);
        let message = Message::SetConfig(config);
        let client = &mut self.client;
        let sent = self
            .runtime
            .block_on(async { tokio::time::timeout(LAST_WORDS, client.send(&message)).await });
        if let Ok(Ok(_)) = sent {
            // What waits unread when a connection ends would take the message with it.
            let _ = self.barrier();
        }
    }
}

impl ControlSession {
    /// Connects, or waits for the switch, and asks for whole packets in packet-ins.
    ///
    /// Errors: the connection's.
    pub fn connect(
        address: &SwitchAddress,
        versions: &[Version],
        stall: Duration,
    ) -> Controlled<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| ControlError::Other(e.to_string()))?;
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let mut path = address.to_string();
        let mut has_come = false;
        let client = runtime.block_on(async {
            match address {
                SwitchAddress::Active(to) => {
                    Client::connect(to, versions, &catalogue, None, stall).await
                }
                SwitchAddress::Passive(at) => {
                    let listener = TcpListener::bind(at).await?;
                    let arrival = tokio::time::timeout(ARRIVAL, listener.accept()).await;
                    let (stream, from) = arrival.map_err(|_| ClientError::Timeout(ARRIVAL))??;
                    path = format!("ptcp:{at} from {}", from.ip());
                    has_come = true;
                    Client::accept(stream, versions, &catalogue, stall).await
                }
            }
        });
        let client = client.map_err(|error| {
            let is_silent = matches!(error, ClientError::Timeout(_));
            if is_silent && (has_come || runtime.block_on(takes_connections(address))) {
                return ControlError::Hangs;
            }
            ControlError::Other(format!("{address}: {error}"))
        })?;
        let mut this = Self {
            runtime,
            client,
            catalogue,
            stall,
            packet_ins: 0,
            path,
            before: None,
        };
        // Open vSwitch sends packet-ins to a controller that connected to it only after this. How
        // the switch treats fragments stays as it is.
        let flags = match this.request(&Message::GetConfigRequest(Empty)) {
            Ok(Message::GetConfigReply(config)) => {
                let flags = config.flags;
                this.before = Some(config).filter(|had| had.miss_send_len != MaxLen::NO_BUFFER);
                flags
            }
            Ok(_) | Err(ControlError::Refused(_) | ControlError::Hangs) => ConfigFlags(0),
            Err(error) => return Err(error),
        };
        this.send(&Message::SetConfig(SwitchConfig {
            flags,
            miss_send_len: MaxLen::NO_BUFFER,
        }))?;
        this.barrier()?;
        Ok(this)
    }

    /// Takes over what another connection to the same switch would put back at its end.
    pub fn take_over(&mut self, other: &mut Self) {
        self.before = other.before.take().or(self.before.take());
    }

    /// The codec of the version agreed.
    pub fn codec(&self) -> Codec {
        Codec::new(self.version(), Arc::clone(&self.catalogue))
    }

    /// The version agreed.
    pub fn version(&self) -> Version {
        self.client.version()
    }

    /// The way to the switch, which no other has at the same time: its address, or that at which it
    /// has come, and from where.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns true if the connection is closed. Echo requests that arrived meanwhile are answered.
    pub fn is_closed(&mut self) -> bool {
        for _ in 0..TOGETHER {
            match self.receive(GLANCE) {
                Ok(Some((_, Message::PacketIn(_)))) => self.packet_ins += 1,
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
        false
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Message) -> Controlled<u32> {
        Ok(self.runtime.block_on(self.client.send(message))?)
    }

    /// Sends messages, in pieces.
    pub fn send_all(&mut self, messages: &[Message]) -> Controlled<()> {
        for part in messages.chunks(TOGETHER) {
            self.runtime.block_on(self.client.send_together(part))?;
        }
        Ok(())
    }

    /// Sends a request and waits for its whole reply.
    pub fn request(&mut self, message: &Message) -> Controlled<Message> {
        Ok(self.runtime.block_on(self.client.request(message))?)
    }

    /// Waits until the switch has done all that was sent. Returns the time at which its reply came.
    ///
    /// Errors: the first error that it reports meanwhile; it hangs, even if it sends other messages
    /// all the time.
    pub fn barrier(&mut self) -> Controlled<Instant> {
        let asked = self.send(&Message::BarrierRequest(Empty))?;
        let until = Instant::now() + self.stall;
        let mut refused = None;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ControlError::Hangs);
            }
            match self.receive(left)? {
                Some((xid, Message::BarrierReply(_))) if xid == asked => break,
                Some((_, Message::Error(error))) => refused = refused.or(Some(error.error)),
                Some((_, Message::PacketIn(_))) => self.packet_ins += 1,
                Some(_) => {}
                None => return Err(ControlError::Hangs),
            }
        }
        match refused {
            None => Ok(Instant::now()),
            Some(code) => Err(ControlError::Refused(code)),
        }
    }

    /// Sends changes and waits until they are done. Returns the time that it took.
    ///
    /// Errors: the first change that the switch refuses.
    pub fn change(&mut self, changes: &[Message]) -> Controlled<Duration> {
        let start = Instant::now();
        self.send_all(changes)?;
        Ok(self.barrier()? - start)
    }

    /// The next message, if one comes in time.
    pub fn receive(&mut self, within: Duration) -> Controlled<Option<(u32, Message)>> {
        let next = self.client.next();
        let received = self
            .runtime
            .block_on(async { tokio::time::timeout(within, next).await });
        match received {
            Ok(message) => Ok(Some(message?)),
            Err(_) => Ok(None),
        }
    }

    /// Runs `work`, and answers the switch's echo requests meanwhile: it may close a connection on
    /// which nobody answers for some seconds. A thread does this that sleeps until a message comes,
    /// so that it does not disturb what `work` measures.
    pub fn serve_during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (done, ended) = oneshot::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| self.serve_until(ended));
            let result = work();
            // If the connection was closed, there is no receiver.
            let _ = done.send(());
            result
        })
    }

    /// Answers echo requests and counts packet-ins until the sender has ended.
    fn serve_until(&mut self, mut ended: oneshot::Receiver<()>) {
        let Self {
            runtime,
            client,
            packet_ins,
            ..
        } = self;
        runtime.block_on(async {
            loop {
                let message = tokio::select! {
                    _ = &mut ended => return,
                    message = client.next() => message,
                };
                match message {
                    Ok((_, Message::PacketIn(_))) => *packet_ins += 1,
                    Ok(_) => {}
                    // The next exchange fails, too, and reports it.
                    Err(_) => return,
                }
            }
        });
    }

    /// The number of packet-ins that have come since this was asked last.
    pub fn take_packet_ins(&mut self) -> Controlled<u64> {
        self.barrier()?;
        Ok(std::mem::take(&mut self.packet_ins))
    }

    /// A flow-mod from text; if it adds or modifies an entry, that has the meter's cookie.
    ///
    /// Errors: the text is no flow.
    pub fn flow(&self, text: &str, command: FlowModCommand) -> Controlled<Message> {
        let parsed = parse_flow(text, command, &self.catalogue);
        let flow = parsed.map_err(|e| ControlError::Other(format!("{text}: {e}")))?;
        Ok(Message::FlowMod(signed(flow)))
    }

    /// Adds entries from text, and waits until that is done.
    pub fn add(&mut self, flows: &[String]) -> Controlled<Duration> {
        let mut messages = Vec::with_capacity(flows.len());
        for flow in flows {
            messages.push(self.flow(flow, FlowModCommand::ADD)?);
        }
        self.change(&messages)
    }

    /// Adds groups from text, and waits until that is done.
    pub fn add_groups(&mut self, groups: &[String]) -> Controlled<Duration> {
        let mut messages = Vec::with_capacity(groups.len());
        for group in groups {
            let parsed = parse_group(group, GroupModCommand::ADD, &self.catalogue)
                .map_err(|e| ControlError::Other(format!("{group}: {e}")))?;
            messages.push(Message::GroupMod(parsed));
        }
        self.change(&messages)
    }

    /// What the switch says of itself.
    pub fn features(&mut self) -> Controlled<Features> {
        let reply = self.request(&Message::FeaturesRequest(Empty))?;
        let Message::FeaturesReply(features) = reply else {
            return Err(ControlError::another_reply());
        };
        Ok(features)
    }

    /// Removes all entries, also table-miss entries.
    pub fn remove_all(&mut self) -> Controlled<()> {
        if self.version().deletes_from_all_tables() {
            return self.change(&[removal(TableId::ALL)]).map(drop);
        }
        let tables = 0..self.features()?.n_tables;
        let removals: Vec<Message> = tables.map(|table| removal(TableId(table))).collect();
        self.change(&removals).map(drop)
    }

    /// All entries, as flow-mods that would add them.
    pub fn entries(&mut self) -> Controlled<Vec<FlowMod>> {
        let reply = self.multipart(RequestBody::Flow(FlowStatsRequest::all()))?;
        let ReplyBody::Flow(entries) = reply else {
            return Err(ControlError::another_reply());
        };
        Ok(entries
            .into_iter()
            .map(|entry| FlowMod::adding(entry.0))
            .collect())
    }

    /// The number of entries that its aggregate statistics count.
    pub fn entry_count(&mut self) -> Controlled<u64> {
        let all = RequestBody::Aggregate(FlowStatsRequest::all());
        let ReplyBody::Aggregate(reply) = self.multipart(all)? else {
            return Err(ControlError::another_reply());
        };
        Ok(u64::from(reply.flow_count))
    }

    /// The number of entries that the table statistics count.
    pub fn table_count(&mut self) -> Controlled<u64> {
        let ReplyBody::Table(tables) = self.multipart(RequestBody::Table(Empty))? else {
            return Err(ControlError::another_reply());
        };
        let counts = tables.iter().map(|table| u64::from(table.active_count));
        Ok(counts.sum())
    }

    /// Asks for a number of entries until it is `wanted`, or [`COUNT_PATIENCE`] is over. Returns
    /// the last one.
    pub fn count_until(
        &mut self,
        wanted: u64,
        count: fn(&mut Self) -> Controlled<u64>,
    ) -> Controlled<u64> {
        let start = Instant::now();
        loop {
            let found = count(self)?;
            if found == wanted || start.elapsed() >= COUNT_PATIENCE {
                return Ok(found);
            }
            std::thread::sleep(COUNT_PAUSE);
        }
    }

    /// Asks for statistics and returns the whole reply.
    pub fn multipart(&mut self, body: RequestBody) -> Controlled<ReplyBody> {
        let request = MultipartRequest { more: false, body };
        let Message::MultipartReply(reply) = self.request(&Message::MultipartRequest(request))?
        else {
            return Err(ControlError::another_reply());
        };
        Ok(reply.body)
    }

    /// The numbers of the switch's ports.
    pub fn ports(&mut self) -> Controlled<Vec<PortNo>> {
        // Up to 1.2 the features list the ports.
        let mut listed = self.features()?.ports;
        if listed.is_empty()
            && let ReplyBody::PortDesc(ports) =
                self.multipart(RequestBody::PortDesc(PortDescRequest::ALL))?
        {
            listed = ports;
        }
        let numbers = listed.iter().map(|port| port.port_no);
        Ok(numbers
            .filter(|port| port.is_port() && *port != PortNo::LOCAL)
            .collect())
    }

    /// The packet-out of a frame to a port.
    pub fn packet_out(frame: &[u8], port: PortNo) -> Message {
        Message::PacketOut(PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNo::CONTROLLER,
            actions: vec![Action::output(port)],
            data: Bytes(frame.into()),
            ..PacketOut::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn entries_that_the_meter_adds_or_modifies_are_known_by_their_cookie() {
        let cookie = |command| {
            let flow = parse_flow("udp,actions=drop", command, &bofuss_ext::catalogue());
            signed(flow.unwrap()).cookie
        };
        assert_eq!(cookie(FlowModCommand::ADD), METER_COOKIE);
        assert_eq!(cookie(FlowModCommand::MODIFY_STRICT), METER_COOKIE);
        let deletion = FlowMod {
            command: FlowModCommand::DELETE_STRICT,
            ..FlowMod::default()
        };
        assert_eq!(signed(deletion).cookie, 0);
    }

    #[test]
    fn a_switch_has_its_settings_back_and_treats_fragments_as_before_meanwhile() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp:{}", listener.local_addr().unwrap());
        let switch = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
            let mut head = [0; 8];
            let mut sets = Vec::new();
            while stream.read_exact(&mut head).is_ok() {
                let length = u16::from_be_bytes([head[2], head[3]]);
                let mut body = vec![0; usize::from(length) - 8];
                stream.read_exact(&mut body).unwrap();
                match head[1] {
                    // It is asked for its settings: it reassembles fragments.
                    7 => {
                        (head[1], head[3]) = (8, 12);
                        let reply = [&head[..], &[0, 2, 0, 128]].concat();
                        stream.write_all(&reply).unwrap();
                    }
                    9 => sets.push(body),
                    20 => {
                        head[1] = 21;
                        stream.write_all(&head).unwrap();
                    }
                    _ => {}
                }
            }
            sets
        });
        let address: SwitchAddress = address.parse().unwrap();
        let patience = Duration::from_secs(10);
        drop(ControlSession::connect(&address, &[Version::V1_3], patience).unwrap());
        let sets = switch.join().unwrap();
        assert_eq!(
            sets,
            [[0u8, 2, 0xff, 0xff], [0, 2, 0, 128]],
            "put back in the end"
        );
    }

    /// An address to which a switch connects on a thread. It answers nothing, or what a connection
    /// begins with.
    fn connecting(answers: bool) -> SwitchAddress {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = free.local_addr().unwrap();
        drop(free);
        std::thread::spawn(move || {
            let begun = Instant::now();
            let mut stream = loop {
                if let Ok(stream) = std::net::TcpStream::connect(at) {
                    break stream;
                }
                assert!(begun.elapsed() < Duration::from_secs(10));
                std::thread::sleep(Duration::from_millis(20));
            };
            if answers {
                stream.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
            }
            let mut head = [0; 8];
            while stream.read_exact(&mut head).is_ok() {
                let length = u16::from_be_bytes([head[2], head[3]]);
                let mut body = vec![0; usize::from(length) - 8];
                stream.read_exact(&mut body).unwrap();
                if answers && head[1] == 20 {
                    head[1] = 21;
                    stream.write_all(&head).unwrap();
                }
            }
        });
        SwitchAddress::Passive(at.to_string())
    }

    #[test]
    fn a_switch_that_connects_has_no_longer_to_answer_than_others() {
        let stall = Duration::from_secs(1);
        let begun = Instant::now();
        // It says nothing at all.
        let error = ControlSession::connect(&connecting(false), &[Version::V1_3], stall).err();
        assert_eq!(error, Some(ControlError::Hangs));
        // It answers barriers only.
        let address = connecting(true);
        let mut session = ControlSession::connect(&address, &[Version::V1_3], stall).unwrap();
        assert!(session.path().ends_with(" from 127.0.0.1"));
        assert_eq!(session.features().unwrap_err(), ControlError::Hangs);
        assert!(begun.elapsed() < ARRIVAL / 2);
    }

    #[test]
    fn a_switch_that_sends_all_the_time_and_never_answers_a_barrier_hangs() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp:{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
            let mut head = [0; 8];
            let mut barriers = 0;
            while barriers < 2 && stream.read_exact(&mut head).is_ok() {
                let length = u16::from_be_bytes([head[2], head[3]]);
                stream
                    .read_exact(&mut vec![0; usize::from(length) - 8])
                    .unwrap();
                if head[1] == 20 {
                    barriers += 1;
                    head[1] = 21;
                    // That of the connection is answered.
                    head[4] ^= (barriers == 2) as u8;
                    stream.write_all(&head).unwrap();
                }
            }
            while stream.write_all(&head).is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let address: SwitchAddress = address.parse().unwrap();
        let stall = Duration::from_secs(1);
        let mut session = ControlSession::connect(&address, &[Version::V1_3], stall).unwrap();
        let asked = Instant::now();
        let error = session.barrier().unwrap_err();
        assert!(matches!(error, ControlError::Hangs), "{error}");
        assert!(asked.elapsed() >= stall);
    }
}
