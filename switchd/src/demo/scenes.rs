//! The demo's scenes: two tables and a group, a wrong entry, its trace, the repair, traffic.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use bofuss_channel::{ActiveAddress, Client, Endpoint};
use bofuss_ext::trace::{self, Trace};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody, RequestBody};
use bofuss_oflib::text::{parse_flow, parse_group};
use bofuss_oflib::wire::Text;
use bofuss_oflib::{Catalogue, Message, PortNo, Version};
use bofuss_packet::craft;
use tokio::runtime::Runtime;

use super::lab::{Lab, REPLY_WAIT, address, mac};
use super::traffic;
use crate::error::{Result, context};
use crate::tell::say;

const DRAWING: &str = "
                  +------------------ s1 -------------------+
  h1 10.0.0.1 ----| 1                                       |
                  |   table 0           table 1             |
  h2 10.0.0.2 ----| 2 what may pass ->  where each host is  |
                  |                     broadcast: group 1  |
  h3 10.0.0.3 ----| 3                                       |
                  +-----------------------------------------+";
const HOSTS_ONLY: &str = "Three hosts: h1 10.0.0.1, h2 10.0.0.2, h3 10.0.0.3 on ports 1, 2, 3.";
const GROUP: &str = "group_id=1,type=all,bucket=output:1,bucket=output:2,bucket=output:3";
const ENTRIES: [&str; 6] = [
    "table=0,priority=10,arp,actions=goto_table:1",
    "table=0,priority=10,ip,nw_src=10.0.0.0/24,actions=goto_table:1",
    "table=1,priority=10,dl_dst=ff:ff:ff:ff:ff:ff,actions=group:1",
    "table=1,priority=10,dl_dst=02:00:00:00:00:11,actions=output:1",
    "table=1,priority=10,dl_dst=02:00:00:00:00:22,actions=output:2",
    // The mistake: the address of h3 ends in 33.
    "table=1,priority=10,dl_dst=02:00:00:00:00:37,actions=output:3",
];
const WRONG: &str = "table=1,dl_dst=02:00:00:00:00:37";
const RIGHT: &str = "table=1,priority=10,dl_dst=02:00:00:00:00:33,actions=output:3";
/// The time that h1 waits for the answer that never arrives, in seconds.
const LOST_WAIT: &str = "1";

/// Runs the scenes on the switch that listens at `socket`. Errors: a sentence for the user.
pub(super) fn play(lab: &Lab, socket: &Path, controller: Option<&str>) -> Result<()> {
    let mut switch = Remote::connect(socket)?;
    match controller {
        Some(address) => {
            say!("{HOSTS_ONLY}\nThe controller at {address} decides what the switch does.");
            traffic::wait_for_controller(lab);
        }
        None => {
            say!("Three hosts on one switch, which does only what its tables say.");
            say!("{DRAWING}");
            wrong_entry(lab, &mut switch)?;
        }
    }
    title("Every host pings every other");
    traffic::ping_all(lab)?;
    title("A TCP transfer from h1 to h2");
    traffic::transfer(lab)?;
    title("What each entry did: dpctl dump-flows");
    switch.show_entries()?;
    if controller.is_some() {
        title("One packet explained: h1 sends an ICMP echo request to h2");
        switch.explain(2)?;
    }
    Ok(())
}

/// Adds entries, one of which is wrong; shows the effect, the trace and the repair.
fn wrong_entry(lab: &Lab, switch: &mut Remote) -> Result<()> {
    title("The group and the entries, as dpctl accepts them");
    switch.add_group(GROUP)?;
    for entry in ENTRIES {
        switch.change(FlowModCommand::ADD, entry)?;
    }
    title("h1 pings");
    let time = traffic::ping(lab, 1, 2, LOST_WAIT)?;
    say!("  h1 -> h2   {time}");
    if traffic::ping(lab, 1, 3, LOST_WAIT).is_ok() {
        return Err("h3 answers, although the entry for it is wrong".into());
    }
    say!("  h1 -> h3   no answer");
    title("Why? The switch explains the path of that packet: dpctl trace");
    switch.explain(3)?;
    title("The entry for h3 has a wrong digit. The repair");
    switch.change(FlowModCommand::DELETE, WRONG)?;
    switch.change(FlowModCommand::ADD, RIGHT)
}

/// An OpenFlow connection to the switch, as tools have one.
struct Remote {
    runtime: Runtime,
    client: Client,
    catalogue: Arc<Catalogue>,
}

impl Remote {
    fn connect(socket: &Path) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(context("runtime"))?;
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let to = ActiveAddress(Endpoint::Unix(socket.into()));
        let connecting = Client::connect(&to, &[Version::V1_3], &catalogue, None, REPLY_WAIT);
        let connected = runtime.block_on(connecting);
        Ok(Self {
            client: connected.map_err(context("connecting to the switch"))?,
            runtime,
            catalogue,
        })
    }

    fn ask(&mut self, message: &Message) -> Result<Message> {
        let asking = self.client.request(message);
        let reply = self.runtime.block_on(asking);
        reply.map_err(context("asking the switch"))
    }

    /// Sends a change. Errors: the switch's error.
    fn tell(&mut self, message: Message) -> Result<()> {
        let telling = self.client.transact(std::slice::from_ref(&message));
        let errors = self.runtime.block_on(telling);
        match errors.map_err(context("changing the switch"))?.first() {
            Some((_, error)) => {
                Err(format!("the switch refuses a message: {}", Text(error)).into())
            }
            None => Ok(()),
        }
    }

    fn add_group(&mut self, text: &str) -> Result<()> {
        say!("  add-group {text}");
        let group = parse_group(text, GroupModCommand::ADD, &self.catalogue);
        self.tell(Message::GroupMod(group.map_err(context(text))?))
    }

    /// Adds an entry, or deletes matching ones.
    fn change(&mut self, command: FlowModCommand, text: &str) -> Result<()> {
        let verb = match command {
            FlowModCommand::DELETE => "del-flows",
            _ => "add-flow",
        };
        say!("  {verb} {text}");
        let flow = parse_flow(text, command, &self.catalogue);
        self.tell(Message::FlowMod(flow.map_err(context(text))?))
    }

    fn show_entries(&mut self) -> Result<()> {
        let all = RequestBody::Flow(FlowStatsRequest::all());
        let reply = self.ask(&Message::MultipartRequest(all.into()))?;
        let Message::MultipartReply(reply) = reply else {
            return Err(format!("the switch answered {}", reply.name()).into());
        };
        if let ReplyBody::Flow(entries) = reply.body {
            for entry in entries {
                say!("  {}", Text(&entry));
            }
        }
        Ok(())
    }

    /// Shows the path of an ICMP echo request from h1 to another host.
    fn explain(&mut self, to: u8) -> Result<()> {
        let packet = craft::ipv4(address(1), address(to), 64, craft::ping(1, b""));
        let frame = craft::ethernet(mac(to), mac(1), packet);
        let reply = self.ask(&Message::Experimenter(trace::request(PortNo(1), &frame)))?;
        let Message::Experimenter(trace) = reply else {
            return Err(format!("the switch answered {}", reply.name()).into());
        };
        let text = Trace::read(&String::from_utf8_lossy(&trace.data.0))?.to_string();
        for line in text.lines() {
            say!("  {}", bold_if(line.contains("1 bit differs"), line));
        }
        Ok(())
    }
}

/// Prints the title of a scene.
pub(super) fn title(text: &str) {
    say!("\n{}", bold_if(true, text));
}

/// The text, in bold if it stands out and this is a terminal.
fn bold_if(stands_out: bool, text: &str) -> String {
    let has_colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if stands_out && has_colour {
        format!("\x1b[1m{text}\x1b[0m")
    } else {
        text.into()
    }
}
