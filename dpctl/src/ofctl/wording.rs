//! The wording of ovs-ofctl's output depends on two things: the OpenFlow version, and the names of
//! ports.

use bofuss_oflib::Version;

pub(crate) use bofuss_ext::trace::PortNames;

/// For ports by number.
static NO_NAMES: PortNames = PortNames::NONE;

/// The version whose wording is used, and the names of ports.
#[derive(Clone, Copy)]
pub(crate) struct Wording<'a> {
    /// OpenFlow's version.
    pub(crate) version: Version,
    /// The names of ports.
    pub(crate) ports: &'a PortNames,
}

impl Wording<'_> {
    /// The wording of a version, with ports by number.
    pub(crate) fn with_numbers(version: Version) -> Self {
        Self {
            version,
            ports: &NO_NAMES,
        }
    }
}
