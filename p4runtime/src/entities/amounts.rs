//! Counters and meters: from their messages to the switch and back.

use bofuss_p4::{Count, MeterConfig};

use crate::error::{Refusal, Result};
use crate::wire::entities::{CounterData, MeterConfig as Rates};

/// Errors: a request has counters of the colours of a meter.
pub fn no_colors(has_colors: bool) -> Result<()> {
    if has_colors {
        return Err(Refusal::missing("the colours of a meter are not counted"));
    }
    Ok(())
}

/// The rates of a meter. Errors: one is below 0, or of a kind that v1model has not.
pub fn rates(config: &Rates) -> Result<MeterConfig> {
    if config.eburst != 0 {
        let what = "a meter of two rates has no eburst";
        return Err(Refusal::invalid(what));
    }
    let amount = |value: i64| {
        let wrong = |_| Refusal::invalid("a rate or burst is below 0");
        u64::try_from(value).map_err(wrong)
    };
    Ok(MeterConfig {
        committed_rate: amount(config.cir)?,
        committed_burst: amount(config.cburst)?,
        peak_rate: amount(config.pir)?,
        peak_burst: amount(config.pburst)?,
    })
}

/// The rates of a meter as controllers see them.
pub fn shown_rates(config: MeterConfig) -> Rates {
    let amount = |value| i64::try_from(value).unwrap_or(i64::MAX);
    Rates {
        cir: amount(config.committed_rate),
        cburst: amount(config.committed_burst),
        pir: amount(config.peak_rate),
        pburst: amount(config.peak_burst),
        eburst: 0,
    }
}

/// The value of a counter. Errors: it is below 0.
pub fn count(data: &CounterData) -> Result<Count> {
    let wrong = |_| Refusal::invalid("a counter is below 0");
    Ok(Count {
        packets: u64::try_from(data.packet_count).map_err(wrong)?,
        bytes: u64::try_from(data.byte_count).map_err(wrong)?,
    })
}

/// The value of a counter as controllers see it.
pub fn shown_count(count: Count) -> CounterData {
    let amount = |value| i64::try_from(value).unwrap_or(i64::MAX);
    CounterData {
        byte_count: amount(count.bytes),
        packet_count: amount(count.packets),
    }
}
