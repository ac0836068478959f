//! The schemes of OpenQFlow: BETA, CETA, and CETA2, which repairs CETA.

/// The properties of a scheme.
pub(crate) trait Scheme: core::fmt::Debug {
    /// If true, aggregates share the port, and microflows their aggregate; otherwise microflows
    /// share the port.
    const HAS_AGGREGATES: bool;
    /// If true, the paper's algorithm is repaired: an aggregate's microflows share its rate as
    /// aggregates share the port; idle members do not count; shares grow by what members lack that
    /// lose frames; new microflows count against their aggregate; a share that was small for a
    /// moment has no later effect; waiting frames are drained; and no frame waits while the port is
    /// idle.
    const IS_MENDED: bool;
}

/// BETA: one tier, in which each microflow has the same share.
#[derive(Debug)]
pub(crate) struct OneTier;

impl Scheme for OneTier {
    const HAS_AGGREGATES: bool = false;
    const IS_MENDED: bool = false;
}

/// CETA: two tiers, exactly as in the paper, except that idle microflows are forgotten.
#[derive(Debug)]
pub(crate) struct TwoTiers;

impl Scheme for TwoTiers {
    const HAS_AGGREGATES: bool = true;
    const IS_MENDED: bool = false;
}

/// CETA2: two tiers, repaired.
#[derive(Debug)]
pub(crate) struct TwoTiersMended;

impl Scheme for TwoTiersMended {
    const HAS_AGGREGATES: bool = true;
    const IS_MENDED: bool = true;
}
