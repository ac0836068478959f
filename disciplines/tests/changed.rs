//! A port gets another discipline while frames wait.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_datapath::egress::DisciplineRow;
use bofuss_datapath::{Config, DEFAULT_QUEUE, Datapath, PacketInEvent, QueueSpec, Sink, Time};
use bofuss_disciplines::DISCIPLINES;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::error::QueueOpFailed;
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Action, Catalogue, PortNo};
use bofuss_packet::Packet;

const PORT: PortNo = PortNo(1);

/// The first bytes of the frames that left; a port without room accepts nothing.
#[derive(Default)]
struct Out {
    left: Vec<u8>,
    is_full: bool,
}

impl Sink for Out {
    fn transmit(&mut self, _: PortNo, _: QueueId, frame: Frame) {
        self.left.push(frame.bytes()[0]);
    }
    fn has_room(&self, _: PortNo) -> bool {
        !self.is_full
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch whose ports have this discipline.
fn switch(discipline: &'static DisciplineRow, pool: &Pool) -> Datapath {
    let config = Config {
        discipline,
        ..Config::default()
    };
    Datapath::new(config, Arc::new(Catalogue::default()), pool.clone())
}

fn named(name: &str) -> &'static DisciplineRow {
    DISCIPLINES.iter().find(|row| row.name == name).unwrap()
}

#[test]
fn waiting_frames_stay_when_a_port_gets_another_discipline() {
    let (pool, mut out) = (Pool::new(1 << 20), Out::default());
    let [weighted, fifo] = ["weighted-priority", "fifo"].map(named);
    let mut datapath = switch(weighted, &pool);
    let desc = PortDesc {
        port_no: PORT,
        curr_speed: 1_000,
        ..PortDesc::default()
    };
    datapath
        .port_control(Time(0), &mut out)
        .changed(desc, OffloadCapabilities::default());
    let queue = QueueSpec::default();
    for id in [DEFAULT_QUEUE, QueueId(1)] {
        datapath.modify_queue(Time(0), PORT, id, queue).unwrap();
    }
    out.is_full = true;
    for queue in [0, 1, 0, 1] {
        let packet = Packet::new(pool.frame(&[queue as u8; 60]).unwrap(), PortNo(2));
        let actions = [Action::SetQueue(QueueId(queue)), Action::output(PORT)];
        datapath
            .control(Time(0), &mut out)
            .packet_out(packet, &actions);
    }
    let waiting = pool.stats().bytes_in_use;
    datapath.reconfigure(Time(0), switch(fifo, &pool), &mut out);
    let egress = datapath.queues().of(PORT).unwrap();
    assert_eq!((egress.discipline(), egress.queues().len()), ("fifo", 1));
    assert_eq!(pool.stats().bytes_in_use, waiting);
    let second = datapath.modify_queue(Time(0), PORT, QueueId(2), queue);
    assert_eq!(second.unwrap_err().0, QueueOpFailed::EPERM);
    datapath.reconfigure(Time(0), switch(weighted, &pool), &mut out);
    out.is_full = false;
    datapath.port_control(Time(0), &mut out).has_room(PORT);
    datapath.tick(Time(Time::SEC), &mut out);
    assert_eq!(out.left, [0, 0, 1, 1]);
    assert_eq!(
        (datapath.lane().drops().count(), pool.stats().bytes_in_use),
        (0, 0)
    );
}
