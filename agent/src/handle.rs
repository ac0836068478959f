//! One arm for each message that a controller may send.

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{TABLE_CONFIG_BITS, Time};
use bofuss_oflib::error::{
    AsyncConfigFailed, BadMatch, BadProperty, BadRequest, PortModFailed, SwitchConfigFailed,
    TableModFailed,
};
use bofuss_oflib::field::{Field, IN_PHY_PORT, PACKET_TYPE};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::port::{PortConfig, PortFeatures};
use bofuss_oflib::message::property::ExperimenterProperty;
use bofuss_oflib::message::table_mod::TableConfig;
use bofuss_oflib::message::{
    AsyncConfig, ControllerRole, Empty, ErrorMsg, FlowMod, PacketOut, PortDesc, PortMod,
    SwitchConfig, TableMod,
};
use bofuss_oflib::types::{BufferId, TableId};
use bofuss_oflib::{Action, ErrorCode, ExtValue, Message, PortNo};

use crate::connection::Connection;
use crate::given_packet::check_bytes;
use crate::monitored::Cause;
use crate::request::{ConnId, HandlerResult, Origin, Outcome, Pending, Request, buffer_of};
use crate::switch::{Switch, SwitchIo};
#[cfg(feature = "text")]
use crate::trace;

/// The values besides ports that the `in_port` of a packet-out may have. Choice: CONTROLLER, and
/// like Open vSwitch also 0 and ANY (NONE in 1.0); entries can match the number.
const NO_INGRESS: [PortNo; 3] = [PortNo(0), PortNo::ANY, PortNo::CONTROLLER];

impl<E: FrameEngine> Switch<E> {
    /// Handles a message and sends its reply or error; then reports its changes to monitors.
    pub(crate) fn handle<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        request: Request<'_>,
        io: &mut I,
    ) {
        if !self.is_changing() {
            self.begin_request(io);
        }
        let Request { xid, head, message } = request;
        match message {
            Ok(message) => self.carry_out(now, Origin { conn, xid, head }, message, io),
            Err(error) => io.send(conn, xid, Message::Error(error)),
        }
        self.report_news(self.cause(conn, xid), io);
    }

    /// The cause of changes that a connection's request makes.
    fn cause(&self, conn: ConnId, xid: u32) -> Cause {
        let conn = self.connections.get(&conn)?;
        Some((conn.main, xid))
    }

    fn carry_out<I: SwitchIo>(
        &mut self,
        now: Time,
        from: Origin<'_>,
        message: Message,
        io: &mut I,
    ) {
        match self.answer(now, from, &message, io) {
            Ok(Outcome::Done) => self.conclude(now, from, &message, Ok(()), io),
            Ok(Outcome::Reply(reply)) => io.send(from.conn, from.xid, reply),
            Ok(Outcome::GoesOn) => {
                self.pending = Some(Pending {
                    conn: from.conn,
                    xid: from.xid,
                    head: from.head.into(),
                    message,
                });
            }
            Ok(Outcome::Begun) => {}
            Ok(Outcome::Kept) => self.put_into_bundle(from, message),
            Err(error) => self.conclude(now, from, &message, Err(error), io),
        }
    }

    /// Does one slice of the change in progress, if there is one, unless it waits for reads; then
    /// reports it to monitors.
    pub(crate) fn go_on<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        if self.waits_for_reads(now, io) {
            return;
        }
        let pending = self.pending.as_ref().map(Pending::origin);
        let commit = self.commit.as_ref().map(|commit| commit.origin());
        let cause = commit
            .or(pending)
            .and_then(|from| self.cause(from.conn, from.xid));
        if self.commit.is_some() {
            self.go_on_with_commit(now, io);
        } else {
            self.go_on_with_change(now, io);
        }
        self.report_news(cause, io);
    }

    fn go_on_with_change<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let (datapath, mut sink) = self.parts(now, io);
        if let Some(result) = datapath.work(now, &mut sink)
            && let Some(pending) = self.pending.take()
            && self.connections.contains_key(&pending.conn)
        {
            self.conclude(now, pending.origin(), &pending.message, result, io);
        }
    }

    /// Completes a message after its change: informs hooks and other controllers, and resubmits the
    /// buffered packet; or sends the error.
    fn conclude<I: SwitchIo>(
        &mut self,
        now: Time,
        from: Origin<'_>,
        message: &Message,
        result: Result<(), ErrorCode>,
        io: &mut I,
    ) {
        let Origin { conn, xid, head } = from;
        let done = result.and_then(|()| {
            let mut buffer = None;
            if let Message::FlowMod(flow_mod) = message {
                self.flow_mod_done(now, conn, xid, flow_mod, io);
                buffer = buffer_of(flow_mod);
            }
            self.forward_request(conn, xid, message, io);
            buffer.map_or(Ok(()), |buffer| self.resubmit(now, conn, buffer, io))
        });
        if let Err(error) = done {
            let refusal = self.refusal(message, error);
            io.refused(conn, xid, message, &refusal);
            let error = ErrorMsg::quoting(error, head);
            io.send(conn, xid, Message::Error(error));
        }
    }

    /// Has a buffered packet pass the tables again. Errors: those of its buffer.
    pub(crate) fn resubmit<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        buffer: BufferId,
        io: &mut I,
    ) -> Result<(), ErrorCode> {
        let packet = self.channel(conn).buffers.take(now, buffer)?;
        let (datapath, mut sink) = self.parts(now, io);
        datapath.packet_out(now, packet, &[Action::output(PortNo::TABLE)], &mut sink);
        Ok(())
    }

    /// What became of a message that changes tables, groups or meters, once the datapath has begun
    /// with it. No other change is in progress then: see [`crate::turns`].
    fn progress(&self) -> Outcome {
        if self.datapath.has_work() {
            Outcome::GoesOn
        } else {
            Outcome::Done
        }
    }

    fn answer<I: SwitchIo>(
        &mut self,
        now: Time,
        from: Origin<'_>,
        message: &Message,
        io: &mut I,
    ) -> HandlerResult {
        let Origin { conn, xid, .. } = from;
        if self.connections[&conn].datagrams && !may_be_lost(message) {
            return Err(BadRequest::BAD_TYPE);
        }
        if self.channel(conn).role == ControllerRole::SLAVE && self.is_for_masters(message) {
            return Err(BadRequest::IS_SLAVE);
        }
        let reply = match message {
            Message::EchoRequest(data) => Message::EchoReply(data.clone()),
            Message::Hello(_) | Message::Error(_) | Message::EchoReply(_) => {
                return Ok(Outcome::Done);
            }
            Message::Experimenter(value) => return self.experimenter(now, conn, xid, value, io),
            Message::FeaturesRequest(_) => Message::FeaturesReply(self.features(conn)),
            Message::GetConfigRequest(_) => Message::GetConfigReply(self.switch_config(conn)),
            Message::SetConfig(config) => return self.set_config(conn, config),
            Message::PacketOut(out) => return self.packet_out(now, conn, out, io),
            Message::FlowMod(flow_mod) => return self.flow_mod(now, conn, flow_mod, io),
            Message::GroupMod(group_mod) => {
                let (datapath, mut sink) = self.parts(now, io);
                datapath.group_mod(now, group_mod, &mut sink)?;
                return Ok(self.progress());
            }
            Message::PortMod(port_mod) => return self.port_mod(now, port_mod, io),
            Message::TableMod(table_mod) => return self.table_mod(now, conn, table_mod, io),
            Message::MultipartRequest(r) => return self.multipart(now, conn, xid, &r.body, io),
            Message::BarrierRequest(_) => {
                io.flush();
                Message::BarrierReply(Empty)
            }
            Message::QueueGetConfigRequest(request) => {
                Message::QueueGetConfigReply(self.queues(request)?)
            }
            Message::RoleRequest(asked) => Message::RoleReply(self.change_role(conn, asked, io)?),
            Message::GetAsyncRequest(_) => self.async_config(conn),
            Message::SetAsync(config) => return self.set_async(conn, config),
            Message::MeterMod(meter_mod) => {
                let (datapath, mut sink) = self.parts(now, io);
                datapath.meter_mod(now, meter_mod, &mut sink)?;
                return Ok(self.progress());
            }
            Message::BundleControl(asked) => return self.bundle_control(now, from, asked),
            Message::BundleAdd(add) => return self.bundle_add(now, from, add),
            Message::FeaturesReply(_)
            | Message::GetConfigReply(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::MultipartReply(_)
            | Message::BarrierReply(_)
            | Message::QueueGetConfigReply(_)
            | Message::RoleReply(_)
            | Message::GetAsyncReply(_)
            | Message::RoleStatus(_)
            | Message::TableStatus(_)
            | Message::RequestForward(_)
            | Message::ControllerStatus(_) => return Err(BadRequest::BAD_TYPE),
        };
        Ok(Outcome::Reply(reply))
    }

    /// Errors: those of FLOW_MOD; then nothing has changed.
    pub(crate) fn flow_mod<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        flow_mod: &FlowMod,
        io: &mut I,
    ) -> HandlerResult {
        if let Some(buffer) = buffer_of(flow_mod) {
            self.channel(conn).buffers.check(now, buffer)?;
        }
        let (datapath, mut sink) = self.parts(now, io);
        datapath.flow_mod(now, flow_mod, &mut sink)?;
        Ok(self.progress())
    }

    /// Handles an experimenter message: our trace, BOFUSS's queue messages, or an extension's.
    /// Errors: BAD_REQUEST/BAD_EXPERIMENTER.
    fn experimenter<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        value: &ExtValue,
        io: &mut I,
    ) -> HandlerResult {
        #[cfg(feature = "text")]
        if trace::asks(value) {
            let reply = Message::Experimenter(self.trace(now, value)?);
            return Ok(Outcome::Reply(reply));
        }
        if let Some(done) = self.queue_message(now, value, io) {
            return done.map(|()| Outcome::Done);
        }
        self.extension_message(now, conn, xid, value, io)?;
        Ok(if value.row.changes {
            self.progress()
        } else {
            Outcome::Done
        })
    }

    /// The main connection of the channel to which `conn` belongs.
    pub(crate) fn channel(&mut self, conn: ConnId) -> &mut Connection {
        let main = self.connections.get(&conn).map_or(conn, |conn| conn.main);
        self.connections
            .get_mut(&main)
            .expect("messages of closed connections are not handled")
    }

    fn switch_config(&mut self, conn: ConnId) -> SwitchConfig {
        let mut flags = self.datapath.fragments();
        let channel = self.channel(conn);
        if channel.version.config_asks_for_invalid_ttl() && channel.wants_invalid_ttl() {
            flags = flags | ConfigFlags::INVALID_TTL_TO_CONTROLLER;
        }
        SwitchConfig {
            flags,
            miss_send_len: channel.miss_send_len,
        }
    }

    fn set_config(&mut self, conn: ConnId, config: &SwitchConfig) -> HandlerResult {
        let fragments = config.flags.without(ConfigFlags::INVALID_TTL_TO_CONTROLLER);
        if fragments.0 > ConfigFlags::FRAG_REASM.0 {
            return Err(SwitchConfigFailed::BAD_FLAGS);
        }
        self.datapath.set_fragments(fragments);
        let channel = self.channel(conn);
        channel.miss_send_len = config.miss_send_len;
        if channel.version.config_asks_for_invalid_ttl() {
            let wanted = config.flags.has(ConfigFlags::INVALID_TTL_TO_CONTROLLER);
            channel.want_invalid_ttl(wanted);
        }
        Ok(Outcome::Done)
    }

    fn async_config(&mut self, conn: ConnId) -> Message {
        Message::GetAsyncReply(self.channel(conn).async_config.clone())
    }

    /// Changes the masks that a controller names. Errors: ASYNC_CONFIG_FAILED/INVALID for a reason
    /// that its version does not have, since 1.4; BAD_PROPERTY/BAD_EXPERIMENTER.
    fn set_async(&mut self, conn: ConnId, config: &AsyncConfig) -> HandlerResult {
        refuse_experimenters(&config.experimenters)?;
        refuse_experimenters(&config.experimenters_slave)?;
        let channel = self.channel(conn);
        if channel.version.has_bundles() && config.has_unknown_reasons() {
            return Err(AsyncConfigFailed::INVALID);
        }
        channel.async_config.change(config);
        Ok(Outcome::Done)
    }

    pub(crate) fn packet_out<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        out: &PacketOut,
        io: &mut I,
    ) -> HandlerResult {
        self.check_packet_out(now, conn, out)?;
        let mut packet = if out.buffer_id == BufferId::NO_BUFFER {
            // An empty pool drops the packet, as it drops received ones; the pool counts it.
            let is_of_ethernet = out.fields.is_of_ethernet();
            let made = self.packet_of(&out.data.0, out.in_port, is_of_ethernet)?;
            let Some(packet) = made else {
                return Ok(Outcome::Done);
            };
            packet
        } else {
            self.channel(conn).buffers.take(now, out.buffer_id)?
        };
        let given = out.fields.fields().iter();
        for one in given.filter(|one| one.field != PACKET_TYPE) {
            packet.key_mut().set(one.field, one.number());
        }
        let (datapath, mut sink) = self.parts(now, io);
        datapath.packet_out(now, packet, &out.actions, &mut sink);
        Ok(Outcome::Done)
    }

    /// Errors: those of PACKET_OUT; then nothing is sent.
    pub(crate) fn check_packet_out(
        &mut self,
        now: Time,
        conn: ConnId,
        out: &PacketOut,
    ) -> Result<(), ErrorCode> {
        let has_no_ingress = NO_INGRESS.contains(&out.in_port);
        if !has_no_ingress && !out.in_port.is_port() {
            return Err(BadRequest::BAD_PORT);
        }
        let mut fields = out.fields.fields().iter();
        if !fields.all(|one| may_be_given(one.field)) {
            return Err(BadMatch::BAD_FIELD);
        }
        self.datapath
            .check_actions(TableId(0), None, &out.actions)?;
        if out.buffer_id != BufferId::NO_BUFFER {
            self.channel(conn).buffers.check(now, out.buffer_id)
        } else {
            check_bytes(&out.data.0, &out.fields)
        }
    }

    fn port_mod<I: SwitchIo>(
        &mut self,
        now: Time,
        port_mod: &PortMod,
        io: &mut I,
    ) -> HandlerResult {
        self.check_port_mod(port_mod, io)?;
        self.change_port(now, port_mod, io);
        Ok(Outcome::Done)
    }

    /// Errors: those of PORT_MOD; then nothing has changed.
    pub(crate) fn check_port_mod<I: SwitchIo>(
        &self,
        port_mod: &PortMod,
        io: &I,
    ) -> Result<(), ErrorCode> {
        let ports = self.datapath.ports();
        let port = ports
            .get(&port_mod.port_no)
            .ok_or(PortModFailed::BAD_PORT)?;
        if port.desc.hw_addr != port_mod.hw_addr {
            return Err(PortModFailed::BAD_HW_ADDR);
        }
        refuse_experimenters(&port_mod.experimenters)?;
        // We have no optical ports.
        let unknown = (port_mod.mask.0 | port_mod.config.0) & !PortConfig::ALL.0;
        if unknown != 0 || port_mod.optical.is_some() {
            return Err(PortModFailed::BAD_CONFIG);
        }
        // All zeros leave it unchanged. Choice: a port without autonegotiation cannot change it.
        let advertise = port_mod.advertise;
        let desc = &port.desc;
        let changes = changes_advertised(desc, port_mod);
        if changes && !desc.supported.has(advertise | PortFeatures::AUTONEG) {
            return Err(PortModFailed::BAD_ADVERTISE);
        }
        let turns = PortConfig((desc.config.0 ^ port_mod.config.0) & port_mod.mask.0);
        if (changes || turns.has(PortConfig::PORT_DOWN)) && !io.may_change_links() {
            return Err(PortModFailed::EPERM);
        }
        Ok(())
    }

    /// Applies a port-mod that was checked, if the port still exists.
    pub(crate) fn change_port<I: SwitchIo>(&mut self, now: Time, port_mod: &PortMod, io: &mut I) {
        let number = port_mod.port_no;
        let port = self.datapath.ports().get(&number);
        let advertises = port.is_some_and(|port| changes_advertised(&port.desc, port_mod));
        let (datapath, mut sink) = self.parts(now, io);
        datapath.configure_port(number, port_mod.config, port_mod.mask, &mut sink);
        if advertises {
            datapath.advertise(number, port_mod.advertise, &mut sink);
        }
    }

    /// Configures tables. Only since 1.4 does a table-mod set eviction and vacancy events; in older
    /// versions they stay unchanged.
    fn table_mod<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        table_mod: &TableMod,
        io: &mut I,
    ) -> HandlerResult {
        let table = table_mod.table_id;
        if table != TableId::ALL && !self.datapath.has_table(table) {
            return Err(TableModFailed::BAD_TABLE);
        }
        refuse_experimenters(&table_mod.experimenters)?;
        let fills = self.channel(conn).version.has_bundles();
        let known = if fills {
            TABLE_CONFIG_BITS | TableConfig::ALL.0
        } else {
            TABLE_CONFIG_BITS
        };
        if table_mod.config & !known != 0 {
            return Err(TableModFailed::BAD_CONFIG);
        }
        let (datapath, mut sink) = self.parts(now, io);
        if fills {
            datapath.configure_filling(now, table_mod, &mut sink)?;
        }
        datapath.configure_table(table, table_mod.config & TABLE_CONFIG_BITS, table_mod.miss);
        Ok(self.progress())
    }
}

/// Whether a port-mod changes the features that a port advertises.
fn changes_advertised(desc: &PortDesc, port_mod: &PortMod) -> bool {
    port_mod.advertise.0 != 0 && port_mod.advertise != desc.advertised
}

/// Refuses experimenter properties; we know none. Errors: BAD_PROPERTY/BAD_EXPERIMENTER.
pub(crate) fn refuse_experimenters(properties: &[ExperimenterProperty]) -> Result<(), ErrorCode> {
    if properties.is_empty() {
        Ok(())
    } else {
        Err(BadProperty::BAD_EXPERIMENTER)
    }
}

/// Whether the match of a packet-out may set this field, which is in no header. Choice: the fields
/// that entries may write, and IN_PHY_PORT; an extension's own state is excluded.
fn may_be_given(field: &Field) -> bool {
    field.is_copied_to() || [IN_PHY_PORT, PACKET_TYPE].contains(&field)
}

/// Whether a message may come over a connection whose transport may lose it. Spec: OpenFlow 1.3.5
/// section 6.3.6.
fn may_be_lost(message: &Message) -> bool {
    matches!(
        message,
        Message::Hello(_)
            | Message::Error(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::FeaturesRequest(_)
            | Message::PacketOut(_)
            | Message::Experimenter(_)
    )
}
