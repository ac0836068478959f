//! BUNDLE_CONTROL and BUNDLE_ADD_MESSAGE: changes that are made together. Spec: OpenFlow 1.4.1
//! section 7.3.9.

use alloc::{boxed::Box, vec::Vec};

use super::Message;
use super::property::ExperimenterProperty;
use crate::codec::HEADER_BYTES;
use crate::model::{flags, model, named};

named! {
    /// The step of a bundle that is asked for or confirmed (`OFPBCT_*`).
    pub struct BundleControlType(u16) {
        /// Begin one.
        OPEN_REQUEST = 0 "open_request",
        /// It is begun.
        OPEN_REPLY = 1 "open_reply",
        /// No message is added any more.
        CLOSE_REQUEST = 2 "close_request",
        /// It is closed.
        CLOSE_REPLY = 3 "close_reply",
        /// Carry it out.
        COMMIT_REQUEST = 4 "commit_request",
        /// It is carried out.
        COMMIT_REPLY = 5 "commit_reply",
        /// Forget it.
        DISCARD_REQUEST = 6 "discard_request",
        /// It is forgotten.
        DISCARD_REPLY = 7 "discard_reply",
    }
}

flags! {
    /// The way in which a bundle is carried out (`OFPBF_*`).
    pub struct BundleFlags(u16) {
        /// No packet meets a part of its changes.
        ATOMIC = 0x1 "atomic",
        /// In the order in which its messages were added.
        ORDERED = 0x2 "ordered",
        /// At a time that its commit names.
        TIME = 0x4 "time",
    }
}

model! {
    /// A time: since 1970, or a span.
    #[derive(Copy, PartialOrd, Ord)]
    pub struct Timestamp text write_timestamp {
        /// Seconds.
        pub seconds: u64,
        /// Nanoseconds of a second.
        pub nanoseconds: u32,
    }
}

impl Timestamp {
    /// Nanoseconds of a second.
    const SECOND: u64 = 1_000_000_000;

    /// The time of so many nanoseconds.
    pub fn of_nanos(nanos: u64) -> Self {
        Self {
            seconds: nanos / Self::SECOND,
            nanoseconds: (nanos % Self::SECOND) as u32,
        }
    }

    /// The same in nanoseconds; the greatest number if there are more.
    pub fn nanos(self) -> u64 {
        let seconds = self.seconds.saturating_mul(Self::SECOND);
        seconds.saturating_add(self.nanoseconds.into())
    }
}

model! {
    /// Begins, ends or carries out a bundle, or says that this is done.
    pub struct BundleControl {
        /// The bundle, one of its connection.
        pub bundle_id: u32,
        /// The step.
        pub ty: BundleControlType,
        /// The way in which it is carried out.
        pub flags: BundleFlags,
    } in_some_versions {
        /// The time at which it is carried out, if a time is named.
        pub scheduled: Option<Timestamp>,
        /// Properties of experimenters.
        pub experimenters: Vec<ExperimenterProperty>,
    }
}

impl BundleControl {
    /// The reply to this, of type `ty`.
    pub fn reply(&self, ty: BundleControlType) -> Self {
        Self {
            ty,
            scheduled: None,
            experimenters: Vec::new(),
            ..*self
        }
    }
}

/// Adds a message to a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleAdd {
    /// The bundle.
    pub bundle_id: u32,
    /// The way in which it is carried out.
    pub flags: BundleFlags,
    /// The transaction id of the message in it.
    pub xid: u32,
    /// The message.
    pub message: Box<Message>,
    /// Properties of experimenters.
    pub experimenters: Vec<ExperimenterProperty>,
}

impl BundleAdd {
    /// Bytes of BUNDLE_ADD_MESSAGE in front of the message in it, header included.
    pub const HEAD_BYTES: usize = HEADER_BYTES + 8;
}
