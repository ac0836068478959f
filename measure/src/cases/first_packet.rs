//! The case of first packets: a controller adds a rule for each new flow, and sends its packet on.

use std::time::Instant;

use bofuss_oflib::message::{FlowModCommand, PacketOut};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Message};

use crate::cases::packets::{
    LOOK, SHORT_SINGLES, SINGLES, TimedSingles, number_of, numbered, send_all_up,
};
use crate::cases::point::{Point, PointOutcome};
use crate::cases::workbench::Workbench;
use crate::error::Result;
use crate::subject::TestSubject;
use crate::subject::template::Template;
use crate::testbed::openflow::exact;
use crate::testbed::traffic::flow_ports;

/// Flows of this case begin here, apart from those of other cases.
const FIRST_FLOW: u32 = 1 << 18;

/// The delay of the first packet of each of many flows: the controller adds a rule and sends the
/// packet on.
pub fn first_packet(bench: &mut Workbench<'_>, _: &Point) -> Result<PointOutcome> {
    send_all_up(bench)?;
    // One rule sends the frames of new flows to the controller.
    let count = bench.rules(bench.count(10 * SINGLES, SHORT_SINGLES) + 1) - 1;
    let subject = bench.subject;
    let over = bench.over;
    let far = bench.ports[1];
    let near = bench.ports[0];
    let rate = bench.limits.max_rate;
    let controller = bench.control()?;
    let template = Template::plain(0);
    let seen = std::thread::scope(|scope| {
        let probing = scope.spawn(move || first_packets(subject, count, rate, over));
        while !probing.is_finished() {
            let Some((_, Message::PacketIn(packet))) = controller.receive(LOOK)? else {
                continue;
            };
            let Some(number) = number_of(&template, &packet.data.0) else {
                continue;
            };
            let (source, destination) = flow_ports(FIRST_FLOW + number);
            let fields = exact(source, destination);
            let text = format!("priority=20,in_port={near},{fields},actions=output:{far}");
            let rule = controller.flow(&text, FlowModCommand::ADD)?;
            let on = Message::PacketOut(PacketOut {
                buffer_id: BufferId::NO_BUFFER,
                in_port: near,
                actions: vec![Action::output(far)],
                data: Bytes(packet.data.0),
                ..PacketOut::default()
            });
            controller.send_all(&[rule, on])?;
        }
        probing.join().map_err(|_| "the prober died")?
    })?;
    Ok(seen.outcome("no first packet came out"))
}

/// Sends the first packets of new flows, one at a time, and at most `rate` in a second.
fn first_packets(
    subject: &TestSubject,
    count: u32,
    rate: f64,
    over: &(dyn Fn() -> bool + Sync),
) -> Result<TimedSingles> {
    let mut probe = subject.probe(false)?;
    let template = Template::plain(0);
    let mut singles = TimedSingles::default();
    for number in 0..count {
        if over() {
            break;
        }
        singles.wait(rate);
        singles.departed(probe.send_one(&numbered(number, FIRST_FLOW + number))?);
        while singles.is_awaited() {
            probe.poll(|bytes| {
                let now = Instant::now();
                if let Some(arrived) = number_of(&template, bytes)
                    && bytes == numbered(arrived, FIRST_FLOW + arrived)
                {
                    singles.arrived(arrived, now);
                }
            })?;
        }
    }
    Ok(singles)
}
