//! The plots of a case in a report: what varies, and the distributions.

use crate::cases::MeterCase;
use crate::cases::point::Point;
use crate::data_centre::fct;
use crate::data_centre::live_fct;
use crate::reports::plot::{Axes, Bar, Line, bars, distributions, signed_lines};
use crate::runs::results::{DELAY, ResultRecord, Results};
use crate::runs::signed::NumberSign;
use crate::statistics::{greatest, least, median};

/// The most lines of a plot of distributions; the first point of each variant comes first.
const MAX_LINES: usize = 8;

/// A parameter of points: its unit and its value.
type Parameter = (&'static str, fn(&Point) -> f64);

/// The parameter that varies among points of a variant: its name and its value.
fn parameters(points: &[&Point]) -> Vec<Parameter> {
    let all: [Parameter; 3] = [
        ("bytes", |point| point.bytes as f64),
        ("Mb/s", |point| point.mbps),
        ("rules", |point| f64::from(point.rules)),
    ];
    all.into_iter()
        .filter(|(_, value)| varies(points, *value))
        .collect()
}

/// Returns true if a parameter has several values among the points of a variant.
fn varies(points: &[&Point], value: fn(&Point) -> f64) -> bool {
    points.iter().any(|one| {
        let mut others = points.iter().filter(|other| other.kind == one.kind);
        others.any(|other| value(other) != value(one))
    })
}

/// The plots of a case: delay or main metric over what varies, and the distributions.
pub fn plots(results: &Results, case: &MeterCase, points: &[&Point]) -> String {
    let metric = case.main.unwrap_or(DELAY);
    let unit = &axis_title(results, case);
    let mut text = String::new();
    let varying = parameters(points);
    for (name, value) in &varying {
        let (plain, forced) = swept(results, case, points, metric, *value, &varying);
        if !plain.is_empty() {
            let axes = Axes {
                title: case.title,
                x: name,
                y: unit,
                log_x: *name != "bytes",
            };
            text += &signed_lines(axes, &plain, &forced);
        }
    }
    if varying.is_empty() {
        text += &compared(results, case, points, metric, unit);
    }
    // The delays of a data centre's flows are those of whole flows, which come in no order.
    let of_flows = [fct::NAME, live_fct::NAME].contains(&case.name);
    let title = if of_flows {
        "distribution of completion times"
    } else {
        "distribution of delays"
    };
    text += &curves(results, case, points, title, |record| {
        record.delay.as_ref().map(|delay| &delay.distribution)
    });
    if !of_flows {
        text += &curves(results, case, points, "distribution of jitter", |record| {
            record
                .delay
                .as_ref()
                .map(|delay| &delay.jitter_distribution)
        });
    }
    text + &curves(
        results,
        case,
        points,
        "distribution of the errors of departures",
        |record| Some(&record.departures),
    )
}

/// Returns what the vertical axis of a case shows, with its unit.
fn axis_title(results: &Results, case: &MeterCase) -> String {
    let Some(name) = case.main else {
        return "median delay, us".into();
    };
    let of_case = results.records.iter().filter(|one| one.case == case.name);
    let mut metrics = of_case.flat_map(|record| &record.metrics);
    match metrics.find(|metric| metric.name == name) {
        Some(metric) if !metric.unit.is_empty() => format!("{name}, {}", metric.unit),
        _ => name.into(),
    }
}

/// A line for each variant over one parameter, and its points with a sign. Other parameters that
/// vary have their most common value.
fn swept(
    results: &Results,
    case: &MeterCase,
    points: &[&Point],
    metric: &str,
    value: fn(&Point) -> f64,
    varying: &[Parameter],
) -> (Vec<Line>, Vec<Vec<(f64, f64)>>) {
    let mut found: Vec<Line> = Vec::new();
    let mut crosses: Vec<Vec<(f64, f64)>> = Vec::new();
    for point in points {
        let others = varying
            .iter()
            .filter(|(_, other)| !std::ptr::fn_addr_eq(*other, value));
        let usual = others.into_iter().all(|(_, other)| {
            other(point) == most_common(points.iter().filter(|p| p.kind == point.kind), *other)
        });
        let (values, sign) = results.values(case.name, &point.name, metric).with_sign();
        if !usual || values.is_empty() {
            continue;
        }
        let at = (value(point), median(&values));
        let seen = found.iter().position(|line| line.name == point.kind);
        let line = seen.unwrap_or(found.len());
        if seen.is_none() {
            found.push(Line {
                name: point.kind.clone(),
                points: Vec::new(),
                is_reference: false,
            });
            crosses.push(Vec::new());
        }
        if sign == NumberSign::Plain {
            found[line].points.push(at);
        } else {
            crosses[line].push(at);
        }
    }
    let mut lines = Vec::new();
    let mut crosses_of_lines = Vec::new();
    for (mut line, forced) in found.into_iter().zip(crosses) {
        // One point alone is no line.
        if line.points.len() + forced.len() > 1 {
            line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            lines.push(line);
            crosses_of_lines.push(forced);
        }
    }
    (lines, crosses_of_lines)
}

fn most_common<'a>(points: impl Iterator<Item = &'a &'a Point>, value: fn(&Point) -> f64) -> f64 {
    let values: Vec<f64> = points.map(|point| value(point)).collect();
    let mut best = (0, 0.0);
    for value in &values {
        let count = values.iter().filter(|other| *other == value).count();
        if count > best.0 {
            best = (count, *value);
        }
    }
    best.1
}

/// A bar for each point, from the least to the most of its repeats.
fn compared(
    results: &Results,
    case: &MeterCase,
    points: &[&Point],
    metric: &str,
    unit: &str,
) -> String {
    let mut all = Vec::new();
    for point in points {
        let (values, sign) = results.values(case.name, &point.name, metric).with_sign();
        if values.is_empty() {
            continue;
        }
        all.push(Bar {
            group: String::new(),
            series: all.len(),
            name: format!("{}{}", point.name, sign.ending()),
            value: median(&values),
            range: (least(&values), greatest(&values)),
        });
    }
    if all.is_empty() {
        return String::new();
    }
    bars(case.title, unit, &all)
}

/// Distributions of the first repeat that counts, of one point of each variant.
fn curves(
    results: &Results,
    case: &MeterCase,
    points: &[&Point],
    title: &str,
    of: impl Fn(&ResultRecord) -> Option<&Vec<(u64, f64)>>,
) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    let mut drawn: Vec<Line> = Vec::new();
    for point in points {
        if drawn.len() >= MAX_LINES || kinds.contains(&&point.kind[..]) {
            continue;
        }
        let mut counting = results.of(case.name, &point.name).filter(|r| r.counts());
        let found = counting.find_map(|record| {
            let shares = of(record).filter(|shares| !shares.is_empty())?;
            Some((shares, record.sign(DELAY)))
        });
        let Some((shares, sign)) = found else {
            continue;
        };
        kinds.push(&point.kind);
        let in_percent = shares.iter();
        drawn.push(Line {
            name: format!("{}{}", point.name, sign.ending()),
            points: in_percent
                .map(|(ns, share)| (*ns as f64 / 1e3, share * 100.0))
                .collect(),
            is_reference: false,
        });
    }
    if drawn.is_empty() {
        return String::new();
    }
    distributions(title, &drawn)
}
