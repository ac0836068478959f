//! The verbs: one row each, with what it takes and what it does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bofuss_channel::{ActiveAddress, Client, ClientError, Endpoint, Tls};
use bofuss_ext::{status, trace};
use bofuss_oflib::message::config::SwitchConfig;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupRequest, MultipartRequest, PortRequest, ReplyBody, RequestBody,
};
use bofuss_oflib::message::{Empty, FlowModCommand, GroupMod, PacketOut};
use bofuss_oflib::text::{parse_actions, parse_bytes, parse_flow, parse_group, parse_port};
use bofuss_oflib::types::{BufferId, GroupId, MaxLen};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Catalogue, Match, Message, PortNo, Version};

use crate::{Failure, find, meter, queue, show};

/// Name, arguments, and what it does, of each verb.
const VERBS: &[(&str, &str, &str)] = &[
    ("show", "", "the switch and its ports"),
    ("dump-desc", "", "who made the switch"),
    (
        "dump-flows",
        "[FLOW]",
        "flow entries, those that FLOW covers",
    ),
    ("dump-aggregate", "[FLOW]", "sums over flow entries"),
    ("dump-tables", "", "what each table did"),
    ("dump-table-features", "", "what each table can do"),
    ("dump-ports", "[PORT]", "port counters"),
    ("dump-ports-desc", "", "the ports"),
    (
        "add-flow",
        "FLOW",
        "add an entry: priority=10,in_port=1,ip,actions=output:2",
    ),
    ("mod-flows", "FLOW", "change the actions of entries"),
    ("del-flows", "[FLOW]", "delete entries"),
    (
        "queue-mod",
        "PORT QUEUE SPEC",
        "make or change a queue: min=200,max=10M,priority=1,weight=2",
    ),
    ("queue-del", "PORT QUEUE", "delete a queue"),
    ("queue-get-config", "[PORT]", "the queues"),
    ("queue-stats", "[PORT [QUEUE]]", "queue counters"),
    ("set-desc", "TEXT", "describe the switch"),
    (
        "add-group",
        "GROUP",
        "add a group: group_id=1,type=all,bucket=output:1,bucket=output:2",
    ),
    ("mod-group", "GROUP", "change a group's type and buckets"),
    ("del-groups", "[group_id=N]", "delete a group, or all"),
    ("dump-groups", "", "the groups"),
    ("dump-group-stats", "[group_id=N]", "group counters"),
    ("dump-group-features", "", "what groups can do"),
    (
        "add-meter",
        "METER",
        "add a meter: meter=1,pktps,burst,band=type=drop,rate=100,burst_size=10",
    ),
    ("mod-meter", "METER", "change a meter's unit and bands"),
    ("del-meters", "[meter=N]", "delete a meter, or all"),
    (
        "meter-mod",
        "ARGUMENTS [BAND...]",
        "as BOFUSS writes it: cmd=add,flags=2,meter=1 drop:rate=100",
    ),
    ("dump-meters", "[meter=N]", "the meters"),
    ("meter-config", "[N]", "the meters"),
    ("meter-stats", "[meter=N]", "meter counters"),
    ("meter-features", "", "what meters can do"),
    (
        "packet-out",
        "IN_PORT ACTIONS HEX...",
        "send packets through the switch",
    ),
    ("ping", "[BYTES]", "time an echo"),
    ("monitor", "[MISS_LEN]", "print every message until Ctrl-C"),
    (
        "trace",
        "IN_PORT HEX",
        "tell how the switch would treat a packet",
    ),
    ("status", "[PREFIX]", "who is connected: lines of key=value"),
    ("switches", "", "the switches that run here"),
];

/// The list of verbs for `--help`.
pub(crate) fn help() -> String {
    let line = |(name, arguments, what): &(&str, &str, &str)| {
        format!("  {:<34} {what}\n", format!("{name} {arguments}"))
    };
    let verbs: String = VERBS.iter().map(line).collect();
    format!("Verbs:\n{verbs}\nFLOW is written as for ovs-ofctl; OpenFlow's field names do, too.")
}

/// Runs a command line. Errors: a sentence, and whose fault it is.
pub(crate) async fn run(
    words: &[String],
    strict: bool,
    versions: &[Version],
    tls: Option<&Tls>,
    timeout: Duration,
) -> Result<(), Failure> {
    let (address, verb, arguments) = split(words)?;
    if verb == "switches" {
        find::running()
            .iter()
            .for_each(|(name, path)| println!("{name}\tunix:{}", path.display()));
        return Ok(());
    }
    let command = Command {
        strict,
        catalogue: Arc::new(bofuss_ext::catalogue()),
    };
    let requests = command.requests(verb, &arguments)?;
    let address = address.map_or_else(find::only, Ok)?;
    if matches!(address.0, Endpoint::Tls { .. }) && tls.is_none() {
        let needs = "needs --private-key, --certificate and --ca-cert";
        return Err(Failure::Usage(format!("{address} {needs}")));
    }
    let catalogue = &command.catalogue;
    let connected = Client::connect(&address, versions, catalogue, tls, timeout).await;
    let mut client = connected.map_err(|error| Failure::Failed(format!("{address}: {error}")))?;
    let failed = |error: ClientError| Failure::Failed(format!("{verb}: {error}"));
    match requests {
        Requests::Ask(messages) => {
            for message in &messages {
                match client.request(message).await {
                    // Of several requests, another tells it in such a version.
                    Err(ClientError::Unsent(_)) if messages.len() > 1 => {}
                    reply => show::reply(&reply.map_err(failed)?),
                }
            }
        }
        Requests::Change(messages) => {
            let errors = client.transact(&messages).await.map_err(failed)?;
            if let Some((_, error)) = errors.first() {
                let hint = queue::hint(error.error);
                return Err(Failure::Failed(format!(
                    "{verb}: the switch answered {}{hint}",
                    error.error
                )));
            }
        }
        Requests::Ping(bytes) => ping(&mut client, bytes).await.map_err(failed)?,
        Requests::Monitor(set_config) => {
            if let Some(message) = set_config {
                client.send(&message).await.map_err(failed)?;
            }
            loop {
                let (xid, message) = client.next().await.map_err(failed)?;
                println!("{message} (xid={xid:#x})");
            }
        }
    }
    Ok(())
}

/// What a verb sends.
pub(crate) enum Requests {
    /// Requests with replies, to be printed.
    Ask(Vec<Message>),
    /// Messages without replies, behind them a barrier.
    Change(Vec<Message>),
    /// Echo requests with so many bytes.
    Ping(usize),
    /// Perhaps a configuration; then to listen.
    Monitor(Option<Message>),
}

/// Finds the address, in front or at the end, and the verb.
#[allow(clippy::type_complexity)]
fn split(words: &[String]) -> Result<(Option<ActiveAddress>, &str, Vec<&str>), Failure> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_verb = |word: &str| VERBS.iter().any(|(name, ..)| *name == word);
    let mut address = None;
    if !is_verb(words[0]) {
        let first = words.remove(0);
        let Some(found) = find::address(first) else {
            return Err(unknown(first, words.first()));
        };
        address = Some(found?);
    } else if let Some(last) = words.last().filter(|_| words.len() > 1)
        && let Some(found) = find::address(last)
    {
        address = Some(found?);
        words.pop();
    }
    match words.split_first() {
        Some((verb, arguments)) if is_verb(verb) => {
            let verb = VERBS
                .iter()
                .find(|(name, ..)| name == verb)
                .expect("it is one")
                .0;
            Ok((address, verb, arguments.to_vec()))
        }
        Some((other, _)) => Err(unknown(other, None)),
        None => Err(Failure::Usage(
            "which verb? (dpctl --help lists them)".into(),
        )),
    }
}

/// The error for a word that is neither a verb nor a switch.
fn unknown(word: &str, next: Option<&&str>) -> Failure {
    if next.is_some_and(|next| VERBS.iter().any(|(name, ..)| name == next)) {
        return Failure::Usage(format!(
            "no switch named '{word}' runs (dpctl switches lists them)"
        ));
    }
    let near = VERBS
        .iter()
        .map(|(name, ..)| *name)
        .min_by_key(|name| distance(word, name));
    let near = near.filter(|name| distance(word, name) <= 3);
    let near = near.map_or(String::new(), |name| format!(" did you mean '{name}'?"));
    Failure::Usage(format!(
        "'{word}' is no verb and no switch;{near} (dpctl --help lists the verbs)"
    ))
}

/// How many letters must be added, removed or changed to make one word the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A command line's options.
struct Command {
    strict: bool,
    catalogue: Arc<Catalogue>,
}

impl Command {
    /// What a verb with these arguments sends. Errors: which argument is wrong, and why.
    fn requests(&self, verb: &str, arguments: &[&str]) -> Result<Requests, Failure> {
        let others = queue::requests(verb, arguments)?;
        if let Some(requests) = others.or(meter::requests(verb, arguments)?) {
            return Ok(requests);
        }
        let multipart = |body| Message::MultipartRequest(MultipartRequest::from(body));
        let ask = |body| Ok(Requests::Ask(vec![multipart(body)]));
        match (verb, arguments) {
            ("show", []) => Ok(Requests::Ask(vec![
                Message::FeaturesRequest(Empty),
                multipart(RequestBody::PortDesc(Empty)),
                Message::GetConfigRequest(Empty),
            ])),
            ("dump-desc", []) => ask(RequestBody::Desc(Empty)),
            ("dump-flows", _) => ask(RequestBody::Flow(self.filter(arguments)?)),
            ("dump-aggregate", _) => ask(RequestBody::Aggregate(self.filter(arguments)?)),
            ("dump-tables", []) => ask(RequestBody::Table(Empty)),
            ("dump-table-features", []) => ask(RequestBody::TableFeatures(Vec::new())),
            ("dump-ports", []) => ask(RequestBody::PortStats(PortRequest {
                port_no: PortNo::ANY,
            })),
            ("dump-ports", [port]) => ask(RequestBody::PortStats(PortRequest {
                port_no: parse_port(port)?,
            })),
            ("dump-ports-desc", []) => ask(RequestBody::PortDesc(Empty)),
            ("add-flow", [flow]) => self.change(flow, FlowModCommand::ADD),
            ("mod-flows", [flow]) if self.strict => {
                self.change(flow, FlowModCommand::MODIFY_STRICT)
            }
            ("mod-flows", [flow]) => self.change(flow, FlowModCommand::MODIFY),
            ("del-flows", []) => self.change("", FlowModCommand::DELETE),
            ("del-flows", [flow]) if self.strict => {
                self.change(flow, FlowModCommand::DELETE_STRICT)
            }
            ("del-flows", [flow]) => self.change(flow, FlowModCommand::DELETE),
            (verb, _) if verb.contains("group") => self.group_requests(verb, arguments),
            ("packet-out", [port, actions, packets @ ..]) if !packets.is_empty() => {
                let actions = parse_actions(actions, &Match::ANY, &self.catalogue);
                let actions = actions.map_err(|error| Failure::Usage(error.to_string()))?;
                let (in_port, mut messages) = (parse_port(port)?, Vec::new());
                for packet in packets {
                    messages.push(packet_out(in_port, &actions, packet)?);
                }
                Ok(Requests::Change(messages))
            }
            ("ping", []) => Ok(Requests::Ping(64)),
            ("ping", [bytes]) => match bytes.parse() {
                Ok(bytes @ 0..=60_000) => Ok(Requests::Ping(bytes)),
                _ => Err(Failure::Usage(format!(
                    "ping: '{bytes}' is no length from 0 to 60000"
                ))),
            },
            ("monitor", []) => Ok(Requests::Monitor(None)),
            ("monitor", [length]) => {
                let length = length
                    .parse()
                    .map_err(|_| format!("monitor: '{length}' is no length"))?;
                let config = SwitchConfig {
                    miss_send_len: MaxLen(length),
                    ..SwitchConfig::default()
                };
                Ok(Requests::Monitor(Some(Message::SetConfig(config))))
            }
            ("trace", [port, packet]) => {
                let request = trace::request(parse_port(port)?, &parse_bytes(packet)?);
                Ok(Requests::Ask(vec![Message::Experimenter(request)]))
            }
            ("status", [] | [_]) => {
                let request = status::request(arguments.first().unwrap_or(&""));
                Ok(Requests::Ask(vec![Message::Experimenter(request)]))
            }
            (verb, _) => Err(misused(verb)),
        }
    }

    fn change(&self, flow: &str, command: FlowModCommand) -> Result<Requests, Failure> {
        let parsed = parse_flow(flow, command, &self.catalogue);
        let flow_mod = parsed.map_err(|error| Failure::Usage(format!("{flow}: {error}")))?;
        Ok(Requests::Change(vec![Message::FlowMod(flow_mod)]))
    }

    fn group_requests(&self, verb: &str, arguments: &[&str]) -> Result<Requests, Failure> {
        let ask =
            |body: RequestBody| Ok(Requests::Ask(vec![Message::MultipartRequest(body.into())]));
        match (verb, arguments) {
            ("add-group", [group]) => self.change_group(group, GroupModCommand::ADD),
            ("mod-group", [group]) => self.change_group(group, GroupModCommand::MODIFY),
            ("del-groups", []) => self.change_group("group_id=all", GroupModCommand::DELETE),
            ("del-groups", [group]) => self.change_group(group, GroupModCommand::DELETE),
            ("dump-groups", []) => ask(RequestBody::GroupDesc(Empty)),
            ("dump-group-stats", []) => ask(RequestBody::Group(GroupRequest {
                group_id: GroupId::ALL,
            })),
            ("dump-group-stats", [group]) => ask(RequestBody::Group(GroupRequest {
                group_id: self.group(group, GroupModCommand::DELETE)?.group_id,
            })),
            ("dump-group-features", []) => ask(RequestBody::GroupFeatures(Empty)),
            (verb, _) => Err(misused(verb)),
        }
    }

    fn group(&self, group: &str, command: GroupModCommand) -> Result<GroupMod, Failure> {
        let parsed = parse_group(group, command, &self.catalogue);
        parsed.map_err(|error| Failure::Usage(format!("{group}: {error}")))
    }

    fn change_group(&self, group: &str, command: GroupModCommand) -> Result<Requests, Failure> {
        let group_mod = self.group(group, command)?;
        Ok(Requests::Change(vec![Message::GroupMod(group_mod)]))
    }

    /// The entries that a flow without actions covers.
    fn filter(&self, arguments: &[&str]) -> Result<FlowStatsRequest, Failure> {
        let text = match arguments {
            [] => "",
            [text] => text,
            [_, more, ..] => return Err(Failure::Usage(format!("'{more}': one FLOW is enough"))),
        };
        let parsed = parse_flow(text, FlowModCommand::DELETE, &self.catalogue);
        let flow = parsed.map_err(|error| Failure::Usage(format!("{text}: {error}")))?;
        Ok(FlowStatsRequest {
            table_id: flow.table_id,
            out_port: flow.out_port,
            out_group: flow.out_group,
            cookie: flow.cookie,
            cookie_mask: flow.cookie_mask,
            fields: flow.fields,
        })
    }
}

/// The error for a verb with arguments that it does not take.
pub(crate) fn misused(verb: &str) -> Failure {
    let row = VERBS.iter().find(|(name, ..)| *name == verb);
    let takes = match row.map_or("", |(_, arguments, _)| arguments) {
        "" => "no arguments",
        arguments => arguments,
    };
    Failure::Usage(format!("{verb} takes {takes}"))
}

fn packet_out(in_port: PortNo, actions: &[Action], packet: &str) -> Result<Message, Failure> {
    let data = Bytes(parse_bytes(packet)?);
    let actions = actions.to_vec();
    Ok(Message::PacketOut(PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port,
        actions,
        data,
    }))
}

async fn ping(client: &mut Client, bytes: usize) -> Result<(), ClientError> {
    let start = Instant::now();
    client
        .request(&Message::EchoRequest(Bytes(vec![0; bytes])))
        .await?;
    let micros = start.elapsed().as_micros();
    println!(
        "{bytes} bytes: time={}.{:03} ms",
        micros / 1000,
        micros % 1000
    );
    Ok(())
}

/// The body of a reply.
pub(crate) fn body(message: &Message) -> Option<&ReplyBody> {
    match message {
        Message::MultipartReply(reply) => Some(&reply.body),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_oflib::types::TableId;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    fn requests(verb: &str, arguments: &[&str]) -> Result<Requests, Failure> {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        Command {
            strict: false,
            catalogue,
        }
        .requests(verb, arguments)
    }

    #[test]
    fn the_address_stands_in_front_or_at_the_end() {
        for line in [
            "tcp:127.0.0.1:6654 dump-flows in_port=1",
            "dump-flows in_port=1 tcp:127.0.0.1:6654",
        ] {
            let words = words(line);
            let Ok((Some(address), verb, arguments)) = split(&words) else {
                panic!("{line}")
            };
            assert_eq!(
                (address.to_string().as_str(), verb),
                ("tcp:127.0.0.1:6654", "dump-flows")
            );
            assert_eq!(arguments, ["in_port=1"]);
        }
    }

    #[test]
    fn a_misspelt_verb_is_answered_with_the_nearest() {
        let words = words("dump-flow");
        let Err(Failure::Usage(error)) = split(&words) else {
            panic!("it is no verb")
        };
        assert!(error.contains("did you mean 'dump-flows'"), "{error}");
    }

    #[test]
    fn deletes_and_dumps_are_about_all_tables_unless_they_say() {
        let Ok(Requests::Change(messages)) = requests("del-flows", &["in_port=1"]) else {
            panic!()
        };
        assert!(matches!(&messages[0], Message::FlowMod(f) if f.table_id == TableId::ALL));
        let Ok(Requests::Change(messages)) = requests("del-flows", &["table=3"]) else {
            panic!()
        };
        assert!(matches!(&messages[0], Message::FlowMod(f) if f.table_id == TableId(3)));
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (verb, arguments) in [
            ("add-flow", &["in_port=x,actions=output:1"][..]),
            ("packet-out", &["1", "output:2", "xyz"][..]),
            ("dump-ports", &["everywhere"][..]),
            ("show", &["me"][..]),
        ] {
            assert!(
                matches!(requests(verb, arguments), Err(Failure::Usage(_))),
                "{verb}"
            );
        }
    }

    fn sent(strict: bool, verb: &str, flow: &str) -> bofuss_oflib::message::FlowMod {
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let command = Command { strict, catalogue };
        let Ok(Requests::Change(messages)) = command.requests(verb, &[flow]) else {
            panic!("{verb} {flow}")
        };
        let [Message::FlowMod(flow_mod)] = messages.as_slice() else {
            panic!("{verb} {flow}")
        };
        flow_mod.clone()
    }

    #[test]
    fn d18_strict_makes_the_commands_strict() {
        let command = |strict, verb| sent(strict, verb, "in_port=1,actions=drop").command;
        assert_eq!(command(true, "del-flows"), FlowModCommand::DELETE_STRICT);
        assert_eq!(command(true, "mod-flows"), FlowModCommand::MODIFY_STRICT);
        assert_eq!(command(false, "del-flows"), FlowModCommand::DELETE);
    }

    #[test]
    fn d19_out_group_is_no_out_port() {
        let flow_mod = sent(false, "del-flows", "out_group=5");
        assert_eq!(flow_mod.out_group.0, 5);
        assert_eq!(flow_mod.out_port, PortNo::ANY);
    }

    #[test]
    fn d20_a_meter_needs_no_match() {
        let flow_mod = sent(false, "add-flow", "table=0,actions=meter:1");
        assert_eq!(flow_mod.fields, Match::ANY);
        assert_eq!(flow_mod.instructions.list().len(), 1);
    }
}
