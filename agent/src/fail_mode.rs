//! What the switch does while no controller is connected. Spec: OpenFlow 1.3.5 section 6.3.3.
//!
//! The fail mode's entry is one like any other: controllers see it and may change or delete it.
//! They get no FLOW_REMOVED for it. Tools such as `dpctl` are no configured controllers, so they do
//! not end the fail mode.

use core::fmt;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, Time};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Catalogue, ExtValue, Match, PortNo};

use crate::change::Change;
use crate::connections::Connections;
use crate::deliver::DiscardSink;

/// What the switch does while no configured controller is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FailMode {
    /// It keeps its entries, which expire as usual.
    #[default]
    Secure,
    /// It adds one entry with priority 0 to table 0 that sends every packet to NORMAL, unless there
    /// is a table-miss entry or the table is full; then it tries again when the next connection
    /// opens or closes. It removes this entry when a controller connects. All other entries stay.
    /// Without the feature `normal` it is as [`FailMode::Secure`].
    Standalone,
    /// As [`FailMode::Standalone`], but the entry's action is `arp_path` of the extension ARP-Path,
    /// so that links may form loops. Without that extension it is as [`FailMode::Secure`].
    ArpPath,
}

/// The action of [`FailMode::ArpPath`].
const ARP_PATH: &str = "arp_path";

impl FailMode {
    /// The modes by their names.
    pub const NAMES: &[(Self, &str)] = &[
        (Self::Secure, "secure"),
        (Self::Standalone, "standalone"),
        (Self::ArpPath, "arp-path"),
    ];

    /// The action of its entry; `None` in secure mode.
    fn action(self, catalogue: &Catalogue) -> Option<Action> {
        match self {
            Self::Secure => None,
            Self::Standalone => Some(Action::output(PortNo::NORMAL)),
            Self::ArpPath => {
                let mut rows = catalogue.values(ExtKind::Action);
                let row = rows.find(|row| row.name == ARP_PATH)?;
                let value = ExtValue::new(row, [].into(), Bytes::default());
                Some(Action::Experimenter(value))
            }
        }
    }
}

impl fmt::Display for FailMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = Self::NAMES.iter();
        let row = rows.find(|row| row.0 == *self);
        f.write_str(row.expect("every mode has a name").1)
    }
}

/// The cookie that marks the entry of the fail mode: "standalo" in ASCII.
pub const STANDALONE_COOKIE: u64 = 0x7374_616e_6461_6c6f;

/// The entry that stands in for a controller.
pub(crate) struct StandIn {
    pub(crate) mode: FailMode,
    /// The action of the entry that was added, while no controller is connected. `None` if it found
    /// no place.
    action: Option<Action>,
}

impl StandIn {
    /// Makes that of a mode; no entry is in table 0 yet.
    pub(crate) fn new(mode: FailMode) -> Self {
        Self { mode, action: None }
    }

    /// Adds or removes the entry according to the connections that there are now.
    pub(crate) fn follow(
        &mut self,
        now: Time,
        datapath: &mut Datapath<impl FrameEngine>,
        connections: &Connections,
        change: &Change,
    ) {
        // The entry must not become part of a bundle; this is called again after the commit.
        if change.commit.is_some() {
            return;
        }
        let alone = !connections.has_controller();
        let wanted = self.mode.action(datapath.catalogue()).filter(|_| alone);
        // Called after each event of connections, so mostly nothing has changed.
        if wanted == self.action {
            return;
        }
        if self.action.take().is_some() {
            remove(now, datapath);
        }
        self.action = wanted.filter(|action| add(now, datapath, action));
    }
}

/// Adds the entry, unless a table-miss entry decides already, or the table would have to evict one.
/// Returns true if it was added.
fn add(now: Time, datapath: &mut Datapath<impl FrameEngine>, action: &Action) -> bool {
    let miss = datapath.tables()[0].find(0, &(&Match::ANY).into());
    let sink = &mut DiscardSink;
    if miss.is_some() || !datapath.control(now, sink).has_place(TableId(0)) {
        return false;
    }
    let mut flow_mod = stand_in();
    flow_mod.instructions = Instructions::apply([action.clone()].into());
    // A full table has no room for the entry; its other entries stay in use.
    let added = datapath.control(now, sink).flow_mod(&flow_mod);
    if added.is_ok() {
        // There is nobody to send the extensions' replies to.
        let mut hooks = datapath.hook_calls(now, sink);
        hooks.flow_mod_done(|_| None, &flow_mod);
    }
    added.is_ok()
}

/// Removes the entry, if it still has the fail mode's cookie: a controller may have replaced it by
/// one of its own.
fn remove(now: Time, datapath: &mut Datapath<impl FrameEngine>) {
    let mut flow_mod = stand_in();
    flow_mod.command = FlowModCommand::DELETE_STRICT;
    flow_mod.cookie_mask = u64::MAX;
    // Without table 0 there is no such entry.
    let _ = datapath.control(now, &mut DiscardSink).flow_mod(&flow_mod);
}

/// The fail mode's entry, without instructions.
fn stand_in() -> FlowMod {
    let mut flow_mod = FlowMod::add(Match::ANY);
    flow_mod.priority = 0;
    flow_mod.cookie = STANDALONE_COOKIE;
    flow_mod
}
