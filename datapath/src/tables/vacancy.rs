//! The vacancy events of a table. Spec: OpenFlow 1.4.1 sections 7.3.4.1 and 7.4.5.

use bofuss_oflib::message::multipart::table_desc::TableStatusReason;
use bofuss_oflib::message::table_mod::Vacancy;

/// The default thresholds, in per cent. Choice: the specification names none; a tenth leaves time
/// to react.
const DEFAULT_DOWN: u8 = 10;
const DEFAULT_UP: u8 = 20;

/// The vacancy events of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VacancyEvents {
    /// VACANCY_DOWN is sent when the vacancy falls below this, in per cent.
    pub(crate) down: u8,
    /// VACANCY_UP is sent when the vacancy rises above this, in per cent.
    pub(crate) up: u8,
    /// The next event, since both alternate; `None` if events are off.
    next: Option<TableStatusReason>,
}

impl Default for VacancyEvents {
    fn default() -> Self {
        Self {
            down: DEFAULT_DOWN,
            up: DEFAULT_UP,
            next: None,
        }
    }
}

impl VacancyEvents {
    pub(crate) fn are_on(&self) -> bool {
        self.next.is_some()
    }

    /// Turns events on or off. When they are turned on, the current vacancy decides which one is
    /// next.
    ///
    /// Below the threshold of VACANCY_UP, that event is the next one: a table that is nearly full
    /// reports first that it has room again.
    pub(crate) fn turn(&mut self, on: bool, vacancy: u8) {
        let next = if vacancy < self.up {
            TableStatusReason::VACANCY_UP
        } else {
            TableStatusReason::VACANCY_DOWN
        };
        self.next = on.then_some(next);
    }

    /// The event that a vacancy causes, if any; each is returned once.
    ///
    /// Events alternate, so a vacancy that swings around one threshold causes a single event: the
    /// two thresholds are a hysteresis.
    pub(crate) fn cross(&mut self, vacancy: u8) -> Option<TableStatusReason> {
        let next = self.next?;
        if next == TableStatusReason::VACANCY_DOWN && vacancy < self.down {
            self.next = Some(TableStatusReason::VACANCY_UP);
        } else if next == TableStatusReason::VACANCY_UP && vacancy > self.up {
            self.next = Some(TableStatusReason::VACANCY_DOWN);
        } else {
            return None;
        }
        Some(next)
    }

    /// The thresholds, and the vacancy now.
    pub(crate) fn with(&self, vacancy: u8) -> Vacancy {
        Vacancy {
            vacancy_down: self.down,
            vacancy_up: self.up,
            vacancy,
        }
    }
}

/// The share of `max` places that `used` entries leave free, in whole per cent.
///
/// Rounded down, so 0 may mean that a few places of a large table are free.
pub(crate) fn vacancy(used: usize, max: usize) -> u8 {
    let free = max.saturating_sub(used) as u64;
    (free * 100 / (max as u64).max(1)) as u8
}
