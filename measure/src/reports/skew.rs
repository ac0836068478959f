//! Says so where a few late frames raise a mean far above its median.

use crate::runs::results::{DELAY, ResultRecord};
use crate::runs::signed::NumberSign;
use crate::statistics::numbers::number;

/// A mean differs much from its median if it is more than this many times it.
const MUCH: f64 = 1.5;

/// Says how means differ from medians among some results, those with a sign left out; none if they
/// nowhere differ much.
pub fn sentence<'a>(
    of: &str,
    records: impl IntoIterator<Item = &'a ResultRecord>,
) -> Option<String> {
    let mut all = 0;
    let mut skewed = 0;
    let mut greatest_ratio = 0.0;
    let mut latest_ns = 0.0;
    for record in records {
        let Some(delay) = &record.delay else {
            continue;
        };
        if record.sign(DELAY) != NumberSign::Plain {
            continue;
        }
        all += 1;
        let ratio = delay.mean / delay.p50;
        if ratio > MUCH {
            skewed += 1;
            greatest_ratio = f64::max(greatest_ratio, ratio);
            latest_ns = f64::max(latest_ns, delay.max);
        }
    }
    if skewed == 0 {
        return None;
    }
    Some(format!(
        "{of}: in {skewed} of {all} series the mean is more than {MUCH} times the median, at most \
         {} times. Single delays of up to {} us raise it; the median says what most frames took.",
        number(greatest_ratio),
        number(latest_ns / 1e3)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Summary;

    fn record(delays_ns: &[u64]) -> ResultRecord {
        ResultRecord {
            delay: Summary::of(delays_ns),
            ..ResultRecord::default()
        }
    }

    #[test]
    fn a_mean_that_one_late_frame_raises_is_said_with_its_size() {
        let mut late = vec![40_000; 99];
        late.push(4_040_000);
        let records = [record(&[40_000; 100]), record(&late)];
        let said = sentence("bofuss", &records).unwrap();
        assert!(
            said.contains("1 of 2 series") && said.contains("at most 2 times"),
            "{said}"
        );
        assert!(said.contains("4,040 us"), "{said}");
    }

    #[test]
    fn nothing_is_said_where_means_are_near_medians_or_nothing_was_delayed() {
        assert_eq!(
            sentence("bofuss", &[record(&[10, 11, 12]), record(&[])]),
            None
        );
    }
}
