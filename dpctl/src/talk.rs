//! A conversation with a switch: sends a verb's requests and prints the replies.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bofuss_channel::{Client, ClientError, CommitTime};
use bofuss_oflib::error::{
    BadAction, BadInstruction, BadMatch, BadRequest, ErrorCode, QueueOpFailed,
};
use bofuss_oflib::message::Empty;
use bofuss_oflib::message::multipart::{QueueStatsRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::queue::PacketQueue;
use bofuss_oflib::message::{ErrorMsg, QueueConfig};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Codec, Message, PortNo, Version};
use serde_json::Value;

use crate::at::since_1970;
use crate::extension::CATALOGUE;
use crate::ofctl::difference;
use crate::ofctl::order::Order;
use crate::ofctl::tagging::in_openflow10;
use crate::ofctl::wording::{PortNames, Wording};
use crate::verb::{Requests, TextStyle, Verb};
use crate::{Failure, bofuss, json, named_ports, ofctl, say};

/// The reason why a switch refuses the discipline of a port.
const DISCIPLINE_HINT: &str = ": a discipline is one of those in docs/queues.md, and takes all \
     queues of its port";
/// The usual reason why a switch refuses a queue.
const QUEUE_HINT: &str = ": a minimum or a share needs a port whose rate is known (bofuss run \
     --port-rate) and not promised yet; queue 0 goes last";
/// The reason why a switch refuses an entry with MATCH_INCONSISTENT: it may match packets without
/// the header whose field it sets.
const MATCH_HINT: &str = ": every packet that matches must have the field that an action sets: \
     match ip or tcp, or dl_vlan; or push a tag first (push_vlan:0x8100)";
/// The decoding errors that extensions of another vendor cause in a reply.
const FOREIGN: &[ErrorCode] = &[
    BadAction::BAD_EXPERIMENTER,
    BadAction::BAD_EXP_TYPE,
    BadAction::BAD_TYPE,
    BadInstruction::BAD_EXPERIMENTER,
    BadMatch::BAD_FIELD,
];
/// The reason why a switch refuses a trace.
const TRACE_HINT: &str = ": trace needs a bofuss control socket, and this switch is no bofuss";

/// A connection to a switch, and how to print what arrives on it.
pub(crate) struct Talk {
    /// The connection.
    pub(crate) client: Client,
    /// The switch's address, as typed.
    pub(crate) address: String,
    /// The verb.
    pub(crate) verb: &'static Verb,
    /// True if replies are printed as JSON.
    pub(crate) json: bool,
    /// The transaction id of the first message.
    pub(crate) xid: u32,
    /// The order in which flow entries are printed; `None` is the switch's.
    pub(crate) order: Option<Order>,
    /// True if changes are made together, as a bundle.
    pub(crate) in_bundle: bool,
    /// The time at which the bundle takes effect, since 1970; `None` is at once.
    pub(crate) at: Option<Duration>,
    /// True if replace-flows also adds entries that the switch has already.
    pub(crate) adds_all: bool,
    /// The port names in the output; ports without one are printed by number.
    pub(crate) names: PortNames,
}

impl Talk {
    /// Carries out a verb's requests, and prints the replies. Errors: a sentence, with the exit
    /// code that its kind implies.
    pub(crate) async fn run(&mut self, mut requests: Requests) -> Result<(), Failure> {
        self.client.start_at(self.xid);
        let mut replies = Vec::new();
        while let Requests::First(message, next) = requests {
            requests = next(self.request(&message).await?)?;
        }
        match requests {
            Requests::First(..) => unreachable!("the loop above ends with another"),
            Requests::Ask(messages) => {
                for message in &messages {
                    self.sending(message);
                    let reply = if messages.len() > 1 {
                        self.client.request(message).await
                    } else {
                        self.ask(message).await
                    };
                    // Of several requests, some may not exist in this version.
                    if messages.len() > 1 && matches!(reply, Err(ClientError::Unsent(_))) {
                        continue;
                    }
                    let reply = self.received(reply)?;
                    self.show(reply, &mut replies);
                }
            }
            Requests::Answered(request, reply) => {
                self.sending(&request);
                self.show(reply, &mut replies);
            }
            Requests::Exchange(message) => self.exchange(&message, &mut replies).await?,
            Requests::Change(messages) => self.change(messages, &mut replies).await?,
            Requests::Ping { count, bytes } => self.ping(count, bytes, &mut replies).await?,
            Requests::Monitor(first) => return self.monitor(&first).await,
            Requests::Snoop => return self.snoop().await,
            Requests::Status(_) | Requests::Watch { .. } => {
                unreachable!("they are repeated or printed in another way")
            }
            Requests::Replace(wanted) => {
                let reply = self.request(&difference::request()).await?;
                let had = difference::entries_in(reply);
                let version = self.client.version();
                let changes = difference::changes(version, [had, wanted], self.adds_all);
                self.change(changes, &mut replies).await?;
            }
            Requests::Compare(_) => unreachable!("it has connections of its own"),
            Requests::Text(text) if self.json => replies.push(json::text(&text)),
            Requests::Text(text) => say(text),
        }
        if self.json {
            say(format!("{}\n", json::page(self.verb.name, replies)));
        }
        Ok(())
    }

    /// Requests the names of ports, for the output. If that fails, ports stay numbers.
    pub(crate) async fn learn_names(&mut self) {
        if let Ok(reply) = self.request(&ofctl::port_request()).await {
            self.names = PortNames::of(ofctl::ports_in(reply).iter());
        }
    }

    /// Sends a request and returns its reply without printing it.
    pub(crate) async fn request(&mut self, message: &Message) -> Result<Message, Failure> {
        let reply = self.ask(message).await;
        reply.map_err(|error| self.failed(&error))
    }

    /// Sends a request. If the version does not have it, sends the one that asks for the same, and
    /// converts the reply.
    async fn ask(&mut self, message: &Message) -> Result<Message, ClientError> {
        let reply = self.client.request(message).await;
        if !matches!(reply, Err(ClientError::Unsent(_))) {
            return reply;
        }
        if is_port_desc(message) {
            return self.old_ports().await;
        }
        if let Message::QueueGetConfigRequest(request) = message {
            return self.described_queues(request.port).await;
        }
        reply
    }

    /// Requests the queues of a port by QUEUE_DESC, which OpenFlow 1.4 has instead of
    /// QUEUE_GET_CONFIG, and returns the reply of 1.3.
    async fn described_queues(&mut self, port: PortNo) -> Result<Message, ClientError> {
        let wanted = RequestBody::QueueDesc(QueueStatsRequest {
            port_no: port,
            queue_id: QueueId::ALL,
        });
        let request = Message::MultipartRequest(wanted.into());
        let reply = self.client.request(&request).await?;
        let mut queues = Vec::new();
        if let Message::MultipartReply(reply) = reply
            && let ReplyBody::QueueDesc(list) = reply.body
        {
            for queue in list {
                queues.push(PacketQueue {
                    queue_id: queue.queue_id,
                    port: queue.port_no,
                    properties: queue.properties,
                });
            }
        }
        Ok(Message::QueueGetConfigReply(QueueConfig { port, queues }))
    }

    /// Requests the ports by FEATURES, which lists them up to OpenFlow 1.2, and returns the reply
    /// of 1.3.
    async fn old_ports(&mut self) -> Result<Message, ClientError> {
        let reply = self
            .client
            .request(&Message::FeaturesRequest(Empty))
            .await?;
        if let Message::FeaturesReply(features) = reply {
            let ports = ReplyBody::PortDesc(features.ports);
            return Ok(Message::MultipartReply(ports.into()));
        }
        Ok(reply)
    }

    /// The sentence about an error of the client.
    pub(crate) fn failed(&self, error: &ClientError) -> Failure {
        let verb = self.verb.name;
        Failure::Failed(if let ClientError::Connection(_) = error {
            let address = &self.address;
            format!("{verb}: the connection to {address} is gone: {error}")
        } else if let ClientError::Malformed(cause) = error
            && FOREIGN.contains(&cause.error)
        {
            format!(
                "{verb}: the reply has extensions that dpctl does not know: {cause}; a table or a \
                 match may leave it out, or ask with ovs-ofctl"
            )
        } else {
            format!("{verb}: {error}")
        })
    }

    /// Prints an ERROR of the switch in the verb's style, and returns the sentence about it.
    fn refused(&self, error: &ErrorMsg) -> Failure {
        if self.json {
            let page = json::page(
                self.verb.name,
                vec![json::message(&Message::Error(error.clone()))],
            );
            say(format!("{page}\n"));
        } else if self.verb.style == TextStyle::Bofuss {
            let text = bofuss::print::text(&Message::Error(error.clone()));
            say(format!("\nRECEIVED (xid=0x{:X}):\n{text}\n\n", self.xid));
        }
        let hint = match error.error {
            QueueOpFailed::EPERM if self.verb.name == "set-discipline" => DISCIPLINE_HINT,
            QueueOpFailed::EPERM => QUEUE_HINT,
            BadAction::MATCH_INCONSISTENT => MATCH_HINT,
            BadRequest::BAD_EXPERIMENTER | BadRequest::BAD_EXP_TYPE
                if self.verb.name == "trace" =>
            {
                TRACE_HINT
            }
            _ => "",
        };
        Failure::Failed(format!(
            "{}: the switch answered {}{hint}",
            self.verb.name,
            CATALOGUE.error_text(error.error)
        ))
    }

    fn received<T>(&self, reply: Result<T, ClientError>) -> Result<T, Failure> {
        reply.map_err(|error| {
            if let ClientError::Refused(error) = &error {
                self.refused(error)
            } else {
                self.failed(&error)
            }
        })
    }

    fn sending(&self, message: &Message) {
        if !self.json && self.verb.style == TextStyle::Bofuss {
            let text = bofuss::print::text(message);
            say(format!("\nSENDING (xid=0x{:X}):\n{text}\n\n", self.xid));
        }
    }

    /// A message as JSON, with the names of ports that were learnt.
    fn as_json(&self, message: &Message) -> Value {
        let mut value = json::message(message);
        named_ports::put(&mut value, &self.names);
        value
    }

    fn show(&self, mut reply: Message, replies: &mut Vec<Value>) {
        if let (Some(order), Message::MultipartReply(reply)) = (&self.order, &mut reply)
            && let ReplyBody::Flow(entries) = &mut reply.body
        {
            order.sort(entries);
        }
        match self.verb.style {
            _ if self.json => replies.push(self.as_json(&reply)),
            TextStyle::Bofuss => {
                let text = bofuss::print::text(&reply);
                say(format!("\nRECEIVED (xid=0x{:X}):\n{text}\n\n", self.xid));
            }
            TextStyle::Ofctl | TextStyle::Own | TextStyle::Extension => {
                let wording = Wording {
                    version: self.client.version(),
                    ports: &self.names,
                };
                let text = ofctl::show::text(wording, self.client.last_xid(), &reply);
                let is_sorted = self.order.is_some() && self.verb.name == "dump-flows";
                if is_sorted {
                    // ovs-ofctl prints no heading above sorted entries.
                    let (_, entries) = text.split_once('\n').unwrap_or_default();
                    say(entries)
                } else {
                    say(text)
                }
            }
        }
    }

    async fn exchange(
        &mut self,
        message: &Message,
        replies: &mut Vec<Value>,
    ) -> Result<(), Failure> {
        let answers = match self.client.exchange(message).await {
            Ok(answers) => answers,
            Err(ClientError::Refused(error)) => return Err(self.refused(&error)),
            Err(error) => return Err(self.failed(&error)),
        };
        if self.json && answers.is_empty() {
            replies.push(json::sent(1));
        }
        for reply in answers {
            self.show(reply, replies);
        }
        Ok(())
    }

    async fn change(
        &mut self,
        mut messages: Vec<Message>,
        replies: &mut Vec<Value>,
    ) -> Result<(), Failure> {
        if self.client.version() == Version::V1_0 {
            messages = messages.into_iter().map(in_openflow10).collect();
        }
        messages.iter().for_each(|message| self.sending(message));
        let errors = if self.in_bundle {
            let time = self.at.map(|at| CommitTime {
                at,
                now: since_1970(SystemTime::now()),
            });
            let sent = self.client.transact_in_bundle(&messages, time).await;
            // An outer error is the bundle's; `errors` has those of single messages.
            self.received(sent)?
        } else {
            let sent = self.client.transact(&messages).await;
            sent.map_err(|error| self.failed(&error))?
        };
        if let Some((place, error)) = errors.first() {
            let which = match messages.len() {
                1 => String::new(),
                many => format!(" (to message {} of {many})", place + 1),
            };
            return Err(match self.refused(error) {
                Failure::Failed(text) => Failure::Failed(text + &which),
                other @ (Failure::Misused | Failure::Usage(_) | Failure::Differs) => other,
            });
        }
        match self.verb.style {
            _ if self.json => replies.push(json::sent(messages.len())),
            TextStyle::Bofuss => say("\nOK.\n\n"),
            TextStyle::Ofctl | TextStyle::Own | TextStyle::Extension => {}
        }
        Ok(())
    }

    async fn ping(
        &mut self,
        count: u16,
        bytes: u16,
        replies: &mut Vec<Value>,
    ) -> Result<(), Failure> {
        for _ in 0..count {
            let data = Bytes(vec![0; bytes.into()]);
            let start = Instant::now();
            self.request(&Message::EchoRequest(data)).await?;
            let millis = start.elapsed().as_secs_f64() * 1000.0;
            if self.json {
                replies.push(json::echo(bytes, millis))
            } else {
                say(format!(
                    "{bytes} bytes from {}: time={millis:.1} ms\n",
                    self.address
                ))
            }
        }
        Ok(())
    }

    /// Prints the messages of other connections that the switch copies, each in its own version.
    async fn snoop(&mut self) -> Result<(), Failure> {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        loop {
            let next = self.client.next_bytes().await;
            let bytes = next.map_err(|error| {
                let address = &self.address;
                Failure::Failed(format!(
                    "snoop: the connection to {address} is gone: {error}"
                ))
            })?;
            let version = Version::of_number(bytes[0]).unwrap_or(Version::NEWEST);
            let codec = Codec::new(version, catalogue.clone());
            let text = match codec.decode(bytes) {
                Ok((_, message)) if self.json => {
                    json::page(self.verb.name, vec![json::message(&message)]) + "\n"
                }
                Ok((xid, message)) => {
                    ofctl::show::text(Wording::with_numbers(version), xid, &message)
                }
                Err(cause) => format!("a message that is not understood: {cause}\n"),
            };
            say(text);
        }
    }

    async fn monitor(&mut self, first: &[Message]) -> Result<(), Failure> {
        for message in first {
            let sent = self.client.send(message).await;
            sent.map_err(|error| self.failed(&error))?;
        }
        if !self.json {
            say(format!("MONITORING {}...\n\n", self.address));
        }
        loop {
            let next = self.client.next().await;
            let (_, message) = next.map_err(|error| self.failed(&error))?;
            if self.json {
                say(format!(
                    "{}\n",
                    json::page(self.verb.name, vec![self.as_json(&message)])
                ))
            } else {
                say(format!(
                    "\nRECEIVED:\n{}\n{}\n",
                    bofuss::print::text(&message),
                    bofuss::print::details(&message, &self.names)
                ))
            }
        }
    }
}

/// Returns true if this is a request for the ports.
fn is_port_desc(message: &Message) -> bool {
    matches!(message, Message::MultipartRequest(request)
        if matches!(request.body, RequestBody::PortDesc(_)))
}
