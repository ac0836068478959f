//! Named numbers and sets of flags: in Python they are integers, and their names are accepted.

use bofuss_oflib::PortNo;
use bofuss_oflib::message::async_config::AsyncMasks;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::controller_status::{ChannelStatus, ControllerStatusReason};
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::flow_mod::{FlowModCommand, FlowModFlags};
use bofuss_oflib::message::flow_removed::FlowRemovedReason;
use bofuss_oflib::message::group_mod::{GroupModCommand, GroupType};
use bofuss_oflib::message::meter_mod::{MeterFlags, MeterModCommand};
use bofuss_oflib::message::multipart::bundle_features::BundleFeatureFlags;
use bofuss_oflib::message::multipart::flow::FlowStatsReason;
use bofuss_oflib::message::multipart::flow_monitor::{
    FlowMonitorCommand, FlowMonitorFlags, FlowUpdateEvent,
};
use bofuss_oflib::message::multipart::group::GroupCapabilities;
use bofuss_oflib::message::multipart::meter::MeterFeatureFlags;
use bofuss_oflib::message::multipart::port::OpticalStatsFlags;
use bofuss_oflib::message::multipart::table_desc::TableStatusReason;
use bofuss_oflib::message::multipart::table_features::{TableFeatureFlags, TableFeaturesCommand};
use bofuss_oflib::message::packet_in::PacketInReason;
use bofuss_oflib::message::port::{
    OpticalPortFeatures, PortConfig, PortFeatures, PortState, PortStatusReason,
};
use bofuss_oflib::message::role::{ControllerRole, RoleStatusReason};
use bofuss_oflib::message::table_mod::{EvictionFlags, TableConfig, TableMiss};
use bofuss_oflib::stat_trigger::StatTriggerFlags;
use bofuss_oflib::types::{BucketId, BufferId, GroupId, MaxLen, MeterId, QueueId, TableId};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

use crate::form::{Fault, PyForm, To};

/// The names of a type's values, for its enumeration in Python.
pub(crate) struct Enumeration {
    /// The name of the enumeration.
    pub(crate) name: &'static str,
    /// True if a value is a set of flags.
    pub(crate) are_flags: bool,
    /// Each name with its value.
    pub(crate) values: fn() -> Vec<(&'static str, u64)>,
}

macro_rules! numbers {
    ($are_flags:literal $of_text:ident $ALL:ident: $($T:ident)*) => {
        /// The enumeration of each type.
        pub(crate) const $ALL: &[Enumeration] = &[$(Enumeration {
            name: stringify!($T),
            are_flags: $are_flags,
            values: || {
                let mut values = Vec::new();
                for (name, value) in $T::CONSTANTS {
                    values.push((*name, value.0.into()));
                }
                values
            },
        }),*];
        $(impl PyForm for $T {
            fn annotation() -> String {
                "int".into()
            }
            fn accepted() -> String {
                "int | str".into()
            }
            fn to_python<'py>(&self, to: To<'py>) -> PyResult<Bound<'py, PyAny>> {
                self.0.to_python(to)
            }
            fn from_python(value: &Bound<'_, PyAny>) -> Result<Self, Fault> {
                if value.is_instance_of::<PyInt>() {
                    return PyForm::from_python(value).map(Self);
                }
                let text = value.cast::<PyString>().ok().map(|text| text.to_string());
                let found = text.and_then(|text| $of_text!($T, &text));
                let wanted = concat!(stringify!($T), "'s number or name");
                found.ok_or_else(|| Fault::other(value, wanted))
            }
        })*
    };
}

/// The value with this name in the specification, in upper or lower case.
fn of_constant<T: Copy>(text: &str, constants: &[(&str, T)]) -> Option<T> {
    let mut constants = constants.iter();
    let found = constants.find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, value)| *value)
}

/// Reads one name, or a number.
macro_rules! one {
    ($T:ident, $text:expr) => {
        of_constant($text, $T::CONSTANTS).or_else(|| $text.parse().ok())
    };
}

/// Reads the names of flags with `|` between them.
macro_rules! several {
    ($T:ident, $text:expr) => {{
        let mut words = $text.split('|');
        words.try_fold($T::default(), |all, word| {
            let one = of_constant(word, $T::CONSTANTS).or_else(|| $T::named(word));
            Some(all | one?)
        })
    }};
}

numbers! { false one NAMED:
    PortNo TableId GroupId BucketId MeterId QueueId BufferId MaxLen
    FlowModCommand FlowRemovedReason GroupModCommand GroupType MeterModCommand
    PacketInReason PortStatusReason ControllerRole TableMiss RoleStatusReason TableStatusReason
    BundleControlType FlowMonitorCommand FlowUpdateEvent FlowStatsReason ControllerStatusReason
    ChannelStatus TableFeaturesCommand
}

numbers! { true several FLAGS:
    FlowModFlags Capabilities PortConfig PortState PortFeatures ConfigFlags GroupCapabilities
    MeterFlags AsyncMasks BundleFlags TableConfig EvictionFlags OpticalPortFeatures
    OpticalStatsFlags FlowMonitorFlags BundleFeatureFlags MeterFeatureFlags TableFeatureFlags
    StatTriggerFlags
}
