//! Messages that change the switch: FLOW_MOD, PORT_MOD, TABLE_MOD.
//!
//! Bundles use these functions, too: a flow-mod is prepared as it is executed, and a port-mod is
//! checked with the others and applied at the commit. Group-mods and meter-mods need nothing of the
//! agent, so they go to the datapath as they are.

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, FILLING_BITS, TABLE_CONFIG_BITS};
use bofuss_oflib::error::{PortModFailed, TableModFailed};
use bofuss_oflib::message::port::{PortConfig, PortFeatures};
use bofuss_oflib::message::{FlowMod, PortDesc, PortMod, TableMod};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, Message};

use crate::controllers::forward_request;
use crate::deliver::SwitchSink;
use crate::extensions::flow_mod_done;
use crate::given_packet::resubmit;
use crate::io::SwitchIo;
use crate::request::{ConnId, HandlerResult, Outcome, buffer_of, refuse_experimenters};

/// What became of a message that changes tables, groups or meters, once the datapath has begun
/// with it. No other change is in progress then: see [`crate::turns`].
pub(crate) fn progress(datapath: &Datapath<impl FrameEngine>) -> Outcome {
    if datapath.changes().in_progress() {
        Outcome::GoesOn
    } else {
        Outcome::Done
    }
}

/// Begins to execute a flow-mod. The buffered packet that it names is looked for first, so that a
/// wrong number is refused before anything changes; it is resubmitted once the change is complete.
///
/// Errors: BAD_REQUEST with BUFFER_EMPTY or BUFFER_UNKNOWN, or those of FLOW_MOD; then nothing has
/// changed.
pub(crate) fn flow_mod<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    flow_mod: &FlowMod,
) -> HandlerResult {
    if let Some(buffer) = buffer_of(flow_mod) {
        let channel = sink.connections.channel(conn);
        channel.buffers.check(sink.now, buffer)?;
    }
    datapath.control(sink.now, sink).flow_mod(flow_mod)?;
    Ok(progress(datapath))
}

/// Does what follows a message that was carried out: informs hooks and other controllers, and
/// resubmits the buffered packet of a flow-mod.
pub(crate) fn follow_up<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    xid: u32,
    message: &Message,
) {
    forward_request(sink, conn, xid, message);
    if let Message::FlowMod(flow_mod) = message {
        flow_mod_done(datapath, sink, conn, xid, flow_mod);
        resubmit(datapath, sink, conn, flow_mod);
    }
}

/// Checks a port-mod and applies it at once. Errors: as for [`check_port_mod`].
pub(crate) fn port_mod<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    port_mod: &PortMod,
) -> HandlerResult {
    check_port_mod(datapath, port_mod, sink.io)?;
    change_port(datapath, sink, port_mod);
    Ok(Outcome::Done)
}

/// Checks a port-mod without applying it, for a bundle that applies it later.
///
/// Errors: PORT_MOD_FAILED with BAD_PORT, BAD_HW_ADDR, BAD_CONFIG, BAD_ADVERTISE or EPERM;
/// BAD_PROPERTY/BAD_EXPERIMENTER, or an extension's.
pub(crate) fn check_port_mod<I: SwitchIo>(
    datapath: &Datapath<impl FrameEngine>,
    port_mod: &PortMod,
    io: &I,
) -> Result<(), ErrorCode> {
    let ports = datapath.ports();
    let port = ports
        .get(&port_mod.port_no)
        .ok_or(PortModFailed::BAD_PORT)?;
    // The address is no setting: it shows that the controller means the port that has the number
    // now.
    if port.desc.hw_addr != port_mod.hw_addr {
        return Err(PortModFailed::BAD_HW_ADDR);
    }
    // What goes beyond OpenFlow's bits is refused, unless an extension does it.
    let is_taken = datapath.hooks().take_port_mod(port_mod)?;
    if !is_taken {
        refuse_experimenters(&port_mod.experimenters)?;
    }
    let unknown = (port_mod.mask.0 | port_mod.config.0) & !PortConfig::ALL.0;
    if unknown != 0 || port_mod.optical.is_some() && !is_taken {
        return Err(PortModFailed::BAD_CONFIG);
    }
    // All zeros leave it unchanged. Choice: a port without autonegotiation cannot change it.
    let advertise = port_mod.advertise;
    let desc = &port.desc;
    let changes = changes_advertised(desc, port_mod);
    if changes && !desc.supported.has(advertise | PortFeatures::AUTONEG) {
        return Err(PortModFailed::BAD_ADVERTISE);
    }
    // Only what differs from the present state counts: where links are not controllers' to change,
    // a port-mod that repeats it is accepted.
    let turns = PortConfig((desc.config.0 ^ port_mod.config.0) & port_mod.mask.0);
    if (changes || turns.has(PortConfig::PORT_DOWN)) && !io.may_change_links() {
        return Err(PortModFailed::EPERM);
    }
    Ok(())
}

/// Applies a port-mod that was checked, if the port still exists. Controllers get one PORT_STATUS
/// for the configuration and one for the advertised features, if these change.
pub(crate) fn change_port<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    port_mod: &PortMod,
) {
    let number = port_mod.port_no;
    let port = datapath.ports().get(&number);
    let advertises = port.is_some_and(|port| changes_advertised(&port.desc, port_mod));
    let mut control = datapath.port_control(sink.now, sink);
    control.configure(number, port_mod.config, port_mod.mask);
    if advertises {
        control.advertise(number, port_mod.advertise);
    }
    if port_mod.optical.is_some() || !port_mod.experimenters.is_empty() {
        datapath.hook_calls(sink.now, sink).port_mod(port_mod);
    }
}

/// Configures one table or all. Only since 1.4 does a table-mod set eviction and vacancy events; in
/// older versions they stay unchanged. Ordering the entries of a table for eviction is a change in
/// slices.
///
/// Errors: TABLE_MOD_FAILED with BAD_TABLE or BAD_CONFIG; BAD_PROPERTY with BAD_EXPERIMENTER or
/// BAD_VALUE; then nothing has changed.
pub(crate) fn table_mod<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    table_mod: &TableMod,
) -> HandlerResult {
    let table = table_mod.table_id;
    if table != TableId::ALL && !datapath.shape().has_table(table) {
        return Err(TableModFailed::BAD_TABLE);
    }
    refuse_experimenters(&table_mod.experimenters)?;
    let fills = sink.connections.channel(conn).version.has_bundles();
    let known = if fills {
        TABLE_CONFIG_BITS | FILLING_BITS
    } else {
        TABLE_CONFIG_BITS
    };
    if table_mod.config & !known != 0 {
        return Err(TableModFailed::BAD_CONFIG);
    }
    // This may fail, so it comes before what cannot.
    let mut control = datapath.control(sink.now, sink);
    if fills {
        control.configure_filling(table_mod)?;
    }
    let config = table_mod.config & TABLE_CONFIG_BITS;
    control.configure_table(table, config, table_mod.miss);
    Ok(progress(datapath))
}

/// Returns true if a port-mod changes the features that a port advertises. They have no mask: zero
/// stands for no change, any other value for all of them.
fn changes_advertised(desc: &PortDesc, port_mod: &PortMod) -> bool {
    port_mod.advertise.0 != 0 && port_mod.advertise != desc.advertised
}
