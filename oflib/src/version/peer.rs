//! What the ends of a connection, controllers and tools ask of a version, and a switch does not.

use super::Version;
use crate::message::{FROM_SWITCH, MESSAGES};

impl Version {
    /// The version that is used where none is named; most controllers and tools speak it.
    pub const USUAL: Self = Self::V1_3;

    /// The bit of this version in a hello's bitmap.
    pub const fn bit(self) -> u32 {
        1 << self.number()
    }

    /// The types of multipart messages, which come in parts: request and reply.
    pub const fn multipart_types(self) -> [u8; 2] {
        if matches!(self, Self::V1_0) {
            [16, 17]
        } else {
            [18, 19]
        }
    }

    /// The name of a message of this type since 1.3, without `OFPT_`.
    pub fn message_name(self, ty: u8) -> Option<&'static str> {
        let ty = self.model_type(ty)?;
        let row = MESSAGES.iter().find(|row| row.0 == ty);
        row.map(|row| row.1)
    }

    /// Returns true if only switches send messages of this type: replies and asynchronous messages.
    pub fn is_from_switch(self, ty: u8) -> bool {
        self.model_type(ty)
            .is_some_and(|ty| FROM_SWITCH.contains(&ty))
    }

    /// The type since 1.3 of what has this type in this version.
    fn model_type(self, ty: u8) -> Option<u8> {
        #[cfg(feature = "v1_0")]
        if self == Self::V1_0 {
            return crate::v1_0::model_type(ty);
        }
        Some(ty)
    }

    /// Returns true if the statistics of ports, queues and groups say for how long these exist.
    pub fn has_durations(self) -> bool {
        self >= Self::V1_3
    }

    /// Returns true if one flow-mod deletes from all tables: 1.0 knows no tables, 1.1 no number for
    /// all of them.
    pub fn deletes_from_all_tables(self) -> bool {
        self != Self::V1_1
    }

    /// Returns true if a controller may have auxiliary connections.
    pub fn has_auxiliary_connections(self) -> bool {
        self >= Self::V1_3
    }
}
