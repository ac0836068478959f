//! The versions that are spoken, and what differs between them beyond wire forms.

#[cfg(feature = "names")]
mod name;
#[cfg(feature = "connections")]
mod peer;

#[cfg(feature = "names")]
pub use name::Name;

/// An OpenFlow version that this library speaks; its number is the one on the wire. Each but 1.3 is
/// a feature: without it, the version is not in [`Version::ALL`] and has no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// OpenFlow 1.0.
    V1_0 = 1,
    /// OpenFlow 1.1.
    V1_1 = 2,
    /// OpenFlow 1.2.
    V1_2 = 3,
    /// OpenFlow 1.3.
    V1_3 = 4,
    /// OpenFlow 1.4.
    V1_4 = 5,
    /// OpenFlow 1.5.
    V1_5 = 6,
}

impl Version {
    /// Every version that messages are read and written in, the lowest first.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "v1_0")]
        Self::V1_0,
        #[cfg(feature = "v1_1")]
        Self::V1_1,
        #[cfg(feature = "v1_2")]
        Self::V1_2,
        Self::V1_3,
        #[cfg(feature = "v1_4")]
        Self::V1_4,
        #[cfg(feature = "v1_5")]
        Self::V1_5,
    ];
    /// The versions of which the switch does all that they ask, the lowest first: what it offers.
    pub const SPOKEN: &'static [Self] = Self::ALL;
    /// The highest of those that are offered.
    pub const NEWEST: Self = *Self::SPOKEN.last().expect("some version is offered");
    /// The highest that messages are read and written in.
    pub(crate) const LAST: Self = *Self::ALL.last().expect("there are versions");

    /// The number on the wire.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The version of a number on the wire, if messages of it are read and written.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.iter().find(|one| one.number() == number).copied()
    }

    /// Returns true if the switch holds every packet that no entry matches, also one that the
    /// controller gets whole. Choice: as the switch did that 1.0 came with, on which controllers
    /// rely.
    pub fn holds_every_miss(self) -> bool {
        self == Self::V1_0
    }

    /// Returns true if the entry that matches all packets at priority 0 is the table-miss entry,
    /// and not one like any other.
    pub fn has_table_miss_entries(self) -> bool {
        self >= Self::V1_3
    }

    /// Returns true if table statistics contain the features of tables; later versions have a
    /// message of their own for that.
    pub fn table_stats_have_features(self) -> bool {
        self < Self::V1_3
    }

    /// Returns true if a controller asks for packets with an invalid TTL in the switch
    /// configuration: later it does so with the reasons that it wants.
    pub fn config_asks_for_invalid_ttl(self) -> bool {
        (Self::V1_1..=Self::V1_2).contains(&self)
    }

    /// Returns true if a packet that no entry matches goes to the controller, and is not only
    /// dropped.
    pub fn miss_goes_to_controller(self) -> bool {
        self < Self::V1_3
    }

    /// Returns true if a controller proves by a generation id that its role is the newest.
    pub fn roles_have_generations(self) -> bool {
        self >= Self::V1_2
    }

    /// Returns true if it has what 1.4 brought: properties, bundles, monitors of entries, and the
    /// events with their reasons.
    pub fn has_bundles(self) -> bool {
        self >= Self::V1_4
    }

    /// Returns true if a set-field may have a mask.
    pub fn sets_with_masks(self) -> bool {
        self >= Self::V1_5
    }

    /// Returns true if statistics of entries are lists of fields, and what else 1.5 brought:
    /// entries that say when these are sent, and the status of controllers.
    pub fn has_stat_lists(self) -> bool {
        self >= Self::V1_5
    }

    /// Returns true if the fields that the ONF had added to 1.3 are the specification's.
    pub(crate) fn has_onf_fields(self) -> bool {
        self >= Self::V1_5
    }

    /// Returns true if a meter is an action, and not an instruction.
    #[cfg(feature = "v1_5")]
    pub(crate) fn meters_by_action(self) -> bool {
        self >= Self::V1_5
    }
}

/// The versions that have something: from one on, up to one, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first of the versions that has it.
    pub since: Version,
    /// The last.
    pub until: Version,
}

impl Span {
    /// Returns true if a version has it.
    pub fn has(self, version: Version) -> bool {
        (self.since..=self.until).contains(&version)
    }
}

/// The span of a row: `span!(since V1_2)`, `span!(until V1_2)`; all versions if it says nothing.
macro_rules! span {
    ($(since $since:ident)? $(until $until:ident)?) => {{
        let span = $crate::version::Span {
            since: $crate::version::Version::V1_0,
            until: $crate::version::Version::LAST,
        };
        $(let span = $crate::version::Span {
            since: $crate::version::Version::$since,
            ..span
        };)?
        $(let span = $crate::version::Span {
            until: $crate::version::Version::$until,
            ..span
        };)?
        span
    }};
}
pub(crate) use span;

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::Version;
    use crate::message::ErrorMsg;
    use crate::{Codec, Message};

    #[test]
    fn a_version_is_offered_read_and_written_only_with_its_feature() {
        for (version, is_on) in [
            (Version::V1_0, cfg!(feature = "v1_0")),
            (Version::V1_1, cfg!(feature = "v1_1")),
            (Version::V1_2, cfg!(feature = "v1_2")),
            (Version::V1_3, true),
            (Version::V1_4, cfg!(feature = "v1_4")),
            (Version::V1_5, cfg!(feature = "v1_5")),
        ] {
            assert_eq!(Version::SPOKEN.contains(&version), is_on, "{version:?}");
            let codec = Codec::new(version, Default::default());
            let mut bytes = Vec::new();
            let error = Message::Error(ErrorMsg::default());
            assert_eq!(codec.encode(1, &error, &mut bytes).is_ok(), is_on);
            assert_eq!(Version::of_number(version.number()).is_some(), is_on);
        }
    }
}
