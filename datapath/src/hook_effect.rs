//! What a hook does to packets: its effect in a table, and its verdict on one packet.

/// The effect of a hook on packets in a table, which decides what the flow cache may remember. In
/// the order of cost, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookEffect {
    /// Nothing; it is not called.
    None,
    /// It sets fields whose values depend only on fields that it reads with
    /// [`crate::HookContext::get`]. The values are cached, and it is not called again for packets
    /// with the same fields.
    Pure,
    /// It operates on state of its own, and usually the path continues unchanged or ends. It is
    /// called for each packet.
    Live,
    /// Before the lookup, it sets fields that depend on state of its own. It is called for each
    /// packet, and the path from there is cached under the fields as they are then.
    Branch,
    /// Unknown: paths are never cached across this table.
    Unknown,
}

/// The decision of a hook on whether a packet continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It continues.
    Continue,
    /// It is dropped here.
    Drop,
}
