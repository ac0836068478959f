//! Connections take turns, also when one has sent many long changes.

use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody};
use bofuss_oflib::types::GroupId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, PortNo};

use super::*;

/// The number of entries that each change goes through, in many slices.
const ENTRIES: u32 = 1000;
const CHANGES: u32 = 100;

impl Lab {
    fn tell_flow(&mut self, command: FlowModCommand, text: &str) {
        let flow = parse_flow(text, command, &self.catalogue()).unwrap();
        self.tell(1, &Message::FlowMod(flow));
    }

    /// Exchanges the controllers, so that the other one tells and reads.
    fn exchange(&mut self, other: &mut UnixStream) {
        std::mem::swap(&mut self.controller, other);
        self.framer = Framer::new();
    }
}

/// The ports to which the entries in these messages output, and the number of echo replies.
fn told(lab: &Lab) -> (Vec<u32>, usize) {
    let (mut ports, mut echoes) = (Vec::new(), 0);
    for bytes in &lab.messages {
        let (_, message) = lab.codec.decode(bytes).unwrap();
        echoes += usize::from(matches!(message, Message::EchoReply(_)));
        if let Message::MultipartReply(reply) = message
            && let ReplyBody::Flow(list) = reply.body
        {
            for entry in list {
                let actions = entry.0.instructions.actions();
                ports.extend(actions.map(|action| match action {
                    Action::Output(output) => output.port.0,
                    other => panic!("{other:?}"),
                }));
            }
        }
    }
    (ports, echoes)
}

/// Returns true if the last message ends a reply. It decodes no other: changes do not wait long for
/// who is slow.
fn has_whole_reply(lab: &Lab) -> bool {
    let last = lab.messages.last().map(|bytes| lab.codec.decode(bytes));
    matches!(last, Some(Ok((_, Message::MultipartReply(reply)))) if !reply.more)
}

#[test]
fn a_read_has_its_turn_among_many_long_changes_and_shows_whole_ones() {
    let folder = Folder::new("turns");
    let record = folder.0.join("record");
    let mut lab = Lab::new(&folder, &record, Options::default());
    let mut other = UnixStream::connect(folder.0.join("openflow")).unwrap();
    other.set_nonblocking(true).unwrap();
    lab.exchange(&mut other);
    lab.tell(0, &Message::Hello(Hello::offering(&[Version::V1_3])));
    lab.until(|lab| lab.plane.live.io().connections.select(|_| true).len() == 2);
    for n in 0..ENTRIES {
        lab.tell_flow(
            FlowModCommand::ADD,
            &format!("priority={n},tcp,actions=output:1000"),
        );
    }
    let count = |lab: &Lab| lab.plane.live.switch().datapath().tables()[0].len();
    lab.until(|lab| count(lab) == ENTRIES as usize);
    for n in 1..=CHANGES {
        lab.tell_flow(FlowModCommand::MODIFY, &format!("actions=output:{n}"));
    }
    lab.until(|lab| lab.plane.live.switch().is_changing());
    lab.exchange(&mut other);
    lab.messages.clear();
    let all = FlowStatsRequest {
        table_id: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        ..FlowStatsRequest::default()
    };
    lab.tell(2, &Message::EchoRequest(Bytes(Vec::new())));
    lab.tell(3, &Message::MultipartRequest(RequestBody::Flow(all).into()));
    lab.until(has_whole_reply);
    assert!(
        lab.plane.live.switch().is_changing() || lab.plane.inbox.has_waiting(),
        "amid the changes"
    );
    let (mut ports, echoes) = told(&lab);
    assert_eq!(ports.len(), ENTRIES as usize);
    ports.dedup();
    assert_eq!((ports.len(), echoes), (1, 1), "{ports:?}");
    assert!(ports[0] < CHANGES, "it did not wait for all");
}
