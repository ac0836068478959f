//! Gives a switch what each version has, and asks it for that.

use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::multipart::flow_monitor::FlowMonitorFlags;
use bofuss_oflib::message::multipart::{
    FlowMonitorRequest, FlowStatsRequest, GroupDescRequest, GroupRequest, MeterRequest,
    PortDescRequest, PortRequest, QueueStatsRequest, RequestBody,
};
use bofuss_oflib::message::queue::QueueConfigRequest;
use bofuss_oflib::message::{BundleAdd, BundleControl, Empty, Role};
use bofuss_oflib::types::{GroupId, MeterId, QueueId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Message, PortNo, Version};
use bofuss_tests::Lab;

use crate::drive::Session;
use crate::{entries, errors, events};

/// Makes a switch say everything that it says in one version.
pub fn everything(lab: &Lab, port: u16, version: Version) -> Session {
    let mut session = Session::new(port, version);
    fill(&mut session);
    requests(&mut session);
    events::all(lab, port, &mut session);
    errors::all(&mut session);
    session.hears("ECHO_REQUEST", 1);
    session
}

/// Adds all groups, meters and entries, which the switch takes and reports.
fn fill(session: &mut Session) {
    let groups = entries::GROUPS.into_iter().map(entries::group);
    let meters = entries::METERS.into_iter().map(entries::meter);
    let flows = entries::flows(session.codec.version).into_iter();
    for message in groups.chain(meters).chain(flows.map(Message::FlowMod)) {
        session.send(&message);
        if let Message::FlowMod(flow) = &message {
            // Alone, so that a reader that does not know one of them reads the others.
            session.send(&Message::MultipartRequest(
                RequestBody::Flow(of_cookie(flow.cookie)).into(),
            ));
            session.send(&Message::MultipartRequest(
                RequestBody::FlowCounters(of_cookie(flow.cookie)).into(),
            ));
        }
        session.settle();
        assert_eq!(session.count("ERROR"), 0, "{message}");
    }
}

fn of_cookie(cookie: u64) -> FlowStatsRequest {
    FlowStatsRequest {
        cookie,
        cookie_mask: u64::MAX,
        ..FlowStatsRequest::all()
    }
}

/// Asks for everything else, and reads each answer.
fn requests(session: &mut Session) {
    for message in [
        Message::FeaturesRequest(Empty),
        Message::EchoRequest(Bytes(b"whatever".to_vec())),
        Message::GetConfigRequest(Empty),
        Message::QueueGetConfigRequest(QueueConfigRequest { port: PortNo(2) }),
        Message::RoleRequest(Role::default()),
        Message::GetAsyncRequest(Empty),
    ] {
        session.send(&message);
    }
    let meters = MeterRequest {
        meter_id: MeterId::ALL,
    };
    let queues = QueueStatsRequest {
        port_no: PortNo::ANY,
        queue_id: QueueId::ALL,
    };
    for body in [
        RequestBody::Desc(Empty),
        RequestBody::Aggregate(FlowStatsRequest::all()),
        RequestBody::Table(Empty),
        RequestBody::PortStats(PortRequest {
            port_no: PortNo::ANY,
        }),
        RequestBody::Queue(queues.clone()),
        RequestBody::Group(GroupRequest {
            group_id: GroupId::ALL,
        }),
        RequestBody::GroupDesc(GroupDescRequest::ALL),
        RequestBody::GroupFeatures(Empty),
        RequestBody::Meter(meters.clone()),
        RequestBody::MeterConfig(meters),
        RequestBody::MeterFeatures(Empty),
        RequestBody::TableFeatures(Vec::new()),
        RequestBody::PortDesc(PortDescRequest {
            port_no: PortNo::ANY,
        }),
        RequestBody::TableDesc(Empty),
        RequestBody::QueueDesc(queues),
        RequestBody::FlowMonitor(vec![monitor()]),
        RequestBody::ControllerStatus(Empty),
        RequestBody::BundleFeatures(Default::default()),
    ] {
        session.send(&Message::MultipartRequest(body.into()));
    }
    session.settle();
    bundles(session);
}

/// Follows the entries of the first table.
fn monitor() -> FlowMonitorRequest {
    FlowMonitorRequest {
        monitor_id: 1,
        table_id: TableId(0),
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        flags: FlowMonitorFlags::INITIAL
            | FlowMonitorFlags::ADD
            | FlowMonitorFlags::REMOVED
            | FlowMonitorFlags::MODIFY
            | FlowMonitorFlags::INSTRUCTIONS,
        ..FlowMonitorRequest::default()
    }
}

/// Commits a bundle, and discards one.
fn bundles(session: &mut Session) {
    use BundleControlType as T;
    let control = |ty| {
        Message::BundleControl(BundleControl {
            bundle_id: 5,
            ty,
            flags: BundleFlags::ATOMIC,
            ..BundleControl::default()
        })
    };
    let add = BundleAdd {
        bundle_id: 5,
        flags: BundleFlags::ATOMIC,
        xid: 7,
        message: Box::new(Message::FlowMod(entries::flow(
            "dl_type=0x88cd,actions=drop",
        ))),
        experimenters: Vec::new(),
    };
    for message in [
        control(T::OPEN_REQUEST),
        Message::BundleAdd(add),
        control(T::CLOSE_REQUEST),
        control(T::COMMIT_REQUEST),
        control(T::OPEN_REQUEST),
        control(T::DISCARD_REQUEST),
    ] {
        session.send(&message);
    }
    session.settle();
}
