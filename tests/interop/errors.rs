//! Wrong requests, whose errors quote them: at least one for each type of error.

use bofuss_oflib::message::multipart::{PortRequest, QueueStatsRequest, RequestBody};
use bofuss_oflib::message::queue::QueueConfigRequest;
use bofuss_oflib::message::{
    ControllerRole, Empty, PacketOut, PortMod, Role, SwitchConfig, TableMod,
};
use bofuss_oflib::types::{BufferId, QueueId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Message, PortNo};

use crate::drive::Session;
use crate::entries;

/// Entries that are refused.
const FLOWS: [&str; 6] = [
    "in_port=1,actions=group:99",
    "check_overlap,priority=18,tcp,actions=output:2",
    "table=99,actions=drop",
    "actions=meter:99",
    "in_port=1,actions=output:4294967040",
    "actions=goto_table:0",
];

pub fn all(session: &mut Session) {
    let version = session.codec.version;
    for text in FLOWS {
        session.send(&Message::FlowMod(entries::flow(text)));
    }
    for text in &entries::GROUPS[..1] {
        session.send(&entries::group(text));
    }
    session.send(&entries::meter(entries::METERS[0]));
    for message in [
        Message::PortMod(PortMod {
            port_no: PortNo(77),
            ..PortMod::default()
        }),
        Message::TableMod(TableMod {
            table_id: TableId(200),
            ..TableMod::default()
        }),
        Message::PacketOut(PacketOut {
            buffer_id: BufferId(77),
            in_port: PortNo(1),
            actions: vec![Action::output(PortNo(2))],
            data: Bytes(Vec::new()),
            ..PacketOut::default()
        }),
        Message::QueueGetConfigRequest(QueueConfigRequest { port: PortNo(77) }),
        Message::RoleRequest(Role {
            role: ControllerRole::MASTER,
            ..Role::default()
        }),
        Message::SetConfig(SwitchConfig {
            flags: bofuss_oflib::message::config::ConfigFlags(0xff),
            ..SwitchConfig::default()
        }),
        Message::MultipartRequest(
            RequestBody::PortStats(PortRequest {
                port_no: PortNo(77),
            })
            .into(),
        ),
        Message::MultipartRequest(
            RequestBody::Queue(QueueStatsRequest {
                port_no: PortNo(1),
                queue_id: QueueId(99),
            })
            .into(),
        ),
    ] {
        session.send(&message);
    }
    let [multipart, _] = version.multipart_types();
    let head = |ty, length| [version.number(), ty, 0, length, 0, 0, 0, 9];
    session.send_raw(&head(99, 8));
    session.send_raw(&head(14, 8));
    session.send_raw(&[&head(multipart, 16)[..], &[0x12, 0x34, 0, 0, 0, 0, 0, 0]].concat());
    session.send_raw(&[&head(4, 16)[..], &[0, 0, 0x12, 0x34, 0, 0, 0, 1]].concat());
    session.send(&Message::BarrierRequest(Empty));
    session.settle();
}
