//! Which of the schemes of OpenQFlow it is: BETA, CETA, or CETA mended.

/// What a scheme does.
pub(crate) trait Scheme: core::fmt::Debug {
    /// Aggregates share the port, and microflows their aggregate; else microflows the port.
    const HAS_AGGREGATES: bool;
    /// The paper's algorithm is mended: an aggregate's microflows share what it has as aggregates
    /// do the port, those that send nothing do not count, shares grow by what those are short of
    /// that lose frames, an aggregate's new microflows are not free, a share that was small for a
    /// moment does no harm later, what waits is drained, and no frame waits while the port is idle.
    const IS_MENDED: bool;
}

/// One tier: each microflow has the same.
#[derive(Debug)]
pub(crate) struct OneTier;

impl Scheme for OneTier {
    const HAS_AGGREGATES: bool = false;
    const IS_MENDED: bool = false;
}

/// Two tiers, to the letter of the paper but for microflows that are forgotten when idle.
#[derive(Debug)]
pub(crate) struct TwoTiers;

impl Scheme for TwoTiers {
    const HAS_AGGREGATES: bool = true;
    const IS_MENDED: bool = false;
}

/// Two tiers, mended.
#[derive(Debug)]
pub(crate) struct TwoTiersMended;

impl Scheme for TwoTiersMended {
    const HAS_AGGREGATES: bool = true;
    const IS_MENDED: bool = true;
}

