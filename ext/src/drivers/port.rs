//! The state of a port with a driver, and which changes of it are accepted.

use alloc::{collections::BTreeSet, format, string::String, vec, vec::Vec};

use bofuss_datapath::{PortProperties, Time};
use bofuss_oflib::error::PortModFailed;
use bofuss_oflib::message::port::{OpticalPortFeatures, OpticalPortMod};
use bofuss_oflib::message::property::ExperimenterProperty;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{ErrorCode, PortNo};

use super::error::{BAD_VALUE, EXPERIMENTER, NO_DRIVER, NOT_SETTABLE};
use super::line::Report;
use super::optical::PortOptical;
use super::values::{MAX_VALUES, Name, Value, Values};
use super::{COUNTERS_PROPERTY, VALUES_PROPERTY};

/// The most ports that have, or had, a driver.
pub const MAX_DRIVERS: usize = 64;
/// The number of changes and events of a port that controllers are told in a second, and at once.
pub const CHANGES_PER_SECOND: u64 = 200;
/// The time of one of these.
const CHANGE_NS: u64 = Time::SEC / CHANGES_PER_SECOND;

/// A port that has, or had, a driver.
#[derive(Default)]
pub(super) struct DrivenPort {
    /// The connection of the driver, while there is one.
    pub(super) connection: Option<u64>,
    /// Whether the driver is told rules.
    pub(super) rules: bool,
    /// The number of the next entry that it is told of those there were before, if there are more.
    pub(super) next_rule: Option<usize>,
    /// True if these have changed since it was told of the first one, so that it is told of all
    /// once more.
    pub(super) tells_again: bool,
    /// What the driver says.
    pub(super) values: Values,
    pub(super) counters: Values,
    pub(super) settable: BTreeSet<Name>,
    properties: PortProperties,
    /// What controllers have set, which a driver that comes back is told.
    pub(super) wanted: Values,
    pub(super) wanted_optical: Option<OpticalPortMod>,
    /// The time at which all changes so far would have been told at an even pace.
    told_until: Time,
}

impl DrivenPort {
    /// Forgets what the driver said, but not what controllers want of it.
    pub(super) fn leave(&mut self) {
        *self = Self {
            wanted: core::mem::take(&mut self.wanted),
            wanted_optical: self.wanted_optical,
            told_until: self.told_until,
            ..Self::default()
        };
    }

    /// Takes in what the driver says. Returns the properties of the port afterwards.
    ///
    /// Errors: a sentence for the driver's author; then nothing has changed.
    pub(super) fn report(&mut self, now: Time, report: &Report) -> Result<&PortProperties, String> {
        let values = changed(&self.values, &report.values)?;
        let counters = changed(&self.counters, &report.counters)?;
        let mut properties = self.properties.clone();
        if let Some(optical) = report.optical {
            properties.optical = optical;
        }
        if let Some(stats) = report.optical_stats {
            properties.optical_stats = stats;
        }
        if let Some(up) = report.link_up {
            properties.link_down = !up;
        }
        properties.experimenters = property(VALUES_PROPERTY, &values);
        properties.experimenter_stats = property(COUNTERS_PROPERTY, &counters);
        let is_silent = PortProperties {
            optical_stats: self.properties.optical_stats,
            experimenter_stats: self.properties.experimenter_stats.clone(),
            ..properties.clone()
        } == self.properties;
        if !is_silent || report.event.is_some() {
            self.take_turn(now)?;
        }
        self.values = values;
        self.counters = counters;
        if let Some(settable) = &report.settable {
            self.settable = settable.iter().cloned().collect();
        }
        self.properties = properties;
        Ok(&self.properties)
    }

    /// Counts something that controllers are told. Errors: a sentence; it is too much.
    fn take_turn(&mut self, now: Time) -> Result<(), String> {
        let until = self.told_until.max(now);
        if until.since(now) > Time::SEC - CHANGE_NS {
            return Err(format!(
                "more than {CHANGES_PER_SECOND} changes and events in a second"
            ));
        }
        self.told_until = Time(until.0 + CHANGE_NS);
        Ok(())
    }

    /// What the port says to controllers.
    pub(super) fn properties(&self) -> &PortProperties {
        &self.properties
    }

    /// Returns true if the driver says that it is an optical port, or how that is.
    pub(super) fn is_optical(&self) -> bool {
        self.properties.optical.is_some() || self.properties.optical_stats.is_some()
    }

    /// What the driver says of it as an optical port.
    pub(super) fn optical(&self, port: PortNo) -> PortOptical {
        PortOptical {
            port,
            features: self.properties.optical.unwrap_or_default(),
            stats: self.properties.optical_stats.unwrap_or_default(),
        }
    }

    /// Checks what a controller wants to set. Errors: NO_DRIVER, NOT_SETTABLE.
    pub(super) fn check_set(&self, values: &Values) -> Result<(), ErrorCode> {
        if self.connection.is_none() {
            return Err(NO_DRIVER);
        }
        let is_settable = |(name, value): (&Name, &Value)| {
            let like = self.values.get(name).is_none_or(|old| old.is_like(value));
            like && self.settable.contains(name)
        };
        values
            .iter()
            .all(is_settable)
            .then_some(())
            .ok_or(NOT_SETTABLE)
    }

    /// Remembers what a controller has set, if there is room.
    pub(super) fn want(&mut self, values: &Values) {
        for (name, value) in values.iter() {
            // Its driver may have had other names before.
            let _ = self.wanted.set(name.clone(), Some(value.clone()));
        }
    }

    /// Checks how a controller wants to configure an optical port. Errors: PORT_MOD_FAILED with
    /// BAD_CONFIG.
    pub(super) fn check_optical(&self, change: &OpticalPortMod) -> Result<(), ErrorCode> {
        let error = PortModFailed::BAD_CONFIG;
        let optical = self.properties.optical.ok_or(error)?;
        let configure = change.configure;
        let tunes = OpticalPortFeatures::TX_TUNE | OpticalPortFeatures::RX_TUNE;
        let freq = i64::from(change.freq_lmda) + i64::from(change.fl_offset);
        let within = |(least, most): (u32, u32)| (least.into()..=most.into()).contains(&freq);
        let sends = (optical.tx_min_freq_lmda, optical.tx_max_freq_lmda);
        let receives = (optical.rx_min_freq_lmda, optical.rx_max_freq_lmda);
        let power = change.tx_pwr as i32;
        let powers = (optical.tx_pwr_min as i16).into()..=(optical.tx_pwr_max as i16).into();
        let use_freq = OpticalPortFeatures::USE_FREQ;
        let is_tuned = configure.0 & tunes.0 != 0;
        let unit_differs = optical.supported.has(use_freq) != configure.has(use_freq);
        let is_right = optical.supported.has(configure)
            && configure.without(use_freq).0 != 0
            && !(is_tuned && unit_differs)
            && (!configure.has(OpticalPortFeatures::TX_TUNE) || within(sends))
            && (!configure.has(OpticalPortFeatures::RX_TUNE) || within(receives))
            && (!configure.has(OpticalPortFeatures::TX_PWR) || powers.contains(&power));
        is_right.then_some(()).ok_or(error)
    }
}

/// Values after changes. Errors: a sentence; there are too many.
fn changed(values: &Values, changes: &[(Name, Option<Value>)]) -> Result<Values, String> {
    let mut values = values.clone();
    for (name, value) in changes {
        if !values.set(name.clone(), value.clone()) {
            return Err(format!("a port has at most {MAX_VALUES} values"));
        }
    }
    Ok(values)
}

/// A property of ours, if there are values.
fn property(exp_type: u32, values: &Values) -> Vec<ExperimenterProperty> {
    if values.is_empty() {
        return Vec::new();
    }
    vec![ExperimenterProperty {
        experimenter: EXPERIMENTER,
        exp_type,
        data: Bytes(values.to_bytes()),
    }]
}

/// The values of a port-mod's properties; `None` if one of them is not ours, or there is none.
///
/// Errors: BAD_VALUE.
pub(super) fn values_of(list: &[ExperimenterProperty]) -> Result<Option<Values>, ErrorCode> {
    let ours = (EXPERIMENTER, VALUES_PROPERTY);
    let is_ours = |one: &ExperimenterProperty| (one.experimenter, one.exp_type) == ours;
    if list.is_empty() || !list.iter().all(is_ours) {
        return Ok(None);
    }
    let bytes: Vec<u8> = list.iter().flat_map(|one| one.data.0.clone()).collect();
    let values = Values::from_bytes(&bytes)?;
    let is_empty = values.is_empty();
    if is_empty {
        Err(BAD_VALUE)
    } else {
        Ok(Some(values))
    }
}
