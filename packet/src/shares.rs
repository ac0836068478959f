//! Shares of a limited resource by port, so that a flood on one port leaves room for the others.

use alloc::collections::BTreeMap;

use bofuss_oflib::PortNo;

/// The use of a limited resource, in all and by each port.
///
/// Rule: a port may use at most as much as remains free, as in Choudhury and Hahne, "Dynamic queue
/// length thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2),
/// 1998. One port alone can use half, and each further one half of what the others leave. What
/// controllers use counts as that of the port CONTROLLER, which may use all that is free.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    used: usize,
    /// By port; none uses 0.
    ports: BTreeMap<PortNo, usize>,
}

impl Shares {
    /// Returns the amount in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Returns the amount that a port uses.
    pub fn of(&self, port: PortNo) -> usize {
        self.ports.get(&port).copied().unwrap_or(0)
    }

    /// Returns true if a port may use `amount` more of a resource with this limit.
    pub fn allow(&self, limit: usize, port: PortNo, amount: usize) -> bool {
        let own = self.of(port) + amount;
        may_use(limit, self.used + amount, port, own)
    }

    /// Counts what a port begins to use.
    pub fn take(&mut self, port: PortNo, amount: usize) {
        self.used += amount;
        *self.ports.entry(port).or_default() += amount;
    }

    /// Counts what a port no longer uses, which it [took](Self::take) before.
    pub fn give_back(&mut self, port: PortNo, amount: usize) {
        self.used -= amount;
        if let Some(own) = self.ports.get_mut(&port) {
            *own -= amount;
            if *own == 0 {
                self.ports.remove(&port);
            }
        }
    }
}

/// Returns true if a port may use `own` of a resource with this limit, if all together then use
/// `used`.
pub fn may_use(limit: usize, used: usize, port: PortNo, own: usize) -> bool {
    let free = limit.checked_sub(used);
    free.is_some_and(|free| own <= free || port == PortNo::CONTROLLER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has a port take one after another until it may not. Returns how many it took.
    fn fill(shares: &mut Shares, port: u32) -> usize {
        let before = shares.of(PortNo(port));
        while shares.allow(1000, PortNo(port), 1) {
            shares.take(PortNo(port), 1);
        }
        shares.of(PortNo(port)) - before
    }

    #[test]
    fn a_port_may_use_as_much_as_remains_free() {
        let mut shares = Shares::default();
        assert_eq!(
            [1, 2, 3].map(|port| fill(&mut shares, port)),
            [500, 250, 125]
        );
        assert_eq!(shares.used(), 875);
        // Of what one gives back, each may have a part.
        shares.give_back(PortNo(1), 300);
        assert_eq!([1, 2, 3].map(|port| fill(&mut shares, port)), [112, 31, 78]);
        assert_eq!(fill(&mut shares, PortNo::CONTROLLER.0), 204);
        assert_eq!(shares.used(), 1000);
        let ports = [1, 2, 3, PortNo::CONTROLLER.0].map(PortNo);
        assert!(!ports.iter().any(|port| shares.allow(1000, *port, 1)));
        ports
            .iter()
            .for_each(|port| shares.give_back(*port, shares.of(*port)));
        assert_eq!((shares.used(), shares.ports.len()), (0, 0));
    }

    #[test]
    fn more_than_the_limit_is_never_allowed() {
        let mut shares = Shares::default();
        for port in [PortNo(1), PortNo::CONTROLLER] {
            assert!(!shares.allow(9, port, 10));
        }
        assert!(shares.allow(9, PortNo(1), 4) && !shares.allow(9, PortNo(1), 5));
        shares.take(PortNo::CONTROLLER, 9);
        assert!(!shares.allow(9, PortNo(1), 1));
    }
}
