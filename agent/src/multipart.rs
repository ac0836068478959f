//! One arm for each multipart request.

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::multipart::{
    ExtBody, PortStats, ReplyBody, RequestBody, TableFeatures, TableStats,
};
use bofuss_oflib::message::table_mod::{TableConfig, TableMiss};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, Message, PortNo};

use crate::connection::ConnId;
use crate::dump::{Dump, DumpedList};
use crate::handle::HandlerResult;
use crate::switch::{Switch, SwitchIo, parts};

impl Switch {
    /// Answers a multipart request, at once or by starting a long reply.
    pub(crate) fn multipart<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        request: &RequestBody,
        io: &mut I,
    ) -> HandlerResult {
        let body = match request {
            RequestBody::Desc(_) => ReplyBody::Desc(self.identity.desc.clone()),
            RequestBody::Flow(request) => {
                self.check_table(request.table_id)?;
                return self.start(now, conn, Dump::flows(xid, request, false), io);
            }
            RequestBody::Aggregate(request) => {
                self.check_table(request.table_id)?;
                return self.start(now, conn, Dump::flows(xid, request, true), io);
            }
            RequestBody::Table(_) => {
                let version = self.channel(conn).version;
                ReplyBody::Table(self.table_stats(version.table_stats_have_features()))
            }
            RequestBody::PortStats(request) => {
                ReplyBody::PortStats(self.port_stats(now, request.port_no)?)
            }
            RequestBody::Queue(request) => ReplyBody::Queue(self.queue_stats(now, request)?),
            RequestBody::Group(of) => {
                return self.start(now, conn, Dump::groups(xid, of.group_id), io);
            }
            RequestBody::GroupDesc(_) => {
                return self.start(now, conn, Dump::group_descs(xid), io);
            }
            RequestBody::Meter(of) => {
                let dump = Dump::meters(xid, DumpedList::Meter, of.meter_id, &self.datapath)?;
                return self.start(now, conn, dump, io);
            }
            RequestBody::MeterConfig(of) => {
                let dump = Dump::meters(xid, DumpedList::MeterConfig, of.meter_id, &self.datapath)?;
                return self.start(now, conn, dump, io);
            }
            RequestBody::GroupFeatures(_) => {
                ReplyBody::GroupFeatures(self.datapath.group_features())
            }
            RequestBody::MeterFeatures(_) => {
                ReplyBody::MeterFeatures(self.datapath.meter_features())
            }
            RequestBody::TableFeatures(wanted) => {
                self.write_table_features(now, conn, wanted, io)?;
                ReplyBody::TableFeatures(self.table_features(conn))
            }
            RequestBody::PortDesc(_) => ReplyBody::PortDesc(self.port_descs()),
            RequestBody::TableDesc(_) => {
                ReplyBody::TableDesc(self.datapath.table_descs().collect())
            }
            RequestBody::QueueDesc(request) => ReplyBody::QueueDesc(self.queue_descs(request)?),
            RequestBody::FlowMonitor(asked) => {
                return self.monitor_entries(now, conn, xid, asked, io);
            }
            RequestBody::Experimenter(ExtBody(value)) => {
                return self.start(now, conn, Dump::extension(xid, value), io);
            }
        };
        Ok(Some(Message::MultipartReply(body.into())))
    }

    /// Gives the tables these features; none ask only. Errors: TABLE_FEATURES_FAILED.
    fn write_table_features<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        wanted: &[TableFeatures],
        io: &mut I,
    ) -> Result<(), ErrorCode> {
        if wanted.is_empty() {
            return Ok(());
        }
        let wanted = self.without_abilities(conn, wanted);
        let (datapath, sink) = parts!(self, now, io);
        datapath.set_table_features(now, &wanted, sink)
    }

    /// Begins a long reply. Errors: those of its first part.
    pub(crate) fn start<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        dump: Dump,
        io: &mut I,
    ) -> HandlerResult {
        let connection = self
            .connections
            .get_mut(&conn)
            .expect("the request came from it");
        connection.dump = Some(dump);
        self.continue_dump(now, conn, io)?;
        Ok(None)
    }

    fn check_table(&self, table: TableId) -> Result<(), ErrorCode> {
        let known = self.datapath.has_table(table) || table == TableId::ALL;
        known.then_some(()).ok_or(BadRequest::BAD_TABLE_ID)
    }

    /// What tables did; with `features` also what they can do.
    fn table_stats(&mut self, features: bool) -> Vec<TableStats> {
        let settled = self.datapath.settled();
        let heads = settled.datapath().table_heads();
        let mut stats: Vec<TableStats> = heads
            .map(|head| {
                let table = &settled.datapath().tables()[usize::from(head.table_id.0)];
                let counts = settled.table_counts(head.table_id);
                TableStats {
                    table_id: head.table_id,
                    active_count: table.len() as u32,
                    lookup_count: counts.lookups,
                    matched_count: counts.matches,
                    ..TableStats::default()
                }
            })
            .collect();
        if features {
            for (one, features) in stats.iter_mut().zip(self.datapath.table_features()) {
                one.features = features.0;
                let table = &self.datapath.tables()[usize::from(one.table_id.0)];
                let others = one.features.config & !TableMiss::MASK;
                one.features.config = others | table.miss().bits();
            }
        }
        stats
    }

    /// What tables can do. Since 1.4 their `config` is which configurations they can have.
    fn table_features(&mut self, conn: ConnId) -> Vec<TableFeatures> {
        let mut tables = self.datapath.table_features();
        if self.channel(conn).version.has_bundles() {
            for table in &mut tables {
                table.0.config = TableConfig::ALL.0;
            }
        }
        tables
    }

    /// Tables that a controller asks for, without what [`Self::table_features`] adds.
    fn without_abilities(&mut self, conn: ConnId, wanted: &[TableFeatures]) -> Vec<TableFeatures> {
        let mut wanted = wanted.to_vec();
        if self.channel(conn).version.has_bundles() {
            for table in &mut wanted {
                table.0.config &= !TableConfig::ALL.0;
            }
        }
        wanted
    }

    /// Errors: BAD_REQUEST/BAD_PORT for a port that does not exist.
    fn port_stats(&self, now: Time, wanted: PortNo) -> Result<Vec<PortStats>, ErrorCode> {
        let ports = self.datapath.ports();
        if wanted != PortNo::ANY && !ports.contains_key(&wanted) {
            return Err(BadRequest::BAD_PORT);
        }
        let mut list = Vec::new();
        for (number, port) in ports {
            if wanted != PortNo::ANY && wanted != *number {
                continue;
            }
            let (duration_sec, duration_nsec) = now.duration(port.since);
            list.push(PortStats {
                duration_sec,
                duration_nsec,
                ..port.stats.clone()
            });
        }
        Ok(list)
    }
}
