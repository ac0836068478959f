//! One arm for each multipart request.

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::{
    AggregateStats, ExtBody, FlowStatsRequest, PortStats, ReplyBody, RequestBody, TableFeatures,
    TableStats,
};
use bofuss_oflib::message::table_mod::{TableConfig, TableMiss};
use bofuss_oflib::types::{MeterId, TableId};
use bofuss_oflib::{ErrorCode, Message, PortNo};

use crate::dump::{Dump, DumpedList, EntryReport};
use crate::request::{ConnId, HandlerResult, Outcome};
use crate::switch::{Switch, SwitchIo};

impl<E: FrameEngine> Switch<E> {
    /// Answers a multipart request, either at once or by starting a long reply.
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
                let dump = self.entries(xid, request, EntryReport::Descriptions)?;
                return self.start(now, conn, dump, io);
            }
            RequestBody::Aggregate(request) => {
                let sums = EntryReport::Sums(AggregateStats::default());
                let dump = self.entries(xid, request, sums)?;
                return self.start(now, conn, dump, io);
            }
            RequestBody::FlowCounters(request) => {
                let dump = self.entries(xid, request, EntryReport::Counters)?;
                return self.start(now, conn, dump, io);
            }
            RequestBody::Table(_) => ReplyBody::Table(self.table_stats(conn)),
            RequestBody::PortStats(of) => ReplyBody::PortStats(self.port_stats(now, of.port_no)?),
            RequestBody::Queue(request) => ReplyBody::Queue(self.queue_stats(now, request)?),
            RequestBody::Group(of) => {
                let dump = Dump::groups(xid, DumpedList::Group, of.group_id);
                return self.start(now, conn, dump, io);
            }
            RequestBody::GroupDesc(of) => {
                let dump = Dump::groups(xid, DumpedList::GroupDesc, of.group_id);
                return self.start(now, conn, dump, io);
            }
            RequestBody::Meter(of) => {
                return self.meters(now, conn, (xid, DumpedList::Meter, of.meter_id), io);
            }
            RequestBody::MeterConfig(of) => {
                return self.meters(now, conn, (xid, DumpedList::MeterConfig, of.meter_id), io);
            }
            RequestBody::GroupFeatures(_) => {
                ReplyBody::GroupFeatures(self.datapath.group_features())
            }
            RequestBody::MeterFeatures(_) => {
                ReplyBody::MeterFeatures(self.datapath.meter_features())
            }
            RequestBody::TableFeatures(wanted) => {
                ReplyBody::TableFeatures(self.shape_tables(now, conn, wanted, io)?)
            }
            RequestBody::PortDesc(of) => ReplyBody::PortDesc(self.port_desc(of.port_no)?),
            RequestBody::TableDesc(_) => {
                ReplyBody::TableDesc(self.datapath.table_descs().collect())
            }
            RequestBody::QueueDesc(request) => ReplyBody::QueueDesc(self.queue_descs(request)?),
            RequestBody::BundleFeatures(asked) => self.bundle_features(now, conn, asked)?,
            RequestBody::FlowMonitor(asked) => {
                return self.monitor_entries(now, conn, xid, asked, io);
            }
            RequestBody::ControllerStatus(_) => {
                ReplyBody::ControllerStatus(self.controller_statuses())
            }
            RequestBody::Experimenter(ExtBody(value)) => {
                return self.start(now, conn, Dump::extension(xid, value), io);
            }
        };
        Ok(Outcome::Reply(Message::MultipartReply(body.into())))
    }

    /// Sets the features of tables, unless the list is empty; returns the features that they have
    /// then. Errors: TABLE_FEATURES_FAILED.
    fn shape_tables<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        wanted: &[TableFeatures],
        io: &mut I,
    ) -> Result<Vec<TableFeatures>, ErrorCode> {
        if !wanted.is_empty() {
            let wanted = self.without_abilities(conn, wanted);
            let (datapath, mut sink) = self.parts(now, io);
            datapath.set_table_features(now, &wanted, &mut sink)?;
        }
        Ok(self.table_features(conn))
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
        Ok(Outcome::Begun)
    }

    /// Builds the long reply about one meter, or all. Errors: METER_MOD_FAILED/UNKNOWN_METER.
    fn meters<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        (xid, listed, id): (u32, DumpedList, MeterId),
        io: &mut I,
    ) -> HandlerResult {
        let dump = Dump::meters(xid, listed, id, &self.datapath)?;
        self.start(now, conn, dump, io)
    }

    /// Builds the long reply about entries. Errors: BAD_REQUEST/BAD_TABLE_ID.
    fn entries(
        &self,
        xid: u32,
        request: &FlowStatsRequest,
        report: EntryReport,
    ) -> Result<Dump, ErrorCode> {
        self.check_table(request.table_id)?;
        Ok(Dump::flows(xid, request, report))
    }

    fn check_table(&self, table: TableId) -> Result<(), ErrorCode> {
        let known = self.datapath.has_table(table) || table == TableId::ALL;
        known.then_some(()).ok_or(BadRequest::BAD_TABLE_ID)
    }

    /// The statistics of all tables; in versions whose table statistics contain them, also the
    /// features.
    fn table_stats(&mut self, conn: ConnId) -> Vec<TableStats> {
        let features = self.channel(conn).version.table_stats_have_features();
        let settled = self.datapath.settled();
        let heads = settled.datapath().table_heads();
        let mut stats: Vec<TableStats> = heads
            .map(|head| {
                let table = &settled.datapath().tables()[usize::from(head.table_id.0)];
                let counts = settled.table_counts(head.table_id);
                TableStats {
                    table_id: head.table_id,
                    active_count: table.len_read() as u32,
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

    /// The features of all tables, with the experimenters that are announced. Since 1.4, `config`
    /// holds the configuration bits that a table supports.
    fn table_features(&mut self, conn: ConnId) -> Vec<TableFeatures> {
        let mut tables = self.datapath.table_features();
        let version = self.channel(conn).version;
        for table in &mut tables {
            table.0.hide_unannounced(version, self.datapath.catalogue());
            if version.has_bundles() {
                table.0.config = TableConfig::ALL.0;
            }
        }
        tables
    }

    /// Undoes what [`Self::table_features`] adds for a version in the features that a controller
    /// sends, and fills in what its version cannot express.
    fn without_abilities(&mut self, conn: ConnId, wanted: &[TableFeatures]) -> Vec<TableFeatures> {
        let mut wanted = wanted.to_vec();
        let version = self.channel(conn).version;
        let present = self.datapath.table_features();
        for table in &mut wanted {
            let mut same = present.iter().map(|one| &one.0);
            if let Some(same) = same.find(|one| one.table_id == table.0.table_id) {
                if !version.has_stat_lists() {
                    table.0.features = same.features;
                }
                table
                    .0
                    .keep_unsaid(same, version, self.datapath.catalogue());
            }
        }
        if version.has_bundles() {
            for table in &mut wanted {
                table.0.config &= !TableConfig::ALL.0;
            }
        }
        wanted
    }

    /// The description of one port, or all. Errors: BAD_REQUEST/BAD_PORT for one that does not
    /// exist.
    fn port_desc(&self, wanted: PortNo) -> Result<Vec<PortDesc>, ErrorCode> {
        if wanted == PortNo::ANY {
            return Ok(self.port_descs());
        }
        match self.datapath.ports().get(&wanted) {
            Some(port) => Ok([port.desc.clone()].into()),
            None => Err(BadRequest::BAD_PORT),
        }
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
